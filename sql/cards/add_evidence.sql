create or replace function pgmem.add_evidence(p_node_seq bigint, p_evidence jsonb, p_by text) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_kinds constant text[] := array['code', 'test', 'doc', 'spec', 'receipt', 'git_commit', 'report', 'baseline', 'cache',
                                   'audit_event', 'trajectory', 'external_url'];
  v_count bigint;
begin
  if jsonb_typeof(coalesce(p_evidence, '[]')) <> 'array'
      or exists (select from jsonb_array_elements(p_evidence) e where jsonb_typeof(e) <> 'object') then
    raise exception using errcode = 'PM010', message = 'evidence must be a list; send [{"kind": "code", "ref": "path", "digest": "…"}].';
  end if;
  perform pgmem.require_word(e ->> 'kind', v_kinds, 'Invalid evidence kind: ''%s''. Allowed values: %s.')
  from jsonb_array_elements(p_evidence) e;
  if exists (select from jsonb_array_elements(p_evidence) e where length(coalesce(btrim(e ->> 'ref'), '')) not between 1 and 500) then
    raise exception using errcode = 'PM010', message = 'ref of an evidence must have 1 to 500 characters.';
  end if;
  insert into pgmem.card_evidence (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select distinct on (e.kind, btrim(e.ref)) p_node_seq, e.kind, btrim(e.ref), e.digest, e.digest, p_by, pgmem.now()
  from jsonb_to_recordset(p_evidence) as e(kind text, ref text, digest text)
  on conflict (node_seq, kind, ref) do update set digest = excluded.digest, seen_digest = excluded.seen_digest, added_by = excluded.added_by;
  select count(*) into v_count from pgmem.card_evidence e where e.node_seq = p_node_seq;
  if v_count > pgmem.setting_int('max_card_evidence') then
    raise exception using errcode = 'PM010', message = format('A card holds at most %s pieces of evidence; this would be %s.',
      pgmem.setting_int('max_card_evidence'), v_count);
  end if;
end;
$$;
comment on function pgmem.add_evidence(bigint, jsonb, text) is 'Add evidence to a card: kind, ref and, of a file, its digest.';
