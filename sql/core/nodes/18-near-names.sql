-- Near names
--
-- A name that is new and resembles an existing one may be a slip. It is stored all the same, because only its writer
-- knows, and the answer of the save lists the names that it resembles (near_names); nothing is joined unasked.
--
-- Names are compared by their trigrams (01-words), and by whether one letter was slipped or two were swapped, which
-- changes most trigrams of a short name. Candidates are few and found by the index node_key_unique: of each
-- label and place, the names that begin with the same character and are next to the new one in the order of names.
-- A slip in the first character is not found.
--
-- Locks: none; the caller holds the scope lock of the new node.


create or replace function pgmem.one_slip(p_a text, p_b text) returns boolean
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_least integer := least(length(p_a), length(p_b));
  v_first integer := 0;
  v_last  integer := 0;
  v_a     text;
  v_b     text;
begin
  if v_least < 5 or abs(length(p_a) - length(p_b)) > 1 then
    return false;
  end if;
  while v_first < v_least and substr(p_a, v_first + 1, 1) = substr(p_b, v_first + 1, 1) loop
    v_first := v_first + 1;
  end loop;
  while v_last < v_least - v_first
      and substr(p_a, length(p_a) - v_last, 1) = substr(p_b, length(p_b) - v_last, 1) loop
    v_last := v_last + 1;
  end loop;
  v_a := substr(p_a, v_first + 1, length(p_a) - v_first - v_last);
  v_b := substr(p_b, v_first + 1, length(p_b) - v_first - v_last);
  -- Another number is another thing.
  return v_a || v_b !~ '\d' and (greatest(length(v_a), length(v_b)) <= 1 or length(v_a) = 2 and v_a = reverse(v_b));
end;
$$;
comment on function pgmem.one_slip is
  'Whether two names of five letters or more differ in one letter, or in two neighbours that are swapped.';


-- In plpgsql, which keeps the plan: to make it takes longer than all else. Reads node itself, by the caller's tenants.
-- There are hundreds of scopes and a dozen places, whose seeds are dear.
create or replace function pgmem.near_names(p_node pgmem.node, p_caller pgmem.caller) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
begin
  return (
  with place as materialized (
    select p.tenant, pgmem.seeded_key(p.seed, l.name) as scope_key
    from (select distinct t.tenant, pgmem.place_seed(s.secret, t.tenant, v.place) as seed
          from pgmem.store_secret s cross join unnest(p_caller.tenants) as t(tenant)
          cross join (values (p_node.place), (p_node.project_seq::text), ('global'), (null)) as v(place)
          where s.one) p
    join pgmem.label l on l.key_field is not null
      and case when pgmem.is_memory(p_node.label) then pgmem.is_memory(l.name) else l.name = p_node.label end
  ), own(trigrams) as materialized (
    select pgmem.name_trigrams(p_node.key)
  ), found as (
    select n.id, n.label, n.key, n.source, n.trust_level, greatest(pgmem.jaccard(own.trigrams, pgmem.name_trigrams(n.key)),
             case when pgmem.one_slip(pgmem.folded(n.key), pgmem.folded(p_node.key)) then pgmem.setting_float('near_name') end) as score
    from own cross join place
    cross join lateral (
      (select n.seq, n.id, n.label, n.key, n.status, n.source, n.trust_level from pgmem.node n
       where n.scope_key = place.scope_key and n.tenant || '' = place.tenant and n.key is not null
         and pgmem.folded(n.key) ~>=~ pgmem.folded(p_node.key)
         and pgmem.folded(n.key) ~<~ (left(pgmem.folded(p_node.key), 1) || U&'\+10FFFF')
       order by pgmem.folded(n.key) using ~<~ limit 10)
      union all
      (select n.seq, n.id, n.label, n.key, n.status, n.source, n.trust_level from pgmem.node n
       where n.scope_key = place.scope_key and n.tenant || '' = place.tenant and n.key is not null
         and pgmem.folded(n.key) ~<~ pgmem.folded(p_node.key)
         and pgmem.folded(n.key) ~>=~ left(pgmem.folded(p_node.key), 1)
       order by pgmem.folded(n.key) using ~>~ limit 10)) n
    where n.seq <> p_node.seq and not pgmem.is_hidden_status(n.status)
      -- The same name under another label is not a slip, and a name in a relation would have been joined with it.
      and pgmem.folded(n.key) <> pgmem.folded(p_node.key)
      and length(n.key) between length(p_node.key) * 0.5 and length(p_node.key) * 2 + 2
  )
  select coalesce(jsonb_agg(near.item order by near.score desc, near.key), '[]')
  from (select f.score, f.key, jsonb_build_object('new_name', p_node.key, 'id', f.id, 'label', f.label, 'name', f.key,
                                                  'score', round(f.score::numeric, 2),
                                                  'by', pgmem.said_by(f.source, f.trust_level)) as item
        from found f where f.score >= pgmem.setting_float('near_name') order by f.score desc, f.key limit 5) near);
end;
$$;
comment on function pgmem.near_names is
  'The names that a new node''s name resembles, at most five: objects of new_name, id, label, name and score (0 to 1).';
