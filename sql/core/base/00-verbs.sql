-- Verbs and their arguments
--
-- A verb is a function that clients call. Beside it, in its chapter, `select pgmem.declare_verb(…)` says which role may
-- call it, what it does to the store and how agents see it. Everything else follows from these rows: the grants
-- (97-roles), which reads a replica may answer, the methods of `Memory` and the MCP tools (pgmem/_verbs.py and
-- pgmem/calls/methods.py, written by scripts/generate), and docs/reference. `select * from pgmem.verb` is the table of
-- contents of the schema.
--
-- The comment on a verb is its documentation everywhere. It begins with a sentence; lines `name: meaning` describe
-- arguments that are not described below, and lines `ErrorClass: when` say what it raises. The errors that all verbs of
-- its rights, with a limit or of a project raise are added here, and are part of the comment like the rest.
--
-- Locks: the rows of pgmem.verb, inside the upgrade's transaction.


create or replace function pgmem.declare_verb(
  p_name text,
  p_rights text,
  p_effect text,
  p_answer text default null,
  p_patience text default null,
  p_toolset text default null,
  p_description text default null,
  p_hidden text[] default '{}',
  p_reach text default null,
  p_least text[] default '{}',
  p_reads integer default 500,
  p_reads_all text default null
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_verb    regproc := 'pgmem.' || p_name;
  v_written text := obj_description(v_verb, 'pg_proc');
  v_comment text := v_written;
  v_error   text;
begin
  if p_reach is null and p_rights not in ('reader', 'writer') then
    raise exception '%: a verb of % needs p_reach: the cells that a front asks.', p_name, p_rights;
  end if;
  insert into pgmem.verb (place, chapter, name, summary, rights, effect, answer, patience, toolset, description, hidden,
                          reach, least, reads, reads_all)
  select coalesce(max(v.place), 0) + 1, current_setting('pgmem.chapter'), p_name,
         split_part(ltrim(v_comment, e'\n'), e'\n', 1),
         p_rights, p_effect, p_answer, p_patience, p_toolset, p_description, p_hidden, coalesce(p_reach, 'caller'),
         p_least, case when p_reads_all is null then p_reads end, p_reads_all
  from pgmem.verb v;
  foreach v_error in array
    case when (select p.prosrc from pg_proc p where p.oid = v_verb) ~ 'pgmem\.find_project\('
      then array['MemoryNotFound: no such project is visible here.'] else '{}' end
    || case when exists (select from pg_proc p where p.oid = v_verb and 'pgmem.row_limit'::regtype = any (p.proargtypes))
      then array['InvalidArgument: the limit is not from 1 to 1000.'] else '{}' end
    || case when p_rights = 'reviewer' then array['NotPermitted: the login is neither owner nor reviewer.']
      when p_rights = 'writer' and p_effect not in ('read', 'look') then array[
        'IdentityRequired: the store has tenants and the caller has no identity.',
        'WrongIsolation: the transaction is not READ COMMITTED.']
      else '{}' end
  loop
    if strpos(v_comment, e'\n' || split_part(v_error, ' ', 1)) = 0 then
      -- After a blank line, unless it goes on with the errors that the chapter names.
      v_comment := rtrim(v_comment, e'\n')
        || case when v_comment ~ '\n[A-Z][A-Za-z]+: [^\n]*(\n  [^\n]*)*\n*$' then e'\n' else e'\n\n' end
        || v_error || e'\n';
    end if;
  end loop;
  if v_comment <> v_written then
    execute format('comment on function %s is %L', v_verb::regprocedure, v_comment);
  end if;
end;
$$;
comment on function pgmem.declare_verb is $$
Declare a verb: its rights, its effect, the class of its answer, how long Python waits for it, and how agents see it.

p_reads is the most rows that a call reads in a store of 20 000 memories; p_reads_all says in its place why it reads more
the larger the store is. tests/core/sql/test_rows_read.py counts them.

p_reach says which cells a front asks (comment on pgmem.verb.reach); a verb of readers or writers asks the cell of its
caller.
$$;

create or replace function pgmem.declare_answer(p_name text, p_text text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_parts   text[] := string_to_array(btrim(p_text, e'\n'), e'\n\n');
  v_lines   text := v_parts[cardinality(v_parts)];
  v_head    text := substring(v_lines from '^(?:class|like) [^\n]*');
  v_kind    "char" := (select c.relkind from pg_class c where c.oid = to_regclass('pgmem.' || p_name));
  v_known   text[] := array(select format('%I %s', a.attname, format_type(a.atttypid, null)) from pg_attribute a
               where a.attrelid = to_regclass('pgmem.' || p_name) and a.attnum > 0 and not a.attisdropped
               order by a.attnum);
  v_columns text[];
  v_meaning text;
begin
  -- A line about an attribute of the type that this one is like says what is different here.
  select array_agg(format('%I %s', f.name, f.type) order by f.place),
         string_agg(format('comment on column pgmem.%I.%I is %L', p_name, f.name, f.meaning), ';')
  into v_columns, v_meaning
  from (
    select a.name, min(a.place) as place, (array_agg(a.type order by a.place))[1] as type,
           (array_agg(a.meaning order by a.place desc))[1] as meaning
    from (
      select b.attname::text as name, format_type(b.atttypid, null) as type, b.attnum::integer as place,
             col_description(b.attrelid, b.attnum) as meaning
      from pg_attribute b
      where b.attrelid = to_regclass('pgmem.' || substring(v_head from 'like (\w+)')) and b.attnum > 0
      union all
      select split_part(t.text, ' ', 1), pgmem.answer_type(substring(t.text from ' (.*?)(?:: |$)')),
             (1000 * l.place + t.place)::integer, regexp_replace(substring(t.text from ' (.*)'), '\n +', ' ', 'g')
      from regexp_split_to_table(substr(v_lines, coalesce(length(v_head) + 2, 1)), '\n(?! )') with ordinality
        as l(line, place)
      cross join lateral unnest(case when strpos(l.line, ': ') > 0 then array[l.line]
        else string_to_array(l.line, ', ') end) with ordinality as t(text, place)) a
    group by a.name) f;
  if v_kind is null then
    execute format('create type pgmem.%I as (%s)', p_name, array_to_string(v_columns, ', '));
  elsif v_kind = 'c' and v_columns[:cardinality(v_known)] <> v_known then
    raise exception 'The type % is (%) and is declared as (%): attributes are added at the end, and none is removed.',
      p_name, array_to_string(v_known, ', '), array_to_string(v_columns, ', ');
  elsif v_kind = 'c' and cardinality(v_columns) > cardinality(v_known) then
    execute format('alter type pgmem.%I %s', p_name,
      (select string_agg('add attribute ' || c, ', ') from unnest(v_columns[cardinality(v_known) + 1:]) c));
  end if;
  execute format('comment on %s pgmem.%I is %L', case v_kind when 'v' then 'view' else 'type' end, p_name,
    case when v_kind = 'v' then 'Internal: ' else '' end
      || array_to_string(v_parts[:cardinality(v_parts) - 1] || ('[' || v_head || ']'), e'\n\n'));
  execute v_meaning;
end;
$$;
comment on function pgmem.declare_answer is $$
Declare the type of an answer: make it or add what is new at its end, and comment on it and on its attributes.

The last paragraph of the text lists the attributes: `name type: meaning` on a line, or several `name type, name type`.
A type is one of SQL, or of what jsonb holds: another answer, with [] a list of them; object; json; {integer}, an object
whose values are integers; [text], a list of texts; rest, the properties that no other attribute has. a|b is a text that
is a or b. A ? says that it may be null, and = gives the value that the class in Python has without it. That class is
named as the type; a first line `class Name like type` names another class, and the type that this one begins with.
$$;


create or replace function pgmem.answer_type(p_declared text) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_base text := regexp_replace(p_declared, '(\?| = .*)$', '');
begin
  if v_base in ('text', 'integer', 'bigint', 'boolean', 'uuid', 'date') then
    return v_base;
  end if;
  return case when v_base ~ '^(text|integer|bigint|float8|boolean|uuid|date|timestamptz|former_\w+)(\[\])?$'
                then v_base::regtype::text
              when v_base ~ '\|' then 'text' else 'jsonb' end;
end;
$$;
comment on function pgmem.answer_type is 'The type in SQL of an attribute that declare_answer declares.';


delete from pgmem.verb;
delete from pgmem.argument;


-- The meanings of the arguments that several verbs take. An agent cannot send those that only a program sends; the
-- method in Python fills those that Python sends.

insert into pgmem.argument (name, sent_by, meaning) values
  ('project_id', 'anyone', 'Project name.'),
  ('scope', 'anyone', 'Its reach; global, project or focus.'),
  ('focus', 'anyone', 'Focus area.'),
  ('label', 'anyone', 'Such as Decision.'),
  ('labels', 'anyone', 'Only these kinds, such as Decision.'),
  ('key', 'anyone', 'Id, name or title; a title exactly.'),
  ('as_of', 'anyone', 'As true at that time.'),
  ('known_at', 'anyone', 'As recorded at that time.'),
  ('valid_from', 'anyone', 'When it begins to hold; unset: now.'),
  ('valid_to', 'anyone', 'When it ceases to hold; unset: an open end.'),
  ('limit', 'anyone', 'How many at most, 1 to 1000.'),
  ('offset', 'anyone', 'Where to continue: next_offset of the last page; 0 or more.'),
  ('save_id', 'anyone', 'A UUID; sent again, it saves once.'),
  ('governance_token', 'anyone', 'For scope global; a token of request_global_write_approval.'),
  ('by', 'anyone', 'The name of the person who decides.'),
  ('dry_run', 'anyone', 'Only report what it would do.'),
  ('share', 'program', 'Owner: private or org; unset: private where there is a user.'),
  ('embedding', 'python', 'The vector of the text, made by the caller.'),
  ('embedding_model', 'python', 'The model that made the vector.'),
  ('embedding_text_hash', 'python', 'SHA-256 of the text the vector was made from.');


-- Types of arguments
--
-- A domain for each. The generated methods and tools read choices and bounds from it, and a value that does not fit is
-- refused by name (PM001) before the verb begins. The checks run with the rights of the caller.


create or replace function pgmem.one_of(
  p_argument text,
  p_value text,
  p_choices text[],
  p_state text default 'PM001'
) returns boolean
language plpgsql immutable as $$
begin
  if p_value is null or p_value = any (p_choices) then
    return true;
  end if;
  raise exception using errcode = p_state, message = format('%s is %s or %s, not %s.',
    p_argument, array_to_string(p_choices[:cardinality(p_choices) - 1], ', '), p_choices[cardinality(p_choices)],
    left(p_value, 100));
end;
$$;
comment on function pgmem.one_of is 'True for a choice of an argument or null; any other value is refused by name.';


create or replace function pgmem.integer_between(
  p_argument text,
  p_value integer,
  p_least integer,
  p_most integer,
  p_state text default 'PM001'
) returns boolean
language plpgsql immutable as $$
begin
  if p_value between p_least and p_most then
    return true;
  end if;
  raise exception using errcode = p_state,
    message = format('%s is a whole number from %s to %s.', p_argument, p_least, p_most);
end;
$$;
comment on function pgmem.integer_between is
  'True for a whole number between bounds; any other, and null, is refused by name.';


create or replace function pgmem.number_between(
  p_argument text,
  p_value float8,
  p_least float8,
  p_most float8
) returns boolean
language plpgsql immutable as $$
begin
  if p_value is null or p_value between p_least and p_most then
    return true;
  end if;
  raise exception using errcode = 'PM001',
    message = format('%s must be a number from %s to %s.', p_argument, p_least, p_most);
end;
$$;
comment on function pgmem.number_between is 'True for a number between bounds or null; any other is refused by name.';


create or replace function pgmem.range_check(p_argument text, p_least integer, p_most integer) returns text
language sql immutable
begin atomic
  -- As choice_check: the call only words the error.
  select format(
    'case when value between %2$s and %3$s then true else pgmem.number_between(%1$L, value, %2$s, %3$s) end',
    p_argument, p_least, p_most);
end;
comment on function pgmem.range_check is 'The check of an argument that is a number between bounds, or null.';


create or replace function pgmem.declare_argument_type(
  p_name text,
  p_base text,
  p_check text default 'true'
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if to_regtype('pgmem.' || p_name) is null then
    execute format('create domain pgmem.%I as %s', p_name, p_base);
  end if;
  execute format('alter domain pgmem.%I drop constraint if exists fits', p_name);
  execute format('alter domain pgmem.%I add constraint fits check (%s)', p_name, p_check);
  execute format('comment on domain pgmem.%I is %L', p_name, 'The type of an argument: ' || p_check);
end;
$$;
comment on function pgmem.declare_argument_type is
  'Make or change the domain of an argument. No column has one, so an upgrade can replace it.';


create or replace function pgmem.choice_check(p_argument text, p_choices text[]) returns text
language sql immutable
begin atomic
  -- The comparison costs a tenth of the call, which only words the error.
  select format(
    'case when value is null or value = any (%2$L::text[]) then true else pgmem.one_of(%1$L, value, %2$L) end',
    p_argument, p_choices);
end;
comment on function pgmem.choice_check is 'The check of an argument that is one of some choices, or null.';


select pgmem.declare_argument_type('scope_name', 'text', pgmem.choice_check('scope', '{global,project,focus}'));
select pgmem.declare_argument_type('sharing', 'text', pgmem.choice_check('share', '{private,org}'));
select pgmem.declare_argument_type('fusion', 'text', pgmem.choice_check('fusion', '{linear,rrf}'));
select pgmem.declare_argument_type('review_outcome', 'text',
  $$pgmem.one_of('outcome', coalesce(value, 'nothing'), '{new,supersede,drop}')$$);
select pgmem.declare_argument_type('insight_action', 'text',
  $$pgmem.one_of('action', coalesce(value, 'nothing'), '{approve,dismiss}')$$);
select pgmem.declare_argument_type('detail_level', 'text',
  $$pgmem.one_of('detail_level', value, '{compact,full,summary,normal}', 'PM010')$$);
select pgmem.declare_argument_type('max_records', 'integer',
  $$pgmem.integer_between('max_records', value, 1, 100, 'PM010')$$);
select pgmem.declare_argument_type('max_results', 'integer',
  $$pgmem.integer_between('max_results', value, 1, 100, 'PM010')$$);
select pgmem.declare_argument_type('row_limit', 'integer', $$pgmem.integer_between('limit', value, 1, 1000)$$);
select pgmem.declare_argument_type('hops', 'integer', $$pgmem.integer_between('hops', value, 1, 5)$$);
select pgmem.declare_argument_type('confidence', 'float8', pgmem.range_check('confidence', 0, 1));
select pgmem.declare_argument_type('relevance', 'float8', pgmem.range_check('relevance_score', 0, 1));
select pgmem.declare_argument_type('min_relevance', 'float8', pgmem.range_check('min_relevance', 0, 1));
select pgmem.declare_argument_type('token_limit', 'integer',
  $$value is null or pgmem.integer_between('max_tokens', value, 100, 1000000)$$);
select pgmem.declare_argument_type('objects', 'jsonb');
select pgmem.declare_argument_type('related_entities', 'jsonb');
select pgmem.declare_argument_type('card_evidence_list', 'jsonb');

-- Arguments that the client of the last release sends and that of this one does not: programs go on while their store
-- is upgraded.
-- A former name comes after the argument that has its meaning now; that one is required, though SQL cannot declare it.
select pgmem.declare_argument_type('former_name_text', 'text');
select pgmem.declare_argument_type('former_name_uuid', 'uuid');
select pgmem.declare_argument_type('former_texts', 'text[]');
select pgmem.declare_argument_type('former_object', 'jsonb');
-- Types of columns that such a client reads.
select pgmem.declare_argument_type('former_text', 'text');
select pgmem.declare_argument_type('former_number', 'integer');
