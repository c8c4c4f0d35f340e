create or replace function pgmem.decayed(p_initial float8, p_updated_at timestamptz, p_at timestamptz, p_rate float8, p_max_age_days integer)
returns float8
language sql immutable parallel safe
begin atomic
  -- Below e^-700 a float8 underflows, which PostgreSQL makes an error.
  select case when p_at - p_updated_at <= interval '1 day' * p_max_age_days then p_initial
    else p_initial * exp(greatest(-700, -p_rate * extract(epoch from p_at - p_updated_at)::float8 / 86400)) end;
end;
comment on function pgmem.decayed(float8, timestamptz, timestamptz, float8, integer) is
  'initial * exp(-rate * days since update) for what was not updated for p_max_age_days; else the initial confidence.';
