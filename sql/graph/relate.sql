-- security definer: clients hold no rights on tables.
create or replace function pgmem.relate(p_from_label text, p_from_key text, p_rel_type text, p_to_label text, p_to_key text,
  p_project_id text default null, out from_id uuid, out rel_type text, out to_id uuid, out created boolean)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller      pgmem.caller := pgmem.require_writer();
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_from        pgmem.node;
  v_to          pgmem.node;
begin
  v_from := pgmem.find_node(p_from_label, p_from_key, v_project_seq);
  v_to := pgmem.find_node(p_to_label, p_to_key, v_project_seq);
  -- An edge between two memories that are everybody's would be seen by everybody: one end must be the caller's.
  if v_to.tenant not in (v_caller.tenant, v_caller.org_id || e'\x1f') then
    perform pgmem.require_own(v_from, v_caller);
  end if;
  created := pgmem.join_nodes(v_from, p_rel_type, v_to);
  from_id := v_from.id;
  to_id := v_to.id;
  rel_type := p_rel_type;
end;
$$;
comment on function pgmem.relate is
  'Join two memories by a relation the registry allows; the same again changes nothing. Name them by id, key or exact title.';
