-- One decision at a time: the scope lock, then the row; the second of two finds the first's status and is refused.
create or replace function pgmem.decide_card(p_card_id uuid, p_verb text, p_from text[], p_to text, p_by text, p_reason text, p_props jsonb)
returns pgmem.node
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node   pgmem.node;
  v_by     text := pgmem.clean_key(p_by, 'by');
  v_caller pgmem.caller := pgmem.require_writer();
begin
  if v_by is null then
    raise exception using errcode = 'PM001', message = 'by must not be empty; send who decides.';
  end if;
  select n.* into v_node from pgmem.visible_node n where n.id = p_card_id and n.label = 'Card';
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('Memory record not found: %s', p_card_id);
  end if;
  perform pgmem.require_own(v_node, v_caller);
  perform pgmem.lock_scope(v_node.scope_key);
  select n.* into v_node from pgmem.visible_node n where n.id = p_card_id;
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('Memory record not found: %s', p_card_id);
  end if;
  if not v_node.status = any (p_from) then
    raise exception using errcode = 'PM010', message = format('Cannot %s record in status ''%s''', p_verb, v_node.status);
  end if;
  return pgmem.change_card(v_node, p_to, p_props, p_verb, v_by, p_reason);
end;
$$;
comment on function pgmem.decide_card(uuid, text, text[], text, text, text, jsonb) is
  'A person''s decision on a card; the verb has asked whether he may. A card in another status is a contract error.';
