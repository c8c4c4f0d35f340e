create or replace function pgmem.names_in(p_query text, p_tenants text[], p_project_seq bigint) returns text[]
language sql stable
set search_path = pgmem, pg_temp
as $$
  -- Who takes part in a project (the agents that wrote in it) and what it knows by name (entities, people).
  select coalesce(array_agg(distinct known.name), '{}')
  from (
    select w.name from pgmem.project_writers(p_tenants, p_project_seq) w
    union all
    select n.key from pgmem.node n
    where n.label in ('EntityFact', 'Person') and n.tenant = any (p_tenants) and n.status = 'active'
      and (p_project_seq is null or n.project_seq = p_project_seq)
      and lower(n.key) = any (array(select lower(m[1]) from regexp_matches(p_query, '(\w+)', 'g') m))
  ) known
  where p_query ~* ('\m' || regexp_replace(known.name, '([.*+?^${}()|\[\]\\])', '\\\1', 'g') || '\M');
$$;
comment on function pgmem.names_in(text, text[], bigint) is 'Names of writers and entities of a project that stand in a query.';
