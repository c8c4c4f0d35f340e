-- What a Cypher user needs to find his way: names, places, times and the label's own short scalars. Long texts, confidence
-- and vectors stay in the record. Numbers that AGE cannot hold (outside int64 or float8) go as text: they would abort the save.
-- A set-returning function, because such a one is merged into the trigger's statement.
create or replace function pgmem.vertex_properties(p_node pgmem.node) returns table (properties text)
language sql stable
begin atomic
  select jsonb_strip_nulls(coalesce(own.properties, '{}')
    || jsonb_build_object('id', p_node.id, 'key', p_node.key, 'title', p_node.title, 'project', p_node.project,
      'scope', p_node.scope, 'focus', p_node.focus, 'status', p_node.status, 'created_at', p_node.created_at,
      'valid_from', p_node.valid_from, 'valid_to', p_node.valid_to,
      'org_id', nullif(p_node.org_id, ''), 'user_id', nullif(p_node.user_id, '')))::text
  from (
    select jsonb_object_agg(name, case
      when jsonb_typeof(value) = 'number' and (
        (value #>> '{}')::numeric = trunc((value #>> '{}')::numeric) and abs((value #>> '{}')::numeric) >= 9223372036854775807
        or abs((value #>> '{}')::numeric) >= 1e307
        or (value #>> '{}')::numeric <> 0 and abs((value #>> '{}')::numeric) < 1e-300)
      then to_jsonb(value #>> '{}') else value end) as properties
    from jsonb_each(p_node.props) as p(name, value)
    where jsonb_typeof(value) in ('number', 'boolean') or jsonb_typeof(value) = 'string' and length(value #>> '{}') <= 200) own;
end;
comment on function pgmem.vertex_properties(pgmem.node) is 'The properties of a node''s vertex in the graph, as JSON text; one row.';
