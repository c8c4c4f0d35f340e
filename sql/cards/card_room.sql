-- Called under the scope lock, so that what is counted cannot grow before the transaction ends. The count stops at the limit.
create or replace function pgmem.card_room(p_scope_key bigint, p_status text, p_most integer) returns integer
language sql
set search_path = pgmem, pg_temp
as $$
  select p_most - count(*)::integer from (
    select from pgmem.node n where n.label = 'Card' and n.scope_key = p_scope_key and (p_status is null or n.status = p_status)
    limit p_most) found;
$$;
comment on function pgmem.card_room(bigint, text, integer) is 'How many more cards of a status (null: of any) fit under a limit.';
