create or replace function pgmem.dates_asked(p_query text) returns tstzrange[]
language sql stable strict parallel safe
set search_path = pgmem, pg_temp
as $$
  -- Days, months and years in words or ISO form; the narrowest that is named counts, each as the span it covers.
  with name(pattern) as (
    values ('(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)')
  ), told(kind, day) as (
    select 'day', pgmem.try_date(concat_ws(' ', m[1], m[2], m[3]))
    from name, regexp_matches(lower(p_query), '\m(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(' || pattern || '),?\s+(\d{4})\M', 'g') m
    union all
    select 'day', pgmem.try_date(concat_ws(' ', m[2], m[1], m[3]))
    from name, regexp_matches(lower(p_query), '\m(' || pattern || ')\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\M', 'g') m
    union all
    select 'day', pgmem.try_date(m[1]) from regexp_matches(p_query, '\m(\d{4}-\d{2}-\d{2})\M', 'g') m
    union all
    select 'month', pgmem.try_date(concat_ws(' ', '1', m[1], m[2]))
    from name, regexp_matches(lower(p_query), '\m(' || pattern || ')(?:\s+of)?,?\s+(\d{4})\M', 'g') m
    union all
    select 'year', pgmem.try_date(m[1] || '-01-01') from regexp_matches(p_query, '\m((?:19|20)\d{2})\M', 'g') m
  )
  select array_agg(tstzrange(day, day + case kind when 'day' then interval '1 day' when 'month' then interval '1 month' else interval '1 year' end))
  from told
  where day is not null
    and kind = (select t.kind from told t where t.day is not null order by array_position('{day,month,year}', t.kind) limit 1);
$$;
comment on function pgmem.dates_asked(text) is 'The spans of time a query names: days, else months, else years; null when none.';
