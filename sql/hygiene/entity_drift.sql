create or replace function pgmem.entity_drift(p_project_seq bigint, p_scope text)
returns table (seq bigint, into_seq bigint)
language sql stable
set search_path = pgmem, pg_temp
as $$
  select named.seq, named.into_seq
  from (select n.seq, first_value(n.seq) over (
                 partition by n.tenant, n.project_seq, coalesce(nullif(pgmem.normalize(n.key), ''), n.key) order by n.seq) as into_seq
        from pgmem.hygiene_node n
        where n.label = 'EntityFact' and (p_project_seq is null or n.project_seq = p_project_seq)
          and (p_scope is null or n.scope = p_scope)) named
  where named.seq <> named.into_seq;
$$;
comment on function pgmem.entity_drift(bigint, text) is
  'Entity facts that name, in other letters or in another focus area of the project, what an older one names; each with that older one.';
