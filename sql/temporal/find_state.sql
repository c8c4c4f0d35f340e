create or replace function pgmem.find_state(p_label text, p_key text, p_project_seq bigint, p_as_of timestamptz, p_known_at timestamptz)
returns pgmem.recorded_state
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_states pgmem.recorded_state[];
  v_live   pgmem.recorded_state[];
begin
  perform pgmem.require_label(p_label);
  select array_agg(found.state order by (found.state).seq) into v_states from (
    select s as state from pgmem.recorded_state s
    where s.label = p_label
      -- A node is found by what it is called now or was called then.
      and s.seq in (
        select n.seq from pgmem.visible_node n
        where hashtextextended(lower(translate(coalesce(n.key, n.title), '-_', '  ')), 0) = pgmem.name_hash(btrim(p_key))
          and n.label = p_label and coalesce(n.key, n.title) = btrim(p_key)
        union all
        select n.seq from pgmem.visible_node n where n.label = p_label and n.id = case when p_key ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_key::uuid end)
      and (p_project_seq is null or s.project_seq = p_project_seq or s.project_seq is null)
      and case when p_known_at is null then s.replaced_at = 'infinity' else s.ingested_at <= p_known_at and s.replaced_at > p_known_at end
      and pgmem.is_true_at(s.status, s.valid_from, s.valid_to, s.created_at, p_as_of)
    limit 20) found;
  select array_agg(s) into v_live from unnest(v_states) s where s.status in ('active', 'approved');
  if cardinality(v_states) > 1 and cardinality(v_live) = 1 then
    v_states := v_live;
  end if;
  if v_states is null then
    raise exception using errcode = 'PM002', message = format('No %s named %s was %s.', p_label, quote_literal(left(p_key, 80)),
      concat_ws(' and ', 'true at ' || p_as_of, 'known at ' || p_known_at));
  elsif cardinality(v_states) > 1 then
    raise exception using errcode = 'PM003', message = format('%s names %s nodes of label %s; send one of these ids: %s.',
      quote_literal(left(p_key, 80)), cardinality(v_states), p_label,
      (select string_agg(format('%s (%s)', s.id, coalesce(s.place, 'no project')), ', ') from unnest(v_states) s));
  end if;
  return v_states[1];
end;
$$;
comment on function pgmem.find_state(text, text, bigint, timestamptz, timestamptz) is
  'The state of a named node that was true at a date, or known at one, or both; none or several are errors.';
