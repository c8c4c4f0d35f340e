-- Kinds of memory
--
-- A kind of memory is declared once, in a chapter of saving: declare_kind with its save verb and its fields.
-- From the declaration come, in this order:
--
--   the row of the registry of labels, and the rows of pgmem.field
--   <kind>_of, which makes a new node of the arguments of a save: it checks and cleans each of them, once
--   the save verb with its comment and its declaration
--   memory_hash, which says when a memory is a repeat; kind_words and approved_texts, which an approval compares
--   store, which brings a save to the function that stores its kind
--   the view of analysts (90-views), the shapes and options in Python (pgmem/_verbs.py, written by scripts/generate)
--
-- Typed arguments in SQL become jsonb once, because the record of a save, its retry, its review and a batch all store from
-- that form.
--
-- Locks: the rows of pgmem.label and pgmem.field, inside the upgrade's transaction.


delete from pgmem.field;


create or replace function pgmem.field(
  p_name text,
  p_type text,
  p_meaning text,
  p_required boolean default false,
  p_kept text default 'property',
  p_starts text default null,
  p_hidden boolean default false,
  p_approved boolean default true,
  p_option text default null,
  p_query text default null
) returns pgmem.field
language sql immutable
begin atomic
  select row('', 0, p_name, p_type, p_meaning, p_required, p_kept, p_starts, p_hidden,
             p_approved and p_type in ('text', 'texts', 'title', 'key', 'related_entities'), p_option, p_query)::pgmem.field;
end;
comment on function pgmem.field is $$
A field of a kind of memory, for declare_kind.

The type is text, texts, title, key, date, time, or a type of arguments in this schema; a field that is kept as view is
only a column of the view. Texts that start with null are left out where none are sent.
$$;


create or replace function pgmem.snake(p_label text) returns text
language sql immutable parallel safe
begin atomic
  select lower(regexp_replace(p_label, '(?<=[a-z0-9])(?=[A-Z])', '_', 'g'));
end;
comment on function pgmem.snake is 'The name of a kind in names of functions and views: EntityFact is entity_fact.';


create or replace function pgmem.declare_kind(
  p_label text,
  p_verb text,
  p_comment text,
  p_description text,
  p_fields pgmem.field[],
  p_searched text[],
  p_titled_by text[],
  p_repeats text[] default '{}',
  p_order text[] default '{}',
  p_store text default 'store_node',
  p_opens_project boolean default false
) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_key   text := (select f.name from unnest(p_fields) f where f.kept = 'key');
  v_order text[];
begin
  insert into pgmem.label (name, key_field, title_field, text_fields, dedup, verb, vocabulary, opens_project, repeats,
                           stored_by)
  values (p_label, v_key, p_titled_by[1], p_searched,
    case when v_key is not null then 'key' when p_repeats = '{}' then 'none'
      when p_titled_by[1] = (select f.name from unnest(p_fields) f where f.kept = 'title') then 'hash_jaccard'
      else 'hash' end,
    p_verb, 'graphbase', p_opens_project, p_repeats, p_store)
  on conflict (name) do update set key_field = excluded.key_field, title_field = excluded.title_field,
    text_fields = excluded.text_fields, dedup = excluded.dedup, verb = excluded.verb,
    opens_project = excluded.opens_project, repeats = excluded.repeats, stored_by = excluded.stored_by;
  p_fields := p_fields || array[
    pgmem.field('citation', 'texts', 'Sources; ids, URLs, path:lines@commit, tickets.', p_starts => 'null',
      p_hidden => p_label not in ('Decision', 'Context')),
    pgmem.field('valid_from', 'time', 'Since when; unset: now.', p_kept => 'valid_from',
      p_option => 'from', p_hidden => p_opens_project),
    pgmem.field('valid_to', 'time', 'Until when; unset: an open end.', p_kept => 'valid_to', p_option => 'to',
      p_hidden => p_opens_project)];
  insert into pgmem.field
  select p_label, f.place, f.name, f.type, f.meaning, f.required, f.kept, f.starts, f.hidden, f.approved, f.option,
         f.query
  from unnest(p_fields) with ordinality
    as f(label, nothing, name, type, meaning, required, kept, starts, hidden, approved, option, query, place);
  -- Arguments that the order does not name come last.
  v_order := array(
    select name from (
      select o.name, 0 as part, o.place from unnest(p_order) with ordinality as o(name, place)
      union all
      select f.name, case when f.required then 1 else 3 end, f.place from pgmem.field f
      where f.label = p_label and f.kept <> 'view'
      union all
      select c.name, case c.name when 'project_id' then 2 else 4 end, c.place
      from unnest('{project_id,scope,focus,governance_token,save_id,share}'::text[]) with ordinality as c(name, place)
    ) a group by name order by min(part), min(place) filter (where part = 0), min(place));
  perform pgmem.make_constructor(p_label, p_titled_by);
  perform pgmem.make_save_verb(p_label, p_verb, p_comment, v_order);
  perform pgmem.declare_verb(p_verb, p_rights => 'writer', p_effect => case when p_repeats = '{}' and v_key is null
      then 'write' else 'repeat' end, p_answer => 'SaveResult', p_toolset => 'core', p_description => p_description,
    p_hidden => array(select f.name from pgmem.field f where f.label = p_label and f.hidden order by f.place));
  perform pgmem.make_hash();
  perform pgmem.make_store();
  perform pgmem.make_approval();
end;
$$;
comment on function pgmem.declare_kind is $$
Declare a kind of memory with its save verb.

p_searched are the fields that are searched, in the order in which they are embedded; p_titled_by those of which the
first that is sent becomes the title; p_repeats those by which a repeat is known: a memory that has them is not stored
again. p_order is the order of the arguments of the verb. p_store is the function that stores it.
$$;


create or replace function pgmem.source_of(p_arguments jsonb) returns jsonb
language sql immutable parallel safe
begin atomic
  select jsonb_strip_nulls(jsonb_build_object('quote', p_arguments -> 'quote', 'turn', p_arguments -> 'turn'));
end;
comment on function pgmem.source_of is
  'The quote and the turn of an extracted memory, as its properties have them; empty for any other.';


create or replace function pgmem.make_constructor(p_label text, p_titled_by text[]) returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
declare
  v_name  text := pgmem.snake(p_label);
  v_clean text;
  v_title text;
begin
  select string_agg(format('%L, %s', f.name, c.cleaned), e',\n    ' order by f.place) filter (where f.kept = 'property'),
         case when bool_or(f.kept = 'title') then min(c.cleaned) filter (where f.kept = 'title')
           when bool_or(f.kept = 'key') then 'v_node.key'
           else format('pgmem.excerpt(coalesce(%s))', (
             select string_agg(format('v_props ->> %L', t.name), ', ' order by t.place)
             from unnest(p_titled_by) with ordinality as t(name, place))) end
  into v_clean, v_title
  from pgmem.field f cross join lateral (select pgmem.cleaning(f)) as c(cleaned)
  where f.label = p_label;
  execute format($sql$
create or replace function pgmem.%1$I(
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql as $body$
declare
  v_node  pgmem.node;
  v_title text%7$s;
  v_key   text%8$s;
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    %2$s));
begin
  v_node := pgmem.place_node(%3$L, p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := %4$s;
  v_node.props := v_props%5$s || pgmem.source_of(p_arguments);
%6$s  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash(%3$L, v_node.title, v_node.props);
  return v_node;
end;
$body$ $sql$, v_name || '_of', v_clean, p_label,
    case when exists (select from pgmem.field f where f.label = p_label and f.kept = 'title') then 'v_title' else v_title end,
    (select format(' || jsonb_build_object(%L, v_key)', f.name) from pgmem.field f
     where f.label = p_label and f.kept = 'key'),
    coalesce((select string_agg(format(e'  v_node.%I := %s;\n',
                case f.kept when 'confidence' then 'initial_confidence' else f.kept end, pgmem.cleaning(f)), '')
              from pgmem.field f where f.label = p_label and f.kept in ('confidence', 'valid_from', 'valid_to')), ''),
    (select ' := ' || pgmem.cleaning(f) from pgmem.field f where f.label = p_label and f.kept = 'title'),
    (select ' := ' || pgmem.cleaning(f) from pgmem.field f where f.label = p_label and f.kept = 'key'));
  execute format('comment on function pgmem.%I is %L', v_name || '_of',
    format('A new %s with the arguments of a save, each checked and cleaned.', p_label));
end;
$make$;
comment on function pgmem.make_constructor is 'Make the function that makes a new node of a kind.';


create or replace function pgmem.cleaning(p_field pgmem.field) returns text
language sql stable set search_path = pgmem, pg_temp as $$
  -- Most saves leave most fields out, and a call takes longer than to look.
  select case when not (p_field).required and case (p_field).type when 'text' then true
      when 'texts' then (p_field).starts = 'null' when 'time' then (p_field).starts is null end
    then format('case when p_arguments ? %L then %s end', (p_field).name, cleaned) else cleaned end
  from (select case (p_field).type
    when 'title' then format('pgmem.clean_title(p_arguments ->> %1$L, %1$L)', (p_field).name)
    when 'key' then format('pgmem.require_key(p_arguments ->> %1$L, %1$L)', (p_field).name)
    when 'text' then format('pgmem.clean_text(p_arguments ->> %1$L, %1$L, %2$s)', (p_field).name, (p_field).required::text)
    when 'texts' then format(case (p_field).starts when 'null' then 'nullif(%s, ''[]'')' else '%s' end,
      format('pgmem.clean_texts(p_arguments -> %1$L, %1$L, %2$s)', (p_field).name, (p_field).required::text))
    when 'date' then format('%s::date', pgmem.time_of_field(p_field))
    when 'time' then pgmem.time_of_field(p_field)
    else format('pgmem.argument_number(p_arguments, %L, %s)', (p_field).name, coalesce((p_field).starts, 'null')) end as cleaned) c;
$$;
comment on function pgmem.cleaning is 'The expression that checks and cleans a field of the arguments of a save.';


create or replace function pgmem.time_of_field(p_field pgmem.field) returns text
language sql immutable
begin atomic
  select case when (p_field).starts is null then format('pgmem.argument_time(p_arguments, %L)', (p_field).name)
    else format('coalesce(pgmem.argument_time(p_arguments, %L), p_caller.made_at, pgmem.now())', (p_field).name) end;
end;
comment on function pgmem.time_of_field is
  'The expression that reads a point in time; one that starts with a value is the time of the save where none is sent.';


create or replace function pgmem.make_save_verb(p_label text, p_verb text, p_comment text, p_order text[]) returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
declare
  v_former  regprocedure;
  v_takes   text;
  v_passes  text;
  v_types   text;
  v_names   text[];
begin
  select string_agg(format('p_%s %s%s', o.name, a.type, ' default ' || a.starts), e',\n  ' order by o.place),
         string_agg(format('%L, p_%s', o.name, o.name), ', ' order by o.place)
           filter (where o.name not in ('governance_token', 'save_id')),
         string_agg(a.type, ', ' order by o.place),
         array_agg('p_' || o.name order by o.place) || '{p_embedding,p_embedding_model,p_embedding_text_hash}'::text[]
  into v_takes, v_passes, v_types, v_names
  from unnest(p_order) with ordinality as o(name, place)
  join (
    select f.name,
           case f.type when 'texts' then 'text[]' when 'time' then 'timestamptz' when 'date' then 'date'
             when 'text' then 'text' when 'title' then 'text' when 'key' then 'text' else 'pgmem.' || f.type end,
           case when f.required then null when f.type = 'texts' then coalesce(f.starts, '''{}''')
             when f.type in ('text', 'title', 'key', 'time', 'date') then 'null' else coalesce(f.starts, 'null') end
    from pgmem.field f where f.label = p_label
    union all
    values ('project_id', 'text', null), ('scope', 'pgmem.scope_name', '''project'''), ('focus', 'text', 'null'),
      ('governance_token', 'text', 'null'), ('save_id', 'uuid', 'null'), ('share', 'pgmem.sharing', 'null')
  ) as a(name, type, starts) on a.name = o.name;
  v_takes := v_takes || e',\n  p_embedding real[] default null,\n  p_embedding_model text default null,\n'
    || '  p_embedding_text_hash text default null';
  -- With arguments of other types it would be a second function beside the former one; other names are refused.
  for v_former in select p.oid from pg_proc p
      where p.pronamespace = 'pgmem'::regnamespace and p.proname = p_verb
        and (p.oid is distinct from to_regprocedure(format('pgmem.%I(%s, real[], text, text)', p_verb, v_types))
             or p.proargnames is distinct from v_names) loop
    execute 'drop function ' || v_former;
  end loop;
  execute format($sql$
create or replace function pgmem.%1$I(
  %2$s
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $body$
begin
  return pgmem.run_save(%1$L, jsonb_strip_nulls(jsonb_build_object(
    %3$s)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$body$ $sql$, p_verb, v_takes, v_passes);
  execute format('comment on function pgmem.%I is %L', p_verb, (
    select format(e'\n%s\n\n%s\n\nInvalidArgument: %s is empty, a text is too long, or a value cannot be read.\n'
                  'SaveIdReused: the save_id belongs to a save with other arguments.\n', btrim(p_comment, e'\n'),
      string_agg(format('%s: %s', f.name, f.meaning), e'\n' order by array_position(p_order, f.name)),
      string_agg(f.name, ' or ' order by f.place) filter (where f.required))
    from pgmem.field f where f.label = p_label and f.kept <> 'view'));
end;
$make$;
comment on function pgmem.make_save_verb is 'Make the save verb of a kind, with its comment.';


create or replace function pgmem.make_store() returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
begin
  execute format($sql$
create or replace function pgmem.store(
  p_verb text,
  p_arguments jsonb,
  p_scope pgmem.scope_state,
  p_caller pgmem.caller,
  p_embedding pgmem.given_embedding default null,
  p_review text default null,
  p_superseded_id uuid default null
) returns pgmem.save_result
language plpgsql as $body$
declare
  v_steers text;
  v_result pgmem.save_result;
begin
  if not p_scope.write_permitted then
    perform pgmem.refuse('blocked_scope', pgmem.scope_trouble(p_scope), pgmem.blocked_step(p_scope));
  end if;
  v_steers := case when p_review is null then pgmem.steers(p_arguments, p_caller) end;
  if v_steers is not null then
    perform pgmem.refuse('failed', format('The text steers agents (%%s): a person decides whether it is stored.', v_steers),
      pgmem.review_step(), 'manual_review');
  end if;
  case p_verb%s
  end case;
  if p_caller.session_id is not null then
    perform pgmem.link_session(p_caller, v_result.artifact_id);
  end if;
  return v_result;
end;
$body$ $sql$, (
    select string_agg(format(e'\n    when %L then v_result := pgmem.%I(pgmem.%I(p_arguments, p_scope, p_caller), %s);',
      l.verb, l.stored_by, pgmem.snake(l.name) || '_of', case l.stored_by
        when 'store_node' then 'p_embedding, ' || case when l.opens_project then 'null' else '''new''' end
        else 'p_arguments, p_scope, p_caller, p_embedding, p_review, p_superseded_id' end), '' order by l.name)
    from pgmem.label l where exists (select from pgmem.field f where f.label = l.name)));
  comment on function pgmem.store is
    'Store one memory behind the scope gate. Called inside a savepoint: a refusal is an error until save_error reads it.';
end;
$make$;
comment on function pgmem.make_store is 'Make store, which brings a save to the function that stores its kind.';


create or replace function pgmem.asked_texts(p_verb text, p_arguments jsonb, out title text, out text text)
language sql stable set search_path = pgmem, pg_temp as $$
  with sent as (
    select array_agg(t.text order by f.place) as texts
    from (select n.name, min(n.place) as place
          from pgmem.label l cross join unnest(l.title_field || l.text_fields) with ordinality as n(name, place)
          where l.verb = p_verb and l.stored_by is not null group by n.name) f
    cross join lateral (
      select nullif(case jsonb_typeof(p_arguments -> f.name) when 'array' then pgmem.joined_texts(p_arguments -> f.name)
                      else p_arguments ->> f.name end, '')) as t(text)
    where t.text is not null
  )
  select coalesce(texts[1], p_arguments ->> 'title', p_arguments ->> 'key'), coalesce(texts[2], texts[1]) from sent;
$$;
comment on function pgmem.asked_texts is
  'The title that a memory of these arguments would have, and its first text; of a verb of no kind the name that they hold.';


create or replace function pgmem.make_approval() returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
begin
  execute format($sql$
create or replace function pgmem.kind_words() returns text
language sql immutable parallel safe
begin atomic
  select %L::text;
end $sql$, (
    select string_agg(distinct w.word, '|') from (
      select regexp_replace(unnest(string_to_array(f.name || '_' || pgmem.snake(f.label), '_')), 's$', 's?') as word
      from pgmem.field f where f.approved
      union all
      select unnest('{save,global,scope}'::text[])) w));
  execute format($sql$
create or replace function pgmem.approved_texts(p_arguments jsonb) returns text[]
language sql immutable parallel safe
begin atomic
  select array(
    -- jsonb_path_query copies its result for each row.
    select value from jsonb_array_elements_text(
      jsonb_path_query_array(p_arguments - %L::text[], 'strict $.** ? (@.type() == "string")'))
      with ordinality as text(value, place) order by place);
end $sql$, array(
    select f.name from pgmem.field f where not f.approved and f.kept <> 'view'
    union
    select unnest('{project_id,scope,focus,share,valid_from,valid_to}'::text[]) order by 1));
  comment on function pgmem.kind_words is 'The words of kinds and their fields, which a preview may show beside the texts.';
  comment on function pgmem.approved_texts is 'The texts of a save that a person must have been shown.';
end;
$make$;
comment on function pgmem.make_approval is 'Make the functions that say which texts of a save an approval must show.';
