create or replace function pgmem.require_draft_room(p_scope_key bigint, p_new integer) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_drafts  integer := pgmem.setting_int('max_candidates');
  v_records integer := pgmem.setting_int('max_records');
  v_room    integer := pgmem.card_room(p_scope_key, 'draft', v_drafts);
begin
  if v_room < p_new then
    raise exception using errcode = 'PM009', message = format('max_candidates_reached: %s/%s', v_drafts - v_room, v_drafts),
      hint = 'A person decides the drafts: pgmem cards review.';
  end if;
  v_room := pgmem.card_room(p_scope_key, null, v_records);
  if v_room < p_new then
    raise exception using errcode = 'PM009', message = format('max_records_reached: %s/%s', v_records - v_room, v_records),
      hint = 'pgmem cards vacuum makes room.';
  end if;
end;
$$;
comment on function pgmem.require_draft_room(bigint, integer) is 'Refuse drafts that do not fit. Called under the scope lock.';
