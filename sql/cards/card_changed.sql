-- A trigger, so that no verb can forget it: revert, merge and adopt change cards too.
create or replace function pgmem.card_changed() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if tg_op = 'DELETE' then
    -- Gone with its project: there is nothing left to note it on.
    if exists (select from pgmem.node n where n.seq = old.project_seq) then
      perform pgmem.touch_cards(old.org_id, old.user_id, old.project_seq);
    end if;
    return null;
  end if;
  perform pgmem.touch_cards(new.org_id, new.user_id, new.project_seq);
  if tg_op = 'UPDATE' then
    if new.scope_key <> old.scope_key then
      update pgmem.card_subject s set scope_key = new.scope_key where s.node_seq = new.seq;
    end if;
    perform pgmem.weigh_card(new.seq);
  end if;
  return null;
end;
$$;
comment on function pgmem.card_changed() is 'Trigger: a card that is made, changed or gone moves the state of its project''s cards.';
