-- Locks: the governance token, the scope of the node, the node.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.forget(p_label text, p_key text, p_purge boolean default false, p_project_id text default null,
  p_governance_token text default null,
  out id uuid, out label text, out key text, out title text, out status text, out edges integer, out versions integer, out vectors integer)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller      pgmem.caller := pgmem.require_writer();
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_node        pgmem.node := pgmem.find_recorded(p_label, p_key, v_project_seq);
  v_token_id    uuid;
begin
  perform pgmem.require_forgettable(v_node, v_caller);
  if v_node.scope = 'global' then
    v_token_id := pgmem.require_approval(p_governance_token, v_caller);
  end if;
  perform pgmem.lock_scope(v_node.scope_key);
  select n.* into v_node from pgmem.visible_node n where n.seq = v_node.seq;
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('No %s named %s is here.', p_label, quote_literal(left(p_key, 80)));
  end if;
  id := v_node.id;
  label := v_node.label;
  key := v_node.key;
  title := v_node.title;
  edges := 0;
  versions := 0;
  if p_purge then
    status := 'purged';
    select d.edges, d.versions, d.vectors into edges, versions, vectors from pgmem.delete_node(v_node.seq) d;
  else
    status := 'archived';
    vectors := pgmem.delete_embeddings(array[v_node.seq]);
    if v_node.status <> 'archived' then
      perform pgmem.set_status(v_node.seq, 'archived');
    end if;
  end if;
  if v_token_id is not null then
    perform pgmem.spend_token(v_token_id, v_node.id);
  end if;
end;
$$;
comment on function pgmem.forget is
  'Hide a memory everywhere (archived; remembering it again brings it back), or purge it: node, edges, vectors and versions are gone.';
