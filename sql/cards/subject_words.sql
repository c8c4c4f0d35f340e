create or replace function pgmem.subject_words(p_subjects jsonb) returns jsonb
language sql immutable
set search_path = pgmem, pg_temp
as $$
  -- Full-text search takes pkg/mod.py for one word; its parts are put beside it.
  select jsonb_build_object(
    'paths', coalesce(jsonb_agg(key order by key) filter (where match !~ '^[:#]'), '[]')
      || coalesce(jsonb_agg(words order by words) filter (where match !~ '^[:#]'), '[]'),
    'symbols', coalesce(jsonb_agg(key order by key) filter (where match ~ '^[:#]'), '[]')
      || coalesce(jsonb_agg(words order by words) filter (where match ~ '^#'), '[]'))
  from (select distinct s.key, s.match, regexp_replace(s.key, '[^[:alnum:]]+', ' ', 'g') as words
        from jsonb_to_recordset(p_subjects) as s(key text, match text)) named;
$$;
comment on function pgmem.subject_words(jsonb) is 'The names of a card''s subjects as its search text holds them: paths and symbols.';
