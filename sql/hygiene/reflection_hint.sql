-- Asked for in every answer to an agent: one index lookup, counted no further than it takes, in a store of a million memories
-- as in one of ten. Reads node itself: the tenant is the caller's own.
create or replace function pgmem.reflection_hint(p_tenant text) returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  return (
    select format('%s or more memories have come since the last reflection: call reflect, then surface_insights.', s.value)
    from pgmem.setting s
    where s.name = 'reflection_hint_limit' and s.value::integer <= (
      select count(*) from (
        select from pgmem.node n
        -- As a pair and in order, so that only the index on (tenant, seq) serves, which reads no other tenant's rows and no older ones.
        where n.tenant = p_tenant
          and (n.tenant, n.seq) > (p_tenant, coalesce((select r.node_seq from pgmem.reflection r where r.tenant = p_tenant), 0))
          and pgmem.is_memory(n.label) and n.label <> 'Insight'
        order by n.seq limit s.value::integer) since));
end;
$$;
comment on function pgmem.reflection_hint(text) is 'Says so once ten memories (a setting) have come since the tenant''s last reflection; null before.';
