-- Called with the node placed and its scope locked.
create or replace function pgmem.store_candidate(p_node pgmem.node, p_statement text, p_path text, p_record_type text, p_symbols text[],
  p_evidence jsonb, p_ingest_source text, p_by text, out node pgmem.node, out identity_key text, out existing uuid, out rejected uuid)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_identity text := pgmem.card_identity(p_record_type, p_path, p_statement);
  v_file     pgmem.card_file;
  v_subjects jsonb;
  v_kind     text := case when p_path ~ '(^|/)(tests?/|test_[^/]*$)' then 'test' when p_path ~* '\.(md|rst|txt)$' then 'doc' else 'code' end;
begin
  identity_key := format('%s:path:%s:agent_candidate:%s', p_record_type, p_path, left(v_identity, 12));
  existing := (pgmem.same_content(p_node.scope_key, v_identity)).id;
  if existing is not null then
    return;
  end if;
  select n.id into rejected from pgmem.node n
  where n.label = 'Card' and n.scope_key = p_node.scope_key and n.content_hash = v_identity and n.status = 'rejected'
  order by n.seq desc limit 1;
  -- What the last run saw of the file anchors the card: a later change of the file makes it stale.
  select f.* into v_file from pgmem.card_file f where f.tenant = p_node.tenant and f.project_seq = p_node.project_seq and f.path = p_path;
  v_subjects := pgmem.path_subjects(p_path, v_file.module, p_symbols);
  p_node.status := 'draft';
  p_node.props := jsonb_build_object('record_type', p_record_type, 'statement', p_statement, 'confidence', 'inferred',
    'origin', case when p_by = 'agent' or p_ingest_source <> 'human' then 'agent' else 'human' end,
    'ingest_source', p_ingest_source, 'path', p_path);
  node := pgmem.insert_card(p_node, v_identity, v_subjects,
    case when v_file.digest is not null then jsonb_build_array(jsonb_build_object('kind', v_kind, 'ref', p_path, 'digest', v_file.digest)) else '[]' end
    || case when v_file.last_commit is not null then jsonb_build_array(jsonb_build_object('kind', 'git_commit', 'ref', v_file.last_commit)) else '[]' end
    || coalesce(p_evidence, '[]'), 'recorded', p_by);
end;
$$;
comment on function pgmem.store_candidate(pgmem.node, text, text, text, text[], jsonb, text, text) is
  'Store a draft, or name the live card that says the same; of an earlier one that was rejected, its id.';
