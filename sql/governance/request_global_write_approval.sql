-- security definer: clients hold no rights on tables.
create or replace function pgmem.request_global_write_approval(p_content_preview text,
  out token text, out expires_at timestamptz, out ttl_seconds integer, out instructions text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_preview text := pgmem.clean_text(p_content_preview, 'content_preview', true);
  v_node    pgmem.node := pgmem.new_node('GovernanceToken', v_caller);
begin
  -- Two random UUIDs: 244 random bits from the server's strong source.
  token := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  ttl_seconds := pgmem.setting_int('governance_token_ttl_s');
  expires_at := pgmem.clock() + make_interval(secs => ttl_seconds);
  v_node.key := gen_random_uuid()::text;
  v_node.title := 'Approval of one global write';
  v_node.props := jsonb_build_object('name', v_node.key, 'expires_at', expires_at, 'used', false);
  v_node := pgmem.insert_node(v_node);
  insert into pgmem.governance_token (id, secret_hash, preview, org_id, user_id, node_seq, issued_to, issued_at, expires_at)
  values (v_node.key::uuid, sha256(convert_to(token, 'UTF8')), left(v_preview, 2000), v_caller.org_id, v_caller.user_id,
          v_node.seq, v_caller.agent_id, pgmem.clock(), expires_at);
  instructions := format('Show the preview to the person you work for. If it is approved, send this token as governance_token '
    'within %s seconds; it is good for one call.', ttl_seconds);
end;
$$;
comment on function pgmem.request_global_write_approval(text) is
  'A one-use token for a global write. Only its hash is kept.';
