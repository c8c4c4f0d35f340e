create or replace function pgmem.reflection_hint() returns text
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant text := (pgmem.caller()).tenant;
  v_after  bigint := coalesce((select r.node_seq from pgmem.reflection r where r.tenant = v_tenant), 0);
  v_limit  integer := pgmem.setting_int('reflection_hint_limit');
begin
  -- Counted no further than it takes: in a store of a million memories as in one of ten.
  if (select count(*) from (select from pgmem.visible_node n
        where n.seq > v_after and n.tenant = v_tenant and pgmem.is_memory(n.label) and n.label <> 'Insight' limit v_limit) since) < v_limit then
    return null;
  end if;
  return format('%s or more memories have come since the last reflection: call reflect, then surface_insights.', v_limit);
end;
$$;
comment on function pgmem.reflection_hint() is 'Says so once ten memories (a setting) have come since the caller''s last reflection; null before.';
