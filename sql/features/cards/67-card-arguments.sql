-- Card arguments
--
-- Every argument of a card verb passes through one of these checks before the store is read, so that a call that
-- cannot be right is refused the same way whatever the store holds. A path is relative to the repository and has one
-- spelling; the root is refused, because a scope that covers everything retrieves nothing in particular. A statement
-- is one line. A continuation is an opaque word that carries a digest of itself, so that an edited one is recognized.
--
-- Everything that does not fit raises ContractError (PM010) with a message that names the argument to send instead.
--
-- Locks: none.


create or replace function pgmem.clean_path(p_path text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_path text := replace(btrim(p_path, e' \t\r\n'), '\', '/');
begin
  if v_path ~ '^(/|~(/|$)|[A-Za-z]:)' or v_path ~ '(^|/)\.\.(/|$)' then
    raise exception using errcode = 'PM010', message = 'path must be repo-relative without traversal';
  end if;
  if v_path ~ '[\x01-\x1f\x7f]' or length(v_path) > 500 then
    raise exception using errcode = 'PM010', message = 'path must be printable and at most 500 characters long';
  end if;
  v_path := array_to_string(array(
    select segment from unnest(string_to_array(v_path, '/')) with ordinality as s(segment, place)
    where segment not in ('', '.') order by place), '/');
  if coalesce(v_path, '') = '' then
    raise exception using errcode = 'PM010',
      message = 'Engineering Memory requires a file, symbol, or declared intent scope. '
        'Project root is not a valid memory scope. Use status/search for project orientation.';
  end if;
  return v_path;
end;
$$;
comment on function pgmem.clean_path is
  'A path relative to the repository, in one spelling; the root, an absolute path and one with .. raise ContractError.';


create or replace function pgmem.clean_paths(p_paths text[]) returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_paths text[] := array(select distinct pgmem.clean_path(coalesce(path, '')) from unnest(p_paths) as path order by 1);
begin
  if cardinality(v_paths) > pgmem.setting_int('max_intent_paths') then
    raise exception using errcode = 'PM010',
      message = format('%s paths are too many for one scope; send at most %s.',
        cardinality(v_paths), pgmem.setting_int('max_intent_paths'));
  end if;
  return v_paths;
end;
$$;
comment on function pgmem.clean_paths is
  'The paths of a scope, cleaned, sorted and distinct, at most max_intent_paths of them.';


create or replace function pgmem.parent_paths(p_path text, p_separator text default '/') returns text[]
language sql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(array_to_string(parts[1 : n], p_separator) order by n), '{}')
  from (select string_to_array(p_path, p_separator) as parts) p, generate_series(1, cardinality(parts) - 1) as n;
$$;
comment on function pgmem.parent_paths is
  'Every path above a path, shortest first, without the root and the path itself.';


create or replace function pgmem.module_match(p_path text) returns text
language sql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
  select ':' || regexp_replace(p_path, '(/__init__)?\.py$', '');
$$;
comment on function pgmem.module_match is
  'The key under which the module of a file is looked up: a colon and the path without .py and __init__.';


create or replace function pgmem.require_word(p_word text, p_known text[], p_message text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
begin
  if p_word is null or not p_word = any (p_known) then
    raise exception using errcode = 'PM010',
      message = format(p_message, coalesce(left(p_word, 80), ''), array_to_string(p_known, ', '));
  end if;
  return p_word;
end;
$$;
comment on function pgmem.require_word is
  'A word of a fixed list; another word raises ContractError with a message that takes the word and the list.';


create or replace function pgmem.require_record_type(p_record_type text) returns text
language sql immutable set search_path = pgmem, pg_temp as $$
  select pgmem.require_word(p_record_type,
    array['module_role', 'contract_note', 'test_anchor', 'document_link', 'risk_note', 'public_surface',
      'contradiction_note', 'architecture_decision', 'change_rationale', 'protocol_rule', 'stale_marker', 'human_note'],
    'Invalid Engineering Memory record_type: ''%s''. Allowed values: %s.');
$$;
comment on function pgmem.require_record_type is 'A type of card; an unknown type raises ContractError.';


create or replace function pgmem.statement_warnings(p_length integer) returns text[]
language sql immutable set search_path = pgmem, pg_temp as $$
  select case
    when p_length > 500 then array[format('Statement length %s exceeds soft limit (500 chars); '
      'compress to one durable fact before record_candidate.', p_length)]
    when p_length > 300 then array[format('Statement length %s exceeds target (300 chars); '
      'prefer <= 300 chars for durable cards.', p_length)]
    else '{}' end;
$$;
comment on function pgmem.statement_warnings is
  'The warning about the length of a statement in characters, if any: the target is 300, the soft limit 500.';


create or replace function pgmem.check_statement(p_statement text, out statement text, out warnings text[])
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  statement := regexp_replace(p_statement, '[\x01-\x08\x0b-\x1f\x7f]', '', 'g');
  statement := regexp_replace(btrim(statement, e' \t\r\n'), '\s+', ' ', 'g');
  if coalesce(statement, '') = '' then
    raise exception using errcode = 'PM010', message = 'Candidate statement must not be empty.';
  end if;
  if length(statement) > pgmem.setting_int('max_statement_chars') then
    raise exception using errcode = 'PM010',
      message = 'Memory candidate is too long for a durable card. Compress it into one evidence-linked conclusion; '
        'store details in receipt/spec/docs.';
  end if;
  warnings := pgmem.statement_warnings(length(statement));
end;
$$;
comment on function pgmem.check_statement is
  'A statement on one line, with a warning if it is long; an empty or too long one raises ContractError.';


create or replace function pgmem.check_filters(p_filters jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_allowed constant text[] := array['types', 'statuses', 'confidences', 'match_mode'];
  v_unknown text;
begin
  if jsonb_typeof(coalesce(p_filters, '{}')) <> 'object' then
    raise exception using errcode = 'PM010', message = 'filters must be an object; send {"types": ["risk_note"]}.';
  end if;
  v_unknown := (select string_agg(key, ', ' order by key)
                from jsonb_object_keys(p_filters) key where not key = any (v_allowed));
  if v_unknown is not null then
    raise exception using errcode = 'PM010', message = format('Unknown memory filter key(s): %s. Allowed keys: %s.',
      v_unknown, array_to_string(v_allowed, ', '));
  end if;
  if exists (select from jsonb_each(p_filters) f where f.key <> 'match_mode' and jsonb_typeof(f.value) <> 'array') then
    raise exception using errcode = 'PM010', message = 'types, statuses and confidences must be lists of texts.';
  end if;
  perform pgmem.require_record_type(value) from jsonb_array_elements_text(p_filters -> 'types');
  perform pgmem.require_word(value,
    array['draft', 'active', 'historical', 'stale', 'superseded', 'rejected', 'archived'],
    'Unknown status ''%s''. Allowed: %s.') from jsonb_array_elements_text(p_filters -> 'statuses');
  perform pgmem.require_word(value, array['inferred', 'supported', 'verified'],
    'Unknown confidence ''%s''. Allowed: %s.') from jsonb_array_elements_text(p_filters -> 'confidences');
  if p_filters ? 'match_mode' then
    perform pgmem.require_word(p_filters ->> 'match_mode', array['any', 'all'],
      'Unknown match_mode ''%s''. Allowed: %s.');
  end if;
end;
$$;
comment on function pgmem.check_filters is
  'Check the filters of a query; an unknown key or word raises ContractError with the list of those allowed.';


create or replace function pgmem.read_cursor(p_cursor text) returns jsonb
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_bytes bytea;
begin
  v_bytes := decode(rpad(translate(p_cursor, '-_', '+/'), (length(p_cursor) + 3) / 4 * 4, '='), 'base64');
  if substr(v_bytes, 1, 12) <> substr(sha256(substr(v_bytes, 13)), 1, 12) or length(v_bytes) < 14 then
    raise invalid_parameter_value;
  end if;
  return convert_from(substr(v_bytes, 13), 'UTF8')::jsonb;
exception when data_exception then
  raise exception using errcode = 'PM010',
    message = 'cursor digest mismatch: this is not a continuation of get_relevant_memory, or it was edited. '
      'Start again without cursor.';
end;
$$;
comment on function pgmem.read_cursor is 'The content of a continuation; an edited one raises ContractError.';


create or replace function pgmem.write_cursor(p_content jsonb) returns text
language sql immutable strict set search_path = pgmem, pg_temp as $$
  select translate(encode(substr(sha256(content), 1, 12) || content, 'base64'), e'+/=\n', '-_')
  from convert_to(p_content::text, 'UTF8') as content;
$$;
comment on function pgmem.write_cursor is
  'A continuation: its content as one URL-safe word that begins with 12 bytes of its SHA-256.';


create or replace function pgmem.card_scope(p_caller pgmem.caller, p_project_id text) returns pgmem.scope_state
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(p_caller, p_project_id, null);
begin
  if not v_scope.project_exists then
    raise exception using errcode = 'PM010', message = concat_ws(' ', pgmem.scope_trouble(v_scope),
      case v_scope.scope_state when 'unresolved' then 'Send project_id.' else pgmem.next_step('blocked_scope') end);
  end if;
  return v_scope;
end;
$$;
comment on function pgmem.card_scope is 'The project of a card verb; an unknown one raises ContractError.';


create or replace function pgmem.name_list(
  p_names text[],
  p_length integer default 120,
  p_of integer default null
) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_list text := p_names[1];
  v_n    integer := 1;
  v_of   integer := coalesce(p_of, cardinality(p_names));
begin
  while v_n < cardinality(p_names) and length(v_list) + length(p_names[v_n + 1]) + 2 <= p_length loop
    v_n := v_n + 1;
    v_list := v_list || ', ' || p_names[v_n];
  end loop;
  if v_n < v_of then
    v_list := v_list || format(' and %s more', v_of - v_n);
  end if;
  return v_list;
end;
$$;
comment on function pgmem.name_list is
  'The first names of a list that fit into a length in characters, and how many more there are of a number in all.';


-- Not pgmem.content_hash: in code, case and punctuation distinguish two paths or two statements.
create or replace function pgmem.card_identity(p_record_type text, p_path text, p_content text) returns text
language sql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
  select encode(sha256(convert_to(p_record_type || e'\n' || p_path || e'\n'
    || regexp_replace(btrim(p_content), '\s+', ' ', 'g'), 'UTF8')), 'hex');
$$;
comment on function pgmem.card_identity is
  'The SHA-256 by which two cards are the same: of type, path and statement, or the facet of a card from a report.';
