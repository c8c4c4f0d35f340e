create or replace function pgmem.check_filters(p_filters jsonb) returns void
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_allowed constant text[] := array['types', 'statuses', 'confidences', 'match_mode'];
  v_unknown text;
begin
  if jsonb_typeof(coalesce(p_filters, '{}')) <> 'object' then
    raise exception using errcode = 'PM010', message = 'filters must be an object; send {"types": ["risk_note"]}.';
  end if;
  v_unknown := (select string_agg(key, ', ' order by key) from jsonb_object_keys(p_filters) key where not key = any (v_allowed));
  if v_unknown is not null then
    raise exception using errcode = 'PM010', message = format('Unknown memory filter key(s): %s. Allowed keys: %s.', v_unknown, array_to_string(v_allowed, ', '));
  end if;
  if exists (select from jsonb_each(p_filters) f where f.key <> 'match_mode' and jsonb_typeof(f.value) <> 'array') then
    raise exception using errcode = 'PM010', message = 'types, statuses and confidences are lists of words.';
  end if;
  perform pgmem.require_record_type(value) from jsonb_array_elements_text(p_filters -> 'types');
  perform pgmem.require_word(value, array['draft', 'active', 'historical', 'stale', 'superseded', 'rejected', 'archived'],
    'Unknown status ''%s''. Allowed: %s.') from jsonb_array_elements_text(p_filters -> 'statuses');
  perform pgmem.require_word(value, array['inferred', 'supported', 'verified'], 'Unknown confidence ''%s''. Allowed: %s.')
  from jsonb_array_elements_text(p_filters -> 'confidences');
  if p_filters ? 'match_mode' then
    perform pgmem.require_word(p_filters ->> 'match_mode', array['any', 'all'], 'Unknown match_mode ''%s''. Allowed: %s.');
  end if;
end;
$$;
comment on function pgmem.check_filters(jsonb) is 'Filters of a query: an unknown key or word is a contract error that lists what is allowed.';
