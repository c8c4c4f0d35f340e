-- A loose index scan: each step jumps to the next writer, whatever the number of memories.
create or replace function pgmem.project_writers(p_tenants text[], p_project_seq bigint) returns table (name text)
language sql stable
set search_path = pgmem, pg_temp
as $$
  with recursive writer(name, found) as (
    (select n.agent_id, 1 from pgmem.node n
     where n.project_seq = p_project_seq and n.agent_id is not null and n.tenant = any (p_tenants)
     order by n.agent_id limit 1)
    union all
    select (select n.agent_id from pgmem.node n
            where n.project_seq = p_project_seq and n.agent_id > w.name and n.tenant = any (p_tenants)
            order by n.agent_id limit 1), w.found + 1
    from writer w where w.name is not null and w.found < 200
  )
  select w.name from writer w where w.name is not null;
$$;
comment on function pgmem.project_writers(text[], bigint) is 'The agents that have written in a project, at most 200.';
