-- Where a server stands in the log: what a primary has written, or a replica replayed. Two positions can be compared where system and
-- database are equal. The primary's is that of the last record inserted, so that no commit anybody has seen lies beyond it.
-- security definer: clients have EXECUTE on verbs alone.
create or replace function pgmem.wal_position(out system text, out database text, out recovering boolean, out log_bytes bigint)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  system := (select c.system_identifier::text from pg_control_system() c);
  database := current_database();
  recovering := pg_is_in_recovery();
  log_bytes := case when recovering then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end - '0/0'::pg_lsn;
end;
$$;
comment on function pgmem.wal_position() is 'Which cluster and database this is, whether it is a replica, and how far its log has come, in bytes.';
