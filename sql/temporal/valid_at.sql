-- No SET clause and no subquery, so that it is inlined where it is used.
create or replace function pgmem.valid_at(p_valid_from timestamptz, p_valid_to timestamptz, p_as_of timestamptz) returns boolean
language sql immutable parallel safe
begin atomic
  select (p_valid_from is null or p_valid_from <= p_as_of) and (p_valid_to is null or p_valid_to >= p_as_of);
end;
comment on function pgmem.valid_at(timestamptz, timestamptz, timestamptz) is
  'Whether a period holds a moment: valid_from <= d and (valid_to is null or valid_to >= d). A memory without valid_from counts '
  'from when it was told: pass coalesce(valid_from, created_at).';
