-- Cypher is not filtered by tenant, so this is for the owner, and for reviewers of a store without tenants.
-- The query stands between dollar quotes whose random tag it does not contain: it cannot leave them.
-- It runs in a savepoint that is always rolled back: whatever a query manages to write is gone before its rows are returned.
-- security definer: clients hold no rights on the graph's tables.
create or replace function pgmem.run_cypher(p_query text, p_params jsonb default '{}') returns setof jsonb
language plpgsql security definer
set search_path = ag_catalog, pgmem, pg_temp
as $$
declare
  v_columns text[] := pgmem.cypher_columns(p_query);
  v_tag     text := 'q' || replace(gen_random_uuid()::text, '-', '');
  v_rows    jsonb[];
  v_message text;
begin
  perform pgmem.require_graph();
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'Cypher reads the whole graph: connect as the owner or a reviewer.';
  end if;
  if (pgmem.caller()).identified or exists (select from pgmem.tenant_role) then
    raise exception using errcode = 'PM004',
      message = 'Cypher is not filtered by tenant, so it is refused while a tenant is set; use search_memory or neighbours.';
  end if;
  if p_query ~* '\m(create|merge|set|delete|remove|detach|load|call)\M'
      and regexp_replace(p_query, e'\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|`[^`]*`', '', 'g')
          ~* '\m(create|merge|set|delete|remove|detach|load|call)\M' then
    raise exception using errcode = 'PM004', message = 'Cypher is read only here: write through the verbs (remember, relate, save_…).';
  end if;
  if jsonb_typeof(coalesce(p_params, '{}')) <> 'object' then
    raise exception using errcode = 'PM001', message = 'params must be an object; send {"name": value} and write $name in the query.';
  end if;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  begin
    execute format('select array_agg(jsonb_build_object(%s)) from ag_catalog.cypher(%L, $%s$ %s $%s$, $1) as (%s)',
      (select string_agg(format('%L, pgmem.json_of_agtype(ag_catalog.agtype_out(%I)::text)', name, 'c' || place), ', ' order by place) from unnest(v_columns) with ordinality as c(name, place)),
      'pgmem_graph', v_tag, rtrim(p_query, e'; \n\t'), v_tag,
      (select string_agg(format('%I ag_catalog.agtype', 'c' || place), ', ' order by place) from unnest(v_columns) with ordinality as c(name, place)))
    into v_rows using coalesce(p_params, '{}')::text::ag_catalog.agtype;
    raise exception using errcode = 'PM098';
  exception when sqlstate 'PM098' then
    null;
  when syntax_error_or_access_rule_violation or data_exception or feature_not_supported then
    get stacked diagnostics v_message = message_text;
    raise exception using errcode = 'PM001', message = 'This query cannot be run: ' || v_message;
  end;
  return query select unnest(v_rows);
end;
$$;
comment on function pgmem.run_cypher(text, jsonb) is
  'Run a read-only Cypher query with parameters over the graph; one JSON object a row.';
