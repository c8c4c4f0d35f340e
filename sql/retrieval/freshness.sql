create or replace function pgmem.freshness(p_at timestamptz) returns text
language sql stable parallel safe
begin atomic
  select case when p_at >= pgmem.now() - make_interval(days => pgmem.setting_int('freshness_recent_days')) then 'current'
              when p_at >= pgmem.now() - make_interval(days => pgmem.setting_int('freshness_stale_days')) then 'recent'
              else 'stale' end;
end;
comment on function pgmem.freshness(timestamptz) is 'current (7 days), recent (30 days) or stale, by age; the days are settings.';
