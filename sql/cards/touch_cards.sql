create or replace function pgmem.touch_cards(p_org_id text, p_user_id text, p_project_seq bigint) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  insert into pgmem.card_state as s (org_id, user_id, project_seq) values (p_org_id, p_user_id, p_project_seq)
  on conflict (tenant, project_seq) do update
    set revision = s.revision + 1, changed_in = excluded.changed_in, changed_at = excluded.changed_at
    where (s.changed_in, s.changed_at) is distinct from (excluded.changed_in, excluded.changed_at);
end;
$$;
comment on function pgmem.touch_cards(text, text, bigint) is
  'Note that cards of a tenant in a project change in this transaction: once a transaction, however many cards it changes.';
