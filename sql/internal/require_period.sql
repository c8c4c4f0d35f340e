create or replace function pgmem.require_period(p_valid_from timestamptz, p_valid_to timestamptz) returns void
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
begin
  if p_valid_to < p_valid_from then
    raise exception using errcode = 'PM001', message = format('valid_to (%s) lies before valid_from (%s); send a period that is not empty.',
      p_valid_to, p_valid_from);
  end if;
end;
$$;
comment on function pgmem.require_period(timestamptz, timestamptz) is 'An error where a period ends before it begins.';
