create or replace function pgmem.scope_size(p_tenants text[], p_project_seq bigint, out memories bigint, out mean_length float8)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  select sum(s.memories), sum(s.total_length)::float8 / nullif(sum(s.memories), 0) into memories, mean_length
  from pgmem.text_stat s
  where s.tenant = any (p_tenants) and (p_project_seq is null or s.project_seq in (p_project_seq, 0));
  if memories is null then
    -- Not counted yet by the worker, so a young scope: count it, up to what would be ranked one by one.
    select count(*), avg(n.text_length) into memories, mean_length
    from (select n.text_length from pgmem.node n
          where n.tenant = any (p_tenants) and pgmem.is_memory(n.label) and n.status in ('active', 'approved')
            and (p_project_seq is null or n.project_seq = p_project_seq or n.scope = 'global')
          limit 20000) n;
  end if;
  mean_length := coalesce(nullif(mean_length, 0), 1);
end;
$$;
comment on function pgmem.scope_size(text[], bigint) is
  'How many memories a scope holds and their mean length: from the kept counts, so that no query counts.';
