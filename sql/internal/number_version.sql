-- A trigger, so that no verb can forget it. A change of times or confidence alone makes no version; last_hygiene_at is a time.
create or replace function pgmem.number_version() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  if (old.title, old.key, old.status, old.valid_from, old.valid_to, old.trust_level)
      is distinct from (new.title, new.key, new.status, new.valid_from, new.valid_to, new.trust_level)
      or old.props <> new.props and (old.label <> 'Project' or old.props - 'last_hygiene_at' <> new.props - 'last_hygiene_at') then
    new.version := old.version + 1;
    new.recorded_at := greatest(pgmem.clock(), old.recorded_at + interval '1 microsecond');
  end if;
  return new;
end;
$$;
comment on function pgmem.number_version() is 'Trigger: a changed state of a node gets the next number; record_version keeps the one before.';
