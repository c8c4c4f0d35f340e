-- Renewal of rows that an earlier release stored
--
-- A migration that changes how texts are composed, compared or searched names the steps of pgmem.renewal. They run
-- after the transaction of the upgrade, a batch a call, by the functions of this release, while others read and save.
-- Whatever interrupts them, the next pgmem init or the next round of a worker goes on after the last batch.
--
-- Locks: the row of the step; in the step graph those of rebuild_graph, in memories the rows of a batch, in titles
-- their scopes.


select pgmem.declare_answer('renewal_answer', $$
A batch of what an upgrade left to renew; `step` is None once nothing is left.

class Renewal
step text?, changed bigint, remaining bigint
$$);

create or replace function pgmem.renew(
  p_batch integer default 1000
) returns pgmem.renewal_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.renewal_answer;
  v_step name;
  v_done bigint;
  v_last bigint;
  v_end  bigint;
  v_to   bigint;
begin
  v_answer.changed := 0;
  v_answer.remaining := 0;
  select r.step, r.last_seq, r.up_to into v_answer.step, v_last, v_end from pgmem.renewal r
  where r.done_at is null order by array_position('{graph,memories,titles}', r.step) limit 1 for update;
  if v_answer.step is null then
    return v_answer;
  end if;
  case v_answer.step
  when 'memories', 'titles' then
    -- Up to the last node there was at the first batch: of programs that go on saving it would never end.
    v_end := coalesce(v_end, (select max(n.seq) from pgmem.node n), 0);
    select max(n.seq) into v_to from (
      select n.seq from pgmem.node n where n.seq > v_last and n.seq <= v_end
      order by n.seq limit greatest(p_batch, 1)) n;
    if v_to is not null then
      v_answer.changed := case v_answer.step when 'memories' then pgmem.renew_memories(v_last, v_to)
                                             else pgmem.renew_titles(v_last, v_to) end;
      v_answer.remaining := v_end - v_to;
    end if;
  else
    v_answer.changed := 0;
    for v_step in select * from pgmem.steps('renew ' || v_answer.step) loop
      execute format('select pgmem.%I()', v_step) into v_done;
      v_answer.changed := v_answer.changed + v_done;
    end loop;
  end case;
  update pgmem.renewal r
  set last_seq = coalesce(v_to, r.last_seq), up_to = v_end, changed = r.changed + v_answer.changed,
    done_at = case when v_answer.remaining = 0 then pgmem.clock() end
  where r.step = v_answer.step;
  return v_answer;
end;
$$;
comment on function pgmem.renew is $$
Write a batch of rows of an earlier release again by the rules of this one.

Returns the name of the step, how many rows were written, and about how many of the step remain. The step is null once
nothing is left.

batch: How many memories at most. Default 1000.
$$;
select pgmem.declare_verb('renew', p_rights => 'worker', p_effect => 'repeat', p_answer => 'Renewal',
  p_patience => 'rebuild', p_reach => 'cell',
  p_reads_all => 'It renews all memories, in batches.');


create or replace function pgmem.needs_renewal(p_step text) returns void
language sql volatile set search_path = pgmem, pg_temp as $$
  insert into pgmem.renewal (step) values (p_step)
  on conflict (step) do update set last_seq = 0, up_to = null, changed = 0, begun_at = now(), done_at = null;
$$;
comment on function pgmem.needs_renewal is 'Let the next calls of renew do a step, from its beginning.';


-- Rows are locked before they are read: a save meanwhile would be overwritten by texts of the state before it.
create or replace function pgmem.renew_memories(p_after bigint, p_to bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rows   bigint;
  v_titles boolean;
begin
  perform from pgmem.node n where n.seq > p_after and n.seq <= p_to order by n.seq for no key update;
  v_rows := pgmem.renew_names(p_after, p_to);
  with made as materialized (
    select n.seq, n.tenant, n.scope_key, n.label, n.title_tokens as tokens_before, n.content_hash as hash_before,
      kept.title, kept.props, c.content_hash,
      d.title_tokens, d.tsv, d.text_length, d.asks, d.instructs, d.titled, d.statement,
      case when n.session_place is not null or pgmem.has_session_place(n.session_id, n.label, n.source) then coalesce(n.session_place,
        coalesce(pgmem.last_place(n.session_id, n.tenant), 0)
        + row_number() over (partition by n.session_id, n.tenant, n.session_place is null,
                               pgmem.has_session_place(n.session_id, n.label, n.source)
                             order by n.seq)::integer) end as session_place
    from pgmem.node n
    cross join lateral pgmem.composed(n.label, n.key, n.title, n.props, n.content_hash) c
    -- Named memories were written by renew_names.
    cross join lateral (select case when n.key is null then c.title else n.title end,
      case when n.key is null then c.props else n.props end) as kept(title, props)
    cross join lateral pgmem.derived(n.label, kept.title, kept.props, n.tenant, n.project_seq, n.session_id,
                                     n.text_config) d
    where n.seq > p_after and n.seq <= p_to
  ), hashed as (
    -- Where two are one by the rules of this release, the later one keeps its hash; hygiene proposes to merge them.
    select m.*, case when m.content_hash is distinct from m.hash_before and (
        exists (select from pgmem.node o
                where o.scope_key = m.scope_key and o.tenant || '' = m.tenant and o.label = m.label
                  and o.content_hash = m.content_hash and o.seq <> m.seq)
        or exists (select from made e
                   where e.scope_key = m.scope_key and e.tenant = m.tenant and e.label = m.label
                     and e.content_hash = m.content_hash and e.seq < m.seq))
      then m.hash_before else m.content_hash end as hash
    from made m
  ), written as (
    update pgmem.node n set title = m.title, props = m.props, content_hash = m.hash, title_tokens = m.title_tokens,
      tsv = m.tsv, text_length = m.text_length, asks = m.asks, instructs = m.instructs, titled = m.titled,
      statement = m.statement, session_place = m.session_place
    from hashed m
    where n.seq = m.seq
      and (n.title, n.props, n.content_hash, n.title_tokens, n.tsv, n.text_length, n.asks, n.instructs, n.titled,
           n.statement, n.session_place)
        is distinct from (m.title, m.props, m.hash, m.title_tokens, m.tsv, m.text_length, m.asks, m.instructs,
                          m.titled, m.statement, m.session_place)
    returning m.title_tokens is distinct from m.tokens_before as retitled
  )
  select v_rows + count(*), coalesce(bool_or(w.retitled), false) into v_rows, v_titles from written w;
  if v_titles then
    perform pgmem.needs_renewal('titles');
  end if;
  update pgmem.node_version v set tsv = d.tsv
  from pgmem.node n cross join lateral (
    select o.version, o.label, o.title, o.props, o.project_seq, o.text_config from pgmem.node_version o
    where o.node_seq = n.seq offset 0) o
  cross join lateral pgmem.derived(o.label, o.title, o.props, n.tenant, o.project_seq, null, o.text_config) d
  where n.seq > p_after and n.seq <= p_to and v.node_seq = n.seq and v.version = o.version and v.tsv <> d.tsv;
  perform pgmem.renew_vectors(p_after, p_to);
  return v_rows;
end;
$$;
comment on function pgmem.renew_memories is
  'Write a range of nodes as this release would have stored them, with all that follows from their texts; how many.';


-- A memory that a save has entered meanwhile is entered anew, under the lock of its scope.
create or replace function pgmem.renew_titles(p_after bigint, p_to bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.lock_scopes(array(select n.scope_key from pgmem.node n
    where n.seq > p_after and n.seq <= p_to and n.status = 'active' and n.title_tokens is not null));
  delete from pgmem.dedup_token t using pgmem.node n
  where n.seq > p_after and n.seq <= p_to and n.status = 'active' and n.title_tokens is not null
    and t.node_seq = n.seq and t.scope_key = n.scope_key and t.size = cardinality(n.title_tokens)
    and t.token = any (array(select hashtextextended(word, 0) from unnest(n.title_tokens) as word));
  return pgmem.index_titles(array(select n.seq from pgmem.node n
    where n.seq > p_after and n.seq <= p_to and n.status = 'active' and n.title_tokens is not null));
end;
$$;
comment on function pgmem.renew_titles is
  'Enter the live titles of a range of nodes in the index of near duplicates as this release does; how many entries.';


-- Names are few, and a name may be taken: one by one.
create or replace function pgmem.renew_names(p_after bigint, p_to bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
  v_rows bigint := 0;
begin
  for v_node in
    select n.* from pgmem.node n
    where n.seq > p_after and n.seq <= p_to and n.key is not null
      and octet_length(concat(n.key, n.title, n.props)) > length(concat(n.key, n.title, n.props)) order by n.seq
  loop
    -- Two names that are one now stay two nodes, the later one as it was written; hygiene proposes to merge them.
    update pgmem.node n set key = c.key, title = c.title, props = c.props
    from pgmem.composed(v_node.label, v_node.key, v_node.title, v_node.props, v_node.content_hash) c
    where n.seq = v_node.seq and (n.key, n.title, n.props) is distinct from (c.key, c.title, c.props) and not exists (
      select from pgmem.node o
      where o.scope_key = v_node.scope_key and o.tenant || '' = v_node.tenant and o.label = v_node.label
        and o.seq <> v_node.seq and o.key = c.key and pgmem.folded(o.key) = pgmem.folded(v_node.key));
    v_rows := v_rows + found::integer;
  end loop;
  return v_rows;
end;
$$;
comment on function pgmem.renew_names is 'Write the names of a range of nodes in Unicode''s normal form C; how many.';


create or replace function pgmem.renew_vectors(p_after bigint, p_to bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.has_vectors() then
    return;
  end if;
  perform pgmem.set_aside_embeddings(array_agg(n.seq)) from pgmem.node n
  where n.seq > p_after and n.seq <= p_to and pgmem.is_hidden_status(n.status)
    and exists (select from pgmem.embedding e where e.node_seq = n.seq)
  having count(*) > 0;
  perform pgmem.queue_changed(array(select n.seq from pgmem.node n where n.seq > p_after and n.seq <= p_to));
end;
$$;
comment on function pgmem.renew_vectors is
  'Set the vectors of hidden nodes of a range aside, and queue those whose text is another one now.';
