-- The caller holds the scope lock. Reads node itself: scope_key holds the tenant. An empty store fills within one session: a plan
-- that was made for ten rows would go on reading all of a hundred thousand.
create or replace function pgmem.import_node(p_node pgmem.node, p_record jsonb, p_owner pgmem.caller, p_vectors boolean) returns text
language plpgsql
set search_path = pgmem, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_id    uuid := p_node.id;
  v_other bigint;
begin
  if (pgmem.imported_node(v_id, p_owner)).seq is not null then
    return 'present';
  end if;
  if p_node.key is not null then
    select n.seq into v_other from pgmem.node n where n.scope_key = p_node.scope_key and n.key = p_node.key;
  elsif p_node.content_hash is not null
      and p_node.status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected') then
    select n.seq into v_other from pgmem.node n where n.scope_key = p_node.scope_key and n.content_hash = p_node.content_hash
      and n.status not in ('superseded', 'archived', 'expired', 'merged', 'dismissed', 'historical', 'rejected');
  end if;
  if v_other is not null then
    insert into pgmem.imported (id, node_seq) values (v_id, v_other);
    return 'merged';
  end if;
  -- Somebody else's node has this id: the copy gets one of its own, the same at every import.
  if exists (select from pgmem.node n where n.id = v_id) then
    p_node.id := md5(p_node.tenant || v_id)::uuid;
  end if;
  if p_node.session_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    p_node.session_id := coalesce((pgmem.imported_node(p_node.session_id::uuid, p_owner)).id::text, p_node.session_id);
  end if;
  p_node := pgmem.insert_node(p_node, case when p_node.status = 'active' and p_node.title_tokens is not null
    then (select r.ranked from pgmem.ranked_tokens(p_node.title_tokens) r) end, true);
  if p_node.id <> v_id then
    insert into pgmem.imported (id, node_seq) values (v_id, p_node.seq);
  end if;
  perform pgmem.import_versions(p_node, p_record -> 'versions', p_owner);
  if p_node.label = 'Card' then
    perform pgmem.import_card(p_node, p_record);
  end if;
  perform pgmem.import_vectors(p_node, case when p_vectors then p_record -> 'vectors' end);
  return 'taken';
end;
$$;
comment on function pgmem.import_node(pgmem.node, jsonb, pgmem.caller, boolean) is
  'Take a node with all that hangs on it, unless it is here (present) or its name or content is (merged).';
