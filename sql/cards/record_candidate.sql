-- security definer: clients hold no rights on tables.
create or replace function pgmem.record_candidate(p_record_type text, p_statement text, p_subject_path text, p_project_id text,
  p_symbols text[] default '{}', p_evidence jsonb default '[]', p_share text default null,
  out card_id uuid, out status text, out identity_key text, out statement_length integer, out warnings text[],
  out previously_rejected uuid, out message text, out next_step text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_node   pgmem.node;
  v_text   text;
  v_path   text;
  v_made   record;
begin
  perform pgmem.require_record_type(p_record_type);
  select c.statement, c.warnings into v_text, warnings from pgmem.check_statement(p_statement) c;
  if btrim(coalesce(p_subject_path, '')) = '' then
    raise exception using errcode = 'PM010', message = 'record_candidate requires subject_path linking the observation to a repo file.';
  end if;
  v_path := pgmem.clean_path(p_subject_path);
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  v_node := pgmem.place_card(v_scope, v_caller, p_share);
  perform pgmem.lock_scope(v_node.scope_key);
  perform pgmem.require_draft_room(v_node.scope_key, 1);
  select * into v_made from pgmem.store_candidate(v_node, v_text, v_path, p_record_type, p_symbols, p_evidence,
    case when pgmem.card_writer(v_caller) = 'human' then 'human' else 'agent' end, pgmem.card_writer(v_caller));
  if v_made.existing is not null then
    raise exception using errcode = 'PM010', message = format('Candidate already exists for identity_key=%s (card %s).', v_made.identity_key, v_made.existing);
  end if;
  card_id := (v_made.node).id;
  status := (v_made.node).status;
  identity_key := v_made.identity_key;
  statement_length := length(v_text);
  previously_rejected := v_made.rejected;
  message := case when v_made.rejected is not null then
    format('Recorded as a draft again: the same card was rejected before (%s). Say what has changed when you ask for its approval.', v_made.rejected)
    else 'Recorded as a draft.' end;
  next_step := 'A person approves or rejects it: pgmem cards review.';
end;
$$;
comment on function pgmem.record_candidate is
  'Draft a card: one fact about a file of the repository. It counts when a person has approved it.';
