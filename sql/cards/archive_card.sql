-- A person's verb, never an MCP tool. security definer: clients hold no rights on tables.
create or replace function pgmem.archive_card(p_card_id uuid, p_by text, p_reason text default null, out card_id uuid, out status text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_node pgmem.node;
begin
  perform pgmem.require_reviewer('archive_card');
  v_node := pgmem.decide_card(p_card_id, 'archive', array['active', 'stale', 'historical', 'superseded'], 'archived', p_by,
    pgmem.clean_text(p_reason, 'reason'), '{}');
  card_id := v_node.id;
  status := v_node.status;
end;
$$;
comment on function pgmem.archive_card(uuid, text, text) is 'Take a card out of use; it is kept for card_days_archived days.';
