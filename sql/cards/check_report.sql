create or replace function pgmem.check_report(p_report jsonb) returns void
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
begin
  if jsonb_typeof(p_report) is distinct from 'object' or jsonb_typeof(p_report -> 'modules') is distinct from 'array'
      or jsonb_typeof(coalesce(p_report -> 'tests', '[]')) <> 'array' or jsonb_typeof(coalesce(p_report -> 'documents', '[]')) <> 'array'
      or jsonb_typeof(coalesce(p_report -> 'files', '{}')) <> 'object' then
    raise exception using errcode = 'PM010', message = 'refresh_from_run requires a report: {"modules": [{"path", "module", "doc", "imports": [paths], '
      '"exports": [names], "changes", "last_commit"}], "tests": [{"path", "anchors": [paths]}], "documents": [{"path", "title", "names": [paths]}], '
      '"files": {path: digest}, "complete": false}. Only modules and their path are required. pgmem cards init makes one from a repository.';
  end if;
  if coalesce(p_report ->> 'schema', 'pgmem.repository/1') <> 'pgmem.repository/1' then
    raise exception using errcode = 'PM010', message = format('Report schema %s is not known; send pgmem.repository/1.', left(p_report ->> 'schema', 80));
  end if;
  if exists (select from jsonb_array_elements((p_report -> 'modules') || coalesce(p_report -> 'tests', '[]') || coalesce(p_report -> 'documents', '[]')) e
             where jsonb_typeof(e) <> 'object' or jsonb_typeof(e -> 'path') is distinct from 'string'
               or jsonb_typeof(coalesce(e -> 'imports', e -> 'anchors', e -> 'names', '[]')) not in ('array', 'null')
               or jsonb_typeof(coalesce(e -> 'exports', '[]')) not in ('array', 'null')) then
    raise exception using errcode = 'PM010', message = 'Every module, test and document of a report is an object with path; imports, exports, anchors and names are lists.';
  end if;
  perform pgmem.clean_path(e ->> 'path')
  from jsonb_array_elements((p_report -> 'modules') || coalesce(p_report -> 'tests', '[]') || coalesce(p_report -> 'documents', '[]')) e;
  perform pgmem.clean_path(path) from jsonb_object_keys(coalesce(p_report -> 'files', '{}')) path;
end;
$$;
comment on function pgmem.check_report(jsonb) is 'A report that can be read, or a contract error that describes one.';
