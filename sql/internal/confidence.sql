create or replace function pgmem.confidence(p_initial float8, p_updated_at timestamptz) returns float8
language sql stable parallel safe
begin atomic
  select case when pgmem.now() - p_updated_at <= make_interval(days => pgmem.setting_int('decay_max_age_days')) then p_initial
    else p_initial * exp(-pgmem.setting_float('decay_rate') * (extract(epoch from pgmem.now() - p_updated_at) / 86400)::float8) end;
end;
comment on function pgmem.confidence(float8, timestamptz) is
  'Confidence at this moment: initial * exp(-decay_rate * days since update) once older than decay_max_age_days. Computed, never stored.';
