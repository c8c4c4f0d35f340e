create or replace function pgmem.import_edge(p_record jsonb, p_caller pgmem.caller, p_all_tenants boolean) returns text
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_src      pgmem.node;
  v_dst      pgmem.node;
  v_relation pgmem.relation;
  v_new      boolean;
begin
  if p_all_tenants then
    p_caller.tenants := null;
  end if;
  v_src := pgmem.imported_node((p_record ->> 'src')::uuid, p_caller);
  v_dst := pgmem.imported_node((p_record ->> 'dst')::uuid, p_caller);
  if v_src.seq is null or v_dst.seq is null then
    raise exception using errcode = 'PM002', message = 'one of its ends is not here; import the lines of both memories first';
  end if;
  select r.* into v_relation from pgmem.relation r where r.name = p_record ->> 'rel';
  if v_relation.name is null or v_relation.is_column then
    raise exception using errcode = 'PM001', message = format('its relation %s is not known here; add it with init_schema', quote_literal(left(p_record ->> 'rel', 80)));
  end if;
  -- Two memories that became one; or both are everybody's, and so is what joins them.
  if v_src.seq = v_dst.seq or not p_all_tenants
      and not array[v_src.tenant, v_dst.tenant] && array[p_caller.tenant, p_caller.org_id || e'\x1f'] then
    return 'present';
  end if;
  -- An undirected relation is stored once, from the older to the newer node.
  v_new := pgmem.insert_edge(
    case when v_relation.undirected then least(v_src.seq, v_dst.seq) else v_src.seq end, v_relation.name,
    case when v_relation.undirected then greatest(v_src.seq, v_dst.seq) else v_dst.seq end,
    coalesce(p_record -> 'props', '{}'), (p_record ->> 'created_at')::timestamptz);
  return case when v_new then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_edge(jsonb, pgmem.caller, boolean) is 'Join two imported nodes as a record tells; the same edge again changes nothing.';
