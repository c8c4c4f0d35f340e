-- Files of a memory directory
--
-- The files that a model keeps under /memories, for the memory tool of Anthropic (memory_20250818). A file is a
-- memory of the label File, named by its path: every edit is a version, a deleted file can be reverted, and
-- search_memory finds its text. A directory is the common beginning of paths of files, so it is never empty.
--
-- An edit reads and writes under the lock of the scope, so that of two edits at once none is lost. The errors have the
-- words of the tool, which its callers know.
--
-- Locks: the scope of files, before the reads that it guards; then the rows. Those of 48-items.


create or replace function pgmem.file_path(p_path text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_names text[] := '{}';
  v_name  text;
begin
  if p_path is null or p_path !~ '^/memories(/|$)' then
    raise exception using errcode = 'PM001', message = format('Path must start with /memories, got: %s', p_path);
  elsif p_path ~ '[\x01-\x1f\x7f]' then
    raise exception using errcode = 'PM001',
      message = format('Path %s holds a control character; send printable characters only.', p_path);
  end if;
  foreach v_name in array string_to_array(p_path, '/') loop
    if v_name = '..' then
      v_names := v_names[:cardinality(v_names) - 1];
    elsif v_name not in ('', '.') then
      v_names := v_names || v_name;
    end if;
    if v_name = '..' and v_names[1] is distinct from 'memories' then
      raise exception using errcode = 'PM001', message = format('Path %s would escape /memories directory', p_path);
    end if;
  end loop;
  v_name := '/' || array_to_string(v_names, '/');
  if length(v_name) > 500 or octet_length(v_name) > 1200 then
    raise exception using errcode = 'PM001',
      message = format('Path has %s characters; send at most 500.', length(v_name));
  end if;
  return v_name;
end;
$$;
comment on function pgmem.file_path is
  'A path below /memories without . and .. and repeated slashes; any other is refused.';


create or replace function pgmem.live_file(p_place pgmem.node, p_path text) returns pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select row(n.*)::pgmem.node from pgmem.stored_item(p_place, p_path) n
  where pgmem.is_live(n.status, n.valid_from, n.valid_to);
$$;
comment on function pgmem.live_file is 'The file at a path; null where there is none.';


create or replace function pgmem.write_file(
  p_place pgmem.node,
  p_caller pgmem.caller,
  p_path text,
  p_text text,
  p_keeps_part boolean default false
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_item_value(to_jsonb(p_text));
  return pgmem.write_item(p_place, p_caller, p_path, p_path, jsonb_build_object('path', p_path, 'text', p_text),
    p_keeps_part => p_keeps_part);
end;
$$;
comment on function pgmem.write_file is 'Store the text of a file. The caller holds the scope lock.';


select pgmem.declare_answer('memory_file', $$
A file; text is null where a directory is listed.

id uuid, path text, text text?, bytes integer, version integer, updated_at timestamptz
$$);

create or replace function pgmem.view_files(
  p_path text default '/memories',
  p_project_id text default null
) returns setof pgmem.memory_file
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_place pgmem.node := pgmem.item_place('File', p_project_id, pgmem.caller());
  v_path  text := pgmem.file_path(p_path);
  v_file  pgmem.node := pgmem.live_file(v_place, v_path);
begin
  if v_file.seq is not null then
    return next pgmem.file_answer(v_file);
    return;
  end if;
  return query
  select n.id, n.key::text, null::text, octet_length(n.props ->> 'text'), n.version, n.updated_at::timestamptz
  from pgmem.live_items(v_place, v_path || '/') n order by n.key collate "C";
  if not found and v_path <> '/memories' then
    raise exception using errcode = 'PM002',
      message = format('The path %s does not exist. Please provide a valid path.', p_path);
  end if;
end;
$$;
comment on function pgmem.view_files is $$
Read a file, with its text, or list the files below a directory, without their texts.

path: Where it is: /memories or below.
project_id: The project that the files belong to; unset: none.

MemoryNotFound: there is neither a file nor a directory, or the project does not exist.
InvalidArgument: the path is not below /memories.
$$;
select pgmem.declare_verb('view_files', p_rights => 'reader', p_effect => 'look', p_answer => 'list[MemoryFile]');


create or replace function pgmem.create_file(
  p_path text,
  p_text text,
  p_project_id text default null
) returns pgmem.memory_file
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
  v_path   text := pgmem.file_path(p_path);
  v_file   pgmem.node;
begin
  perform pgmem.lock_scope(v_place.scope_key);
  perform pgmem.require_free_path(v_place, v_path, format('File %s already exists', p_path));
  v_file := pgmem.write_file(v_place, v_caller, v_path, coalesce(p_text, ''));
  return pgmem.file_answer(v_file);
end;
$$;
comment on function pgmem.create_file is $$
Make a file with a text; its directories come with it.

path: Where it will be: below /memories.
text: All that it holds.
project_id: The project that it belongs to; unset: none.

InvalidArgument: the path is taken, leads through a file or is not below /memories, or the text is too long.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('create_file', p_rights => 'writer', p_effect => 'write', p_answer => 'MemoryFile');


create or replace function pgmem.require_free_path(p_place pgmem.node, p_path text, p_message text) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_names text[] := string_to_array(p_path, '/');
  v_part  text;
begin
  if p_path = '/memories' or (pgmem.live_file(p_place, p_path)).seq is not null
      or exists (select from pgmem.live_items(p_place, p_path || '/')) then
    raise exception using errcode = 'PM001', message = p_message;
  end if;
  for i in 3 .. cardinality(v_names) - 1 loop
    v_part := array_to_string(v_names[:i], '/');
    if (pgmem.live_file(p_place, v_part)).seq is not null then
      raise exception using errcode = 'PM001',
        message = format('The path %s is a file, so nothing can be below it.', v_part);
    end if;
  end loop;
end;
$$;
comment on function pgmem.require_free_path is
  'An error where a path is taken, by a file or a directory, or leads through a file.';


create or replace function pgmem.file_answer(p_file pgmem.node) returns pgmem.memory_file
language sql immutable set search_path = pgmem, pg_temp as $$
  select (p_file).id, (p_file).key::text, (p_file).props ->> 'text', octet_length((p_file).props ->> 'text'),
         (p_file).version, (p_file).updated_at;
$$;
comment on function pgmem.file_answer is 'A file as the verbs answer with it.';


create or replace function pgmem.require_file(p_place pgmem.node, p_path text) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_path text := pgmem.file_path(p_path);
  v_file pgmem.node := pgmem.live_file(p_place, v_path);
begin
  if v_file.seq is null and (v_path = '/memories' or exists (select from pgmem.live_items(p_place, v_path || '/'))) then
    raise exception using errcode = 'PM001', message = format('The path %s is not a file.', p_path);
  elsif v_file.seq is null then
    raise exception using errcode = 'PM002',
      message = format('The path %s does not exist. Please provide a valid path.', p_path);
  end if;
  return v_file;
end;
$$;
comment on function pgmem.require_file is 'The file at a path; an error where there is none.';


select pgmem.declare_answer('edited_file', $$
A file after an edit, and the line at which it was edited, from 1.

like memory_file
text text, line integer
$$);

create or replace function pgmem.replace_in_file(
  p_path text,
  p_old_str text,
  p_new_str text default '',
  p_project_id text default null
) returns pgmem.edited_file
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.edited_file;
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
  v_file   pgmem.node;
  v_text   text;
  v_places integer[];
begin
  perform pgmem.lock_scope(v_place.scope_key);
  v_file := pgmem.require_file(v_place, p_path);
  v_text := v_file.props ->> 'text';
  if coalesce(p_old_str, '') = '' then
    raise exception using errcode = 'PM001', message = 'old_str must not be empty; send the text to replace.';
  end if;
  v_places := pgmem.text_places(v_text, p_old_str);
  if v_places = '{}' then
    raise exception using errcode = 'PM001', message = format(
      'No replacement was performed, old_str `%s` did not appear verbatim in %s.', p_old_str, p_path);
  elsif cardinality(v_places) > 1 then
    raise exception using errcode = 'PM001', message = format('No replacement was performed. Multiple occurrences of '
      'old_str `%s` in lines: %s. Please ensure it is unique', p_old_str,
      (select string_agg(pgmem.line_at(v_text, p)::text, ', ' order by p) from unnest(v_places) p));
  end if;
  v_answer.line := pgmem.line_at(v_text, v_places[1]);
  v_file := pgmem.write_file(v_place, v_caller, v_file.key,
    left(v_text, v_places[1] - 1) || coalesce(p_new_str, '') || substr(v_text, v_places[1] + length(p_old_str)), true);
  select f.*, v_answer.line into v_answer from pgmem.file_answer(v_file) f;
  return v_answer;
end;
$$;
comment on function pgmem.replace_in_file is $$
Replace a text that a file holds exactly once; line is where it was.

The text before the edit becomes a version.

path: Where the file is.
old_str: The text to replace, as the file has it.
new_str: The text in its place; empty: none.
project_id: The project that the file belongs to; unset: none.

MemoryNotFound: no such file exists.
InvalidArgument: the text is not in the file, or more than once, or the path is a directory.
NotPermitted: the file was written by a more trusted source.
$$;
select pgmem.declare_verb('replace_in_file', p_rights => 'writer', p_effect => 'write', p_answer => 'EditedFile');


create or replace function pgmem.text_places(p_text text, p_part text) returns integer[]
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_places integer[] := '{}';
  v_place  integer := 0;
  v_next   integer;
begin
  -- A hundred places are enough to say that there are too many.
  while cardinality(v_places) < 100 loop
    v_next := strpos(substr(p_text, v_place + 1), p_part);
    exit when v_next = 0;
    v_place := v_place + v_next;
    v_places := v_places || v_place;
  end loop;
  return v_places;
end;
$$;
comment on function pgmem.text_places is 'Where a text holds another, counted from 1; the first hundred places.';


create or replace function pgmem.line_at(p_text text, p_place integer) returns integer
language sql immutable parallel safe
begin atomic
  select 1 + length(left(p_text, p_place - 1)) - length(replace(left(p_text, p_place - 1), chr(10), ''));
end;
comment on function pgmem.line_at is 'The number of the line that holds the character at a place.';


create or replace function pgmem.insert_in_file(
  p_path text,
  p_insert_line integer,
  p_insert_text text,
  p_project_id text default null
) returns pgmem.memory_file
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
  v_file   pgmem.node;
  v_text   text;
  v_lines  text[];
begin
  perform pgmem.lock_scope(v_place.scope_key);
  v_file := pgmem.require_file(v_place, p_path);
  v_text := v_file.props ->> 'text';
  v_lines := string_to_array(case when right(v_text, 1) = chr(10) then left(v_text, -1) else v_text end, chr(10));
  if p_insert_line is null or p_insert_line < 0 or p_insert_line > cardinality(v_lines) then
    raise exception using errcode = 'PM001', message = format('Invalid `insert_line` parameter: %s. '
      'It should be within the range [0, %s].', p_insert_line, cardinality(v_lines));
  end if;
  v_text := array_to_string(v_lines[:p_insert_line] || rtrim(coalesce(p_insert_text, ''), chr(10))
    || v_lines[p_insert_line + 1:], chr(10));
  v_file := pgmem.write_file(v_place, v_caller, v_file.key,
    case when right(v_text, 1) = chr(10) then v_text else v_text || chr(10) end, true);
  return pgmem.file_answer(v_file);
end;
$$;
comment on function pgmem.insert_in_file is $$
Insert a text after a line of a file. The text before it becomes a version.

path: Where the file is.
insert_line: The number of the line, from 1; 0: before the first.
insert_text: The lines to insert.
project_id: The project that the file belongs to; unset: none.

MemoryNotFound: no such file exists.
InvalidArgument: the file has no such line, or the path is a directory.
NotPermitted: the file was written by a more trusted source.
$$;
select pgmem.declare_verb('insert_in_file', p_rights => 'writer', p_effect => 'write', p_answer => 'MemoryFile');


create or replace function pgmem.files_at(p_place pgmem.node, p_path text) returns bigint[]
language sql stable set search_path = pgmem, pg_temp as $$
  select array(select f.seq from pgmem.live_file(p_place, p_path) f where f.seq is not null
               union all select n.seq from pgmem.live_items(p_place, p_path || '/') n);
$$;
comment on function pgmem.files_at is 'The file at a path, or the files below it.';


create or replace function pgmem.delete_files(p_path text, p_project_id text default null, out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
  v_path   text := pgmem.file_path(p_path);
begin
  if v_path = '/memories' then
    raise exception using errcode = 'PM001', message = 'Cannot delete the /memories directory itself';
  end if;
  perform pgmem.lock_scope(v_place.scope_key);
  deleted := pgmem.hide_items(pgmem.files_at(v_place, v_path), v_caller);
  if deleted = 0 then
    raise exception using errcode = 'PM002', message = format('The path %s does not exist', p_path);
  end if;
end;
$$;
comment on function pgmem.delete_files is $$
Forget a file, or all files below a directory; how many. revert brings each of them back.

path: Where the file or the directory is; not /memories itself.
project_id: The project that the files belong to; unset: none.

MemoryNotFound: there is neither a file nor a directory.
InvalidArgument: the path is /memories, or not below it.
NotPermitted: a file was written by a more trusted source.
$$;
select pgmem.declare_verb('delete_files', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


create or replace function pgmem.rename_files(
  p_old_path text,
  p_new_path text,
  p_project_id text default null,
  out renamed integer
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
  v_old    text := pgmem.file_path(p_old_path);
  v_new    text := pgmem.file_path(p_new_path);
  v_file   pgmem.node;
  v_path   text;
begin
  if v_old = '/memories' then
    raise exception using errcode = 'PM001', message = 'Cannot rename the /memories directory itself';
  end if;
  perform pgmem.lock_scope(v_place.scope_key);
  perform pgmem.require_free_path(v_place, v_new, format('The destination %s already exists', p_new_path));
  if starts_with(v_new, v_old || '/') then
    raise exception using errcode = 'PM001', message = format('%s lies below %s; send another destination.', p_new_path,
      p_old_path);
  end if;
  renamed := 0;
  for v_file in select n.* from pgmem.node n where n.seq = any (pgmem.files_at(v_place, v_old)) order by n.seq loop
    perform pgmem.require_item_rank(v_file, v_caller);
    v_path := pgmem.file_path(v_new || substr(v_file.key, length(v_old) + 1));
    -- A deleted file that had the path keeps its history and its id; its name is free.
    update pgmem.node n set key = null where n.seq = (pgmem.stored_item(v_place, v_path)).seq;
    v_file.key := v_path;
    v_file.title := v_path;
    v_file.props := v_file.props || jsonb_build_object('path', v_path);
    v_file := pgmem.update_node(v_file);
    perform pgmem.store_embedding(v_file);
    renamed := renamed + 1;
  end loop;
  if renamed = 0 then
    raise exception using errcode = 'PM002', message = format('The path %s does not exist', p_old_path);
  end if;
end;
$$;
comment on function pgmem.rename_files is $$
Give a file another path, or all files below a directory; how many. Their history goes with them.

old_path: Where the file or the directory is.
new_path: Where it will be; nothing is there yet.
project_id: The project that the files belong to; unset: none.

MemoryNotFound: there is neither a file nor a directory.
InvalidArgument: the destination is taken, lies below the source, or a path is not below /memories.
NotPermitted: a file was written by a more trusted source.
$$;
select pgmem.declare_verb('rename_files', p_rights => 'writer', p_effect => 'write', p_answer => 'int');


create or replace function pgmem.clear_files(p_project_id text default null, out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_place  pgmem.node := pgmem.item_place('File', p_project_id, v_caller);
begin
  perform pgmem.lock_scope(v_place.scope_key);
  deleted := pgmem.hide_items(pgmem.files_at(v_place, '/memories'), v_caller);
end;
$$;
comment on function pgmem.clear_files is $$
Forget all files of the caller; how many. revert brings each of them back.

project_id: The project that the files belong to; unset: none.

NotPermitted: a file was written by a more trusted source.
$$;
select pgmem.declare_verb('clear_files', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


create or replace function pgmem.revert_file(p_node pgmem.node, p_props jsonb) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if p_node.key is null then
    raise exception using errcode = 'PM001',
      message = format('Another file has the path %s now; delete or rename that one first.', p_node.title);
  end if;
  p_node.title := p_node.key;
  p_node.props := p_props || jsonb_build_object('path', p_node.key);
  return p_node;
end;
$$;
comment on function pgmem.revert_file is 'A file with an earlier text: it keeps the path that it has.';


select pgmem.declare_label('File', p_kept_as_sent => true, p_exact => true, p_reverted_by => 'revert_file');
