create or replace function pgmem.is_true_at(p_status text, p_valid_from timestamptz, p_valid_to timestamptz, p_created_at timestamptz,
  p_as_of timestamptz) returns boolean
language sql stable parallel safe
begin atomic
  -- With a date, the period alone decides: what was superseded since was true then. What was forgotten stays hidden.
  select case when p_as_of is null
    then p_status in ('active', 'approved') and (p_valid_from is null or p_valid_from <= pgmem.now())
      and (p_valid_to is null or p_valid_to >= pgmem.now())
    else p_status in ('active', 'approved', 'superseded', 'expired')
      and pgmem.valid_at(coalesce(p_valid_from, p_created_at), p_valid_to, p_as_of) end;
end;
comment on function pgmem.is_true_at(text, timestamptz, timestamptz, timestamptz, timestamptz) is
  'Whether a state is shown: live now, or, with a date, true at that date by valid_from and valid_to alone.';
