-- Cypher: read-only queries over the graph
--
-- run_cypher runs one query of the owner or a reviewer. A graph is not filtered by tenant, so it is refused where a
-- tenant is set, and to everybody but the owner where a login is bound to one. A query that names a writing clause is refused; and the query runs in a
-- savepoint that is always rolled back, so its writes are undone before its rows are returned. It comes
-- between dollar quotes with a random tag, so it cannot leave them.
--
-- AGE wants the columns of a query beforehand: cypher_columns reads them from its RETURN.
--
-- Locks: none.


-- AGE before 1.6 has no agtype_to_json, and that of 1.7 takes no bare number. The text of an agtype is JSON but for the
-- types that it appends to values. A string is matched first, so that a text like a type inside it stays.
create or replace function pgmem.json_of_agtype(p_text text) returns jsonb
language sql immutable parallel safe strict set search_path = pgmem, pg_temp as $$
  select regexp_replace(p_text, '("(?:[^"\\]|\\.)*")|::(?:vertex|edge|path|numeric)\M', '\1', 'g')::jsonb
$$;
comment on function pgmem.json_of_agtype is 'The JSON of a value of the graph that is written as text.';


create or replace function pgmem.cypher_columns(p_query text) returns text[]
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  -- Strings and comments are blanked out first, so that a word inside them is not a clause.
  v_plain  text := regexp_replace(
    p_query, e'\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|//[^\n]*|/\\*.*?\\*/', '''''', 'g');
  v_return text := (regexp_match(v_plain, '(?:^|.*\W)return\s+(?:distinct\s+)?(.*)$', 'i'))[1];
  v_items  text[] := '{}';
  v_item   text := '';
  v_depth  integer := 0;
  v_char   text;
begin
  if v_return is null then
    raise exception using errcode = 'PM001', message = 'A Cypher query here must end in RETURN …; it is read only.';
  end if;
  v_return := regexp_replace(v_return, '\s+(order\s+by|skip|limit)\s.*$', '', 'i');
  foreach v_char in array regexp_split_to_array(v_return, '') loop
    v_depth := v_depth + case when v_char in ('(', '[', '{') then 1 when v_char in (')', ']', '}') then -1 else 0 end;
    if v_char = ',' and v_depth = 0 then
      v_items := v_items || v_item;
      v_item := '';
    else
      v_item := v_item || v_char;
    end if;
  end loop;
  return array(select coalesce((regexp_match(item, '\sas\s+`?(\w+)`?\s*;?\s*$', 'i'))[1],
                               nullif(btrim(regexp_replace(item, '\W+', '_', 'g'), '_'), ''), 'column_' || place)
               from unnest(v_items || v_item) with ordinality as i(item, place) order by place);
end;
$$;
comment on function pgmem.cypher_columns is 'The names of the columns that a Cypher query returns.';


create or replace function pgmem.run_cypher(
  p_query text,
  p_params jsonb default '{}'
) returns setof jsonb
language plpgsql security definer set search_path = ag_catalog, pgmem, pg_temp as $$
declare
  v_columns text[] := pgmem.cypher_columns(p_query);
  v_tag     text := 'q' || replace(gen_random_uuid()::text, '-', '');
  v_rows    jsonb[];
  v_message text;
begin
  perform pgmem.require_graph();
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'Cypher reads the whole graph: connect as the owner or a reviewer.';
  end if;
  -- With tenants the owner alone, who reads the tables too.
  if (pgmem.caller()).identified or exists (select from pgmem.tenant_role)
      and not pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member') then
    raise exception using errcode = 'PM004',
      message = 'Cypher is not filtered by tenant, so it is refused while a tenant is set; '
        'use search_memory or neighbours.';
  end if;
  if p_query ~* '\m(create|merge|set|delete|remove|detach|load|call)\M'
      and regexp_replace(p_query, e'\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|`[^`]*`', '', 'g')
          ~* '\m(create|merge|set|delete|remove|detach|load|call)\M' then
    raise exception using errcode = 'PM004',
      message = 'Cypher is read only here: write through the verbs (remember, relate, save_…).';
  end if;
  if jsonb_typeof(coalesce(p_params, '{}')) <> 'object' then
    raise exception using errcode = 'PM001',
      message = 'params must be an object; send {"name": value} and write $name in the query.';
  end if;
  perform ag_catalog._label_id('pgmem_graph', '_ag_label_vertex');
  begin
    execute format('select array_agg(jsonb_build_object(%s)) from ag_catalog.cypher(%L, $%s$ %s $%s$, $1) as (%s)',
      (select string_agg(format('%L, pgmem.json_of_agtype(ag_catalog.agtype_out(%I)::text)', name, 'c' || place),
                         ', ' order by place)
       from unnest(v_columns) with ordinality as c(name, place)),
      'pgmem_graph', v_tag, rtrim(p_query, e'; \n\t'), v_tag,
      (select string_agg(format('%I ag_catalog.agtype', 'c' || place), ', ' order by place)
       from unnest(v_columns) with ordinality as c(name, place)))
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
comment on function pgmem.run_cypher is $$
Run a read-only Cypher query over the graph; one JSON object a row.

query: A Cypher query that ends in RETURN; its columns name the keys of the objects.
params: An object of values that the query names as $name.

TierMissing: the server has no Apache AGE, or the graph came from a dump and must be rebuilt.
NotPermitted: the query writes, a tenant is set, or the login is neither owner nor reviewer.
InvalidArgument: the query has no RETURN or cannot be run, or params is not an object.
$$;
select pgmem.declare_verb('run_cypher', p_rights => 'reviewer', p_effect => 'look',
  p_answer => 'list[dict[str, JsonValue]]', p_reach => 'caller',
  p_reads_all => 'It reads what the query asks for.');
