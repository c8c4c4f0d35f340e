create or replace function pgmem.date_match(p_told timestamptz, p_asked tstzrange[]) returns float8
language sql stable parallel safe
set search_path = pgmem, pg_temp
as $$
  -- 1 within the span asked for, less by e for every week outside it: what is told is often told some days after.
  select coalesce(max(case when p_told <@ span then 1.0 else exp(-least(100, least(
      abs(extract(epoch from p_told - lower(span))), abs(extract(epoch from p_told - upper(span))))::float8 / 604800)) end), 0)
  from unnest(p_asked) as span;
$$;
comment on function pgmem.date_match(timestamptz, tstzrange[]) is 'How near a time is to the spans asked for: 1 inside, falling by e a week outside.';
