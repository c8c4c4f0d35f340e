create or replace function pgmem.is_searched(p_status text, p_valid_from timestamptz, p_valid_to timestamptz, p_as_of timestamptz)
returns boolean
language sql stable parallel safe
begin atomic
  select case when p_as_of is null
    then p_status in ('active', 'approved') and (p_valid_to is null or p_valid_to >= pgmem.now()) and (p_valid_from is null or p_valid_from <= pgmem.now())
    else p_status in ('active', 'approved', 'superseded', 'expired') and (p_valid_from is null or p_valid_from <= p_as_of)
      and (p_valid_to is null or p_valid_to >= p_as_of) end;
end;
comment on function pgmem.is_searched(text, timestamptz, timestamptz, timestamptz) is
  'Whether a memory is searched: live now, or, with a date, true at that date whatever superseded it since.';
