create or replace function pgmem.add_subjects(p_node pgmem.node, p_subjects jsonb) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.card_subject (node_seq, scope_key, kind, key, relation, match, status, weight)
  select p_node.seq, p_node.scope_key, s.kind, s.key, s.relation, s.match, p_node.status, 0
  from jsonb_to_recordset(p_subjects) as s(kind text, key text, relation text, match text)
  on conflict (node_seq, kind, key) do nothing;
end;
$$;
comment on function pgmem.add_subjects(pgmem.node, jsonb) is 'Say what a card is about; the same subject twice is one row.';
