create or replace function pgmem.spend_token(p_token_id uuid, p_save_id uuid) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node pgmem.node;
begin
  update pgmem.governance_token t set used_at = pgmem.clock(), used_by = p_save_id, spent_by = (pgmem.caller()).agent_id
  where t.id = p_token_id
  returning t.node_seq into v_node.seq;
  update pgmem.node n set status = 'archived', props = n.props || '{"used": true}', updated_at = pgmem.now()
  where n.seq = v_node.seq;
end;
$$;
comment on function pgmem.spend_token(uuid, uuid) is 'Mark a token used by a save; gone again if the save does not commit.';
