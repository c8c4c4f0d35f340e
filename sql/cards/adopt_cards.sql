create or replace function pgmem.adopt_cards(p_org_id text, p_user_id text) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant text := p_org_id || e'\x1f' || p_user_id;
begin
  -- The cards themselves are nodes: their trigger has moved their subjects and begun a state of the new tenant.
  delete from pgmem.card_state s where s.tenant = e'\x1f' and exists (
    select from pgmem.card_state own where own.tenant = v_tenant and own.project_seq = s.project_seq);
  delete from pgmem.card_file f where f.tenant = e'\x1f' and exists (
    select from pgmem.card_file own where own.tenant = v_tenant and own.project_seq = f.project_seq and own.path = f.path);
  update pgmem.card_state s set org_id = p_org_id, user_id = p_user_id where s.tenant = e'\x1f';
  update pgmem.card_file f set org_id = p_org_id, user_id = p_user_id where f.tenant = e'\x1f';
  update pgmem.card_run r set org_id = p_org_id, user_id = p_user_id where r.tenant = e'\x1f';
  update pgmem.card_intent i set org_id = p_org_id, user_id = p_user_id where i.tenant = e'\x1f';
end;
$$;
comment on function pgmem.adopt_cards(text, text) is 'Give what cards have besides their nodes to a tenant; part of adopt.';
