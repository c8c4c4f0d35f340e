create or replace function pgmem.import_card(p_node pgmem.node, p_record jsonb) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  perform pgmem.add_subjects(p_node, coalesce(p_record -> 'subjects', '[]'));
  insert into pgmem.card_evidence (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select p_node.seq, e.kind, e.ref, e.digest, e.seen_digest, e.added_by, e.created_at
  from jsonb_populate_recordset(null::pgmem.card_evidence, coalesce(p_record -> 'evidence', '[]')) e;
  insert into pgmem.card_revision (node_seq, version, action, from_status, to_status, by, reason, created_at)
  select p_node.seq, r.version, r.action, r.from_status, r.to_status, r.by, r.reason, r.created_at
  from jsonb_array_elements(coalesce(p_record -> 'revisions', '[]')) with ordinality as told(value, place)
  cross join lateral jsonb_populate_record(null::pgmem.card_revision, told.value) r order by told.place;
  perform pgmem.weigh_card(p_node.seq);
end;
$$;
comment on function pgmem.import_card(pgmem.node, jsonb) is 'Store subjects, evidence and revisions of a card that was just imported.';
