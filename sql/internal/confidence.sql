create or replace function pgmem.confidence(p_initial float8, p_updated_at timestamptz) returns float8
language sql stable parallel safe
begin atomic
  select pgmem.decayed(p_initial, p_updated_at, pgmem.now(), pgmem.setting_float('decay_rate'), pgmem.setting_int('decay_max_age_days'));
end;
comment on function pgmem.confidence(float8, timestamptz) is
  'Confidence at this moment, by the store''s decay_rate and decay_max_age_days. Computed, never stored.';
