create or replace function pgmem.clean_path(p_path text) returns text
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
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
    raise exception using errcode = 'PM010', message = 'Engineering Memory requires a file, symbol, or declared intent scope. '
      'Project root is not a valid memory scope. Use status/search for project orientation.';
  end if;
  return v_path;
end;
$$;
comment on function pgmem.clean_path(text) is
  'A path relative to the repository, in one spelling; the root, an absolute path and one with .. are contract errors.';
