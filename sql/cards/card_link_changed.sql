create or replace function pgmem.card_link_changed() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_card pgmem.node;
begin
  select n.* into v_card from pgmem.node n where n.seq = case tg_op when 'DELETE' then old.dst else new.dst end and n.label = 'Card';
  if found then
    perform pgmem.touch_cards(v_card.org_id, v_card.user_id, v_card.project_seq);
    perform pgmem.weigh_card(v_card.seq);
  end if;
  return null;
end;
$$;
comment on function pgmem.card_link_changed() is 'Trigger: a card that is contradicted, or no longer, is weighed again.';
