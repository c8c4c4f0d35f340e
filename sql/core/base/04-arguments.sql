-- Checks of arguments
--
-- Texts, names and properties are cleaned before anything else looks at them: control characters go, lengths and depths
-- are bounded by settings, and a value that cannot be taken is refused with a message that says what to send instead.
-- Choices and bounds of single arguments are domains (00-verbs); these functions serve arguments in jsonb too.
--
-- Locks: none.


create or replace function pgmem.is_uuid(p_text text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_text ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
end;
comment on function pgmem.is_uuid is 'Whether a text is a UUID as PostgreSQL writes it, in either case.';


-- Joiners (U+200C, U+200D) belong to Persian and Indic names and to emoji; between Latin letters they only hide.
create or replace function pgmem.hidden_character(p_text text) returns text
language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(p_text) = length(p_text) then
    return null;
  end if;
  return 'U+' || lpad(upper(to_hex(ascii(coalesce(
    substring(p_text from '[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f'
      '\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]'),
    substring(p_text from '(?:^|[\u0020-\u024f])([\u200c\u200d])'),
    substring(p_text from '([\u200c\u200d])(?:$|[\u0020-\u024f])'))))), 4, '0');
end;
$$;
comment on function pgmem.hidden_character is
  'The first character of a name that is invisible or changes the direction of writing, as U+202E; null: none.';


create or replace function pgmem.clean_key(p_text text, p_name text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_key text := normalize(btrim(p_text), NFC);
begin
  if v_key is null then
    return null;
  end if;
  if v_key ~ '[\x01-\x1f\x7f-\x9f]' then
    raise exception using errcode = 'PM001',
      message = format('%s holds a control character; send printable characters only.', p_name);
  elsif pgmem.hidden_character(v_key) is not null then
    raise exception using errcode = 'PM001', message = format(
      '%s holds %s, a character that is invisible or changes the direction of writing; send the name without it.',
      p_name, pgmem.hidden_character(v_key));
  end if;
  if length(v_key) > 100 and length(v_key) > pgmem.setting_int('max_key_chars') then
    raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s.',
      p_name, length(v_key), pgmem.setting_int('max_key_chars'));
  end if;
  return nullif(v_key, '');
end;
$$;
comment on function pgmem.clean_key is
  'A key or name, composed (NFC), without outer blanks; null when empty; control and hidden characters are refused.';


create or replace function pgmem.require_key(p_text text, p_name text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_key text := pgmem.clean_key(p_text, p_name);
begin
  if v_key is null then
    raise exception using errcode = 'PM001', message = format('%s must not be empty; send a name.', p_name);
  end if;
  return v_key;
end;
$$;
comment on function pgmem.require_key is 'A key or name as clean_key returns it; an empty one is refused.';


create or replace function pgmem.clean_text(p_text text, p_name text, p_required boolean default false) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_text text := btrim(regexp_replace(p_text, '[\x01-\x08\x0b-\x1f\x7f]', '', 'g'), e' \t\n');
  v_setting text;
begin
  if octet_length(v_text) > length(v_text) and v_text is not nfc normalized then
    v_text := normalize(v_text, NFC);
  end if;
  if coalesce(v_text, '') = '' then
    if p_required then
      raise exception using errcode = 'PM001', message = format('%s must not be empty; send a text.', p_name);
    end if;
    return null;
  end if;
  -- No limit can be set below 100, so most texts need no look-up.
  if length(v_text) > 100 then
    -- A pasted text is a document.
    v_setting := case when p_name in ('content', 'fact', 'notes') then 'max_document_chars' else 'max_text_chars' end;
    if length(v_text) > pgmem.setting_int(v_setting) then
      raise exception using errcode = 'PM001', message = format('%s has %s characters; send at most %s (setting %s).',
        p_name, length(v_text), pgmem.setting_int(v_setting), v_setting);
    end if;
  end if;
  return v_text;
end;
$$;
comment on function pgmem.clean_text is
  'A text, composed (NFC), without outer blanks and control characters (tab, newline stay); null when nothing is left.';


create or replace function pgmem.require_count(p_count bigint, p_name text, p_setting text) returns void
language plpgsql stable as $$
begin
  -- No limit is below 100, so most need no look-up.
  if p_count > 100 and p_count > pgmem.setting_int(p_setting) then
    raise exception using errcode = 'PM001', message = format('%s has %s items; send at most %s (setting %s).',
      p_name, p_count, greatest(100, pgmem.setting_int(p_setting)), p_setting);
  end if;
end;
$$;
comment on function pgmem.require_count is
  'An error where an argument has more items than a setting allows; 100 are always allowed.';


-- The cost of a save grows with the whole of its arguments, not with the longest of its texts alone.
create or replace function pgmem.require_length(p_arguments jsonb) returns jsonb
language plpgsql stable as $$
begin
  -- pg_column_size is the cheaper bound from below: a character takes at most four bytes of it.
  if pg_column_size(p_arguments) > 100000 and length(p_arguments::text) > pgmem.setting_int('max_arguments_limit') then
    raise exception using errcode = 'PM001', message = format('The arguments have %s characters together; '
      'send at most %s (setting max_arguments_limit), or several memories.',
      length(p_arguments::text), pgmem.setting_int('max_arguments_limit'));
  end if;
  return p_arguments;
end;
$$;
comment on function pgmem.require_length is 'Arguments as they are; an error where they are too long together.';


create or replace function pgmem.require_objects(
  p_list jsonb,
  p_name text,
  p_example text,
  p_errcode text default 'PM001'
) returns jsonb
language plpgsql immutable set search_path = pgmem, pg_temp as $$
begin
  if jsonb_typeof(p_list) is distinct from 'array' or exists (
      select from jsonb_array_elements(case jsonb_typeof(p_list) when 'array' then p_list end) e
      where jsonb_typeof(e) <> 'object') then
    raise exception using errcode = p_errcode, message = format('%s must be a list of objects; send %s, not %s.',
      p_name, p_example, coalesce(pgmem.excerpt(p_list::text), 'null'));
  end if;
  return p_list;
end;
$$;
comment on function pgmem.require_objects is
  'A list of objects as it is; anything else is an error that names the argument and shows an example.';


create or replace function pgmem.clean_texts(p_list jsonb, p_name text, p_required boolean default false) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_texts jsonb := '[]';
begin
  if jsonb_typeof(p_list) <> 'null' then
    if jsonb_typeof(p_list) <> 'array'
        or exists (select from jsonb_array_elements(p_list) e where jsonb_typeof(e) <> 'string') then
      raise exception using errcode = 'PM001', message = format('%s must be a list of texts; send ["…", "…"].', p_name);
    end if;
    perform pgmem.require_count(jsonb_array_length(p_list), p_name, 'max_list_limit');
    v_texts := coalesce((select jsonb_agg(text order by place)
                         from (select pgmem.clean_text(element, p_name) as text, place
                               from jsonb_array_elements_text(p_list) with ordinality as e(element, place)) cleaned
                         where text is not null), '[]');
  end if;
  if p_required and v_texts = '[]' then
    raise exception using errcode = 'PM001', message = format('%s must not be empty; send at least one text.', p_name);
  end if;
  return v_texts;
end;
$$;
comment on function pgmem.clean_texts is
  'A list of texts, each cleaned, without empty ones; an empty list is refused if it is required.';


create or replace function pgmem.without_hidden(p_text text) returns text
language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(p_text) = length(p_text) then
    return p_text;
  end if;
  -- Separators of lines are blanks of a title.
  return regexp_replace(p_text,
    '[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f'
    '\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]'
    '|(^|[\u0020-\u024f])[\u200c\u200d]+', '\1', 'g');
end;
$$;
comment on function pgmem.without_hidden is
  'A title without characters that are invisible or change the direction of writing.';


create or replace function pgmem.clean_title(p_text text, p_name text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_title text := regexp_replace(btrim(pgmem.without_hidden(p_text), e' \t\n'),
    -- Every blank of Unicode: the meaning of \s alone depends on the database's locale.
    '[\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g');
begin
  -- The limit of titles before that of texts, whose message would not help.
  if length(v_title) > 100 and length(v_title) > pgmem.setting_int('max_title_chars') then
    raise exception using errcode = 'PM001',
      message = format('%s has %s characters; send at most %s and put the rest into the text.',
                       p_name, length(v_title), pgmem.setting_int('max_title_chars'));
  end if;
  return regexp_replace(pgmem.clean_text(v_title, p_name, true), '\s+', ' ', 'g');
end;
$$;
comment on function pgmem.clean_title is
  'A title: one line, composed (NFC), without hidden characters, not empty, at most max_title_chars characters.';


-- The server stamps provenance, tenant and times, so a caller cannot send them. Keys that begin with _ are pgmem's own.
create or replace function pgmem.clean_properties(p_properties jsonb, p_depth integer default 0) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_depth > 20 then
    raise exception using errcode = 'PM001', message = 'properties are nested more than 20 deep; send flat ones.';
  end if;
  case jsonb_typeof(p_properties)
    when 'string' then
      return to_jsonb(coalesce(pgmem.clean_text(p_properties #>> '{}', 'a property'), ''));
    when 'array' then
      return coalesce((select jsonb_agg(pgmem.clean_properties(e.value, p_depth + 1) order by e.place)
                       from jsonb_array_elements(p_properties) with ordinality as e(value, place)), '[]');
    when 'object' then
      return coalesce((
        select jsonb_object_agg(pgmem.clean_key(p.name, 'a property name'),
                                pgmem.clean_properties(p.value, p_depth + 1))
        from jsonb_each(p_properties) as p(name, value)
        where pgmem.clean_key(p.name, 'a property name') is not null and left(btrim(p.name), 1) <> '_'
          and (p_depth > 0 or btrim(p.name) <> all ('{source,source_agent,source_session,trust_level,org_id,user_id,'
            'agent_id,session_id,created_at,updated_at}'))), '{}');
    else
      return p_properties;
  end case;
end;
$$;
comment on function pgmem.clean_properties is
  'Properties that may be stored: reserved keys and _* dropped, texts cleaned, depth bounded.';


create or replace function pgmem.argument_number(p_arguments jsonb, p_name text, p_default float8) returns float8
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_value jsonb := p_arguments -> p_name;
begin
  if v_value is null or jsonb_typeof(v_value) = 'null' then
    return p_default;
  end if;
  if jsonb_typeof(v_value) <> 'number' or not (v_value #>> '{}')::numeric between 0 and 1 then
    raise exception using errcode = 'PM001', message = format('%s must be a number from 0 to 1.', p_name);
  end if;
  -- Rounded: a number too near to 0 for float8 is an error.
  return round((v_value #>> '{}')::numeric, 300)::float8;
end;
$$;
comment on function pgmem.argument_number is
  'A number from 0 to 1 from the arguments of a verb; the default when it is missing.';


-- The domain moment refuses the same times in its own words.
create or replace function pgmem.require_moment(p_time timestamptz, p_name text) returns timestamptz
language plpgsql immutable set search_path = pgmem, pg_temp as $$
begin
  if p_time not between '0001-01-02 00:00:00+00' and '9999-12-30 23:59:59.999999+00' then
    raise exception using errcode = 'PM001',
      message = format('%s is not a time that every program can read: send one from 0001-01-02 to 9999-12-30 in UTC%s.', p_name,
                       case when p_name in ('valid_from', 'valid_to') then ', or leave it out for an open end' else '' end);
  end if;
  return p_time;
end;
$$;
comment on function pgmem.require_moment is 'A time that the tables hold; one outside the years 1 to 9999 is an error that names it.';


create or replace function pgmem.argument_time(p_arguments jsonb, p_name text) returns timestamptz
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_text text := nullif(btrim(p_arguments ->> p_name), '');
  v_time timestamptz;
begin
  if v_text is null then
    return null;  -- before the block below, which opens a savepoint
  end if;
  begin
    -- PostgreSQL also reads words (infinity, now, yesterday), which name no fixed time.
    if v_text !~ '^\d{4}-\d{2}-\d{2}' then
      raise invalid_datetime_format;
    end if;
    v_time := v_text::timestamptz;
  exception when invalid_datetime_format or datetime_field_overflow or invalid_text_representation
    or invalid_parameter_value then
    raise exception using errcode = 'PM001',
      message = format('%s is not a valid date: send YYYY-MM-DD or an ISO 8601 time such as 2026-04-08T10:00:00Z.', p_name);
  end;
  return pgmem.require_moment(v_time, p_name);
end;
$$;
comment on function pgmem.argument_time is 'A point in time from the arguments of a verb; null when it is missing.';


create or replace function pgmem.require_period(p_valid_from timestamptz, p_valid_to timestamptz) returns void
language plpgsql immutable set search_path = pgmem, pg_temp as $$
begin
  if p_valid_to < p_valid_from then
    raise exception using errcode = 'PM001',
      message = format('valid_to (%s) lies before valid_from (%s); send a period that is not empty.',
                       p_valid_to, p_valid_from);
  end if;
end;
$$;
comment on function pgmem.require_period is 'An error where a period ends before it begins.';
