-- Items that programs keep by their names
--
-- An item is a memory that a program addresses by a namespace (a list of names) and a name: a document of a store
-- (label Item), a file (File, 49-files) or a message of a conversation (Message, 50-messages). It is a node like any
-- other: search_memory finds its texts, every change is a version, delete is forget, revert brings it back, and it has
-- its tenant. It has no scope, so that retrieve_context never shows it; with a project, it is found in that project.
--
-- The key of a node is the namespace and the name as one JSON list. So a name may hold any character, names that differ
-- in case differ, and all items below a namespace are one range of the index node_key_unique, cut at whole names.
--
-- An item with a time to live has a valid_to, and is not live once that has passed; a read may put it off
-- (renew_items). sweep_items deletes expired items for good. The vectors of an item are made by its program, one
-- for each indexed text, and compared one by one within the namespace and the filter that are asked for.
--
-- Locks: the scope of the label, before the reads that it guards; then the rows.


select pgmem.declare_table('item_vector', 'node', '{node_seq}', p_shown_to => 'node', p_moves => 'always');


create or replace function pgmem.item_place(p_label text, p_project_id text, p_caller pgmem.caller) returns pgmem.node
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_node  pgmem.node := pgmem.new_node(p_label, p_caller);
  v_scope pgmem.scope_state;
begin
  if p_project_id is not null then
    v_scope := pgmem.resolve_scope(p_caller, p_project_id, null);
    if not v_scope.project_exists then
      raise exception using errcode = 'PM002', message = format('No project %s found. %s',
        quote_literal(left(p_project_id, 80)), pgmem.next_step('blocked_scope'));
    end if;
    v_node.project := v_scope.project_id;
    v_node.project_seq := v_scope.project_seq;
    v_node.text_config := v_scope.text_config;
  end if;
  v_node.place := pgmem.place_of(null, v_node.project_seq, null);
  v_node.scope_key := pgmem.scope_key(v_node.tenant, v_node.place, p_label);
  return v_node;
end;
$$;
comment on function pgmem.item_place is
  'An empty node of a label, where the items of the caller lie: in a project, or in none; nothing is stored yet.';


create or replace function pgmem.item_key(p_namespace text[], p_name text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_key text := to_jsonb(p_namespace || p_name)::text;
begin
  if p_name is null or p_namespace is null or cardinality(p_namespace) = 0 or '' = any (p_namespace)
      or array_position(p_namespace, null) is not null then
    raise exception using errcode = 'PM001',
      message = 'An item needs a namespace and a key: send ["users", "ada"] and "profile".';
  elsif length(v_key) > 500 or octet_length(v_key) > 1200 then
    raise exception using errcode = 'PM001', message = format('A namespace and its key have %s characters together; '
      'send at most 500, quotes counted.', length(v_key));
  elsif v_key ~ '\\u000[01]' then
    raise exception using errcode = 'PM001',
      message = 'A namespace or key holds the character U+0000 or U+0001; send it without.';
  end if;
  return v_key;
end;
$$;
comment on function pgmem.item_key is 'The key of the node of an item: its namespace and name as a JSON list.';


create or replace function pgmem.item_prefix(p_namespace text[]) returns text
language sql immutable parallel safe
begin atomic
  select case when cardinality(p_namespace) = 0 then '[' else left(to_jsonb(p_namespace)::text, -1) || ', ' end;
end;
comment on function pgmem.item_prefix is 'The beginning of the keys of all items at and below a namespace.';


create or replace function pgmem.require_item_value(p_value jsonb) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_text text := p_value::text;
begin
  if length(v_text) > 100000 and length(v_text) > pgmem.setting_int('max_item_chars') then
    raise exception using errcode = 'PM001', message = format(
      'The value has %s characters; send at most %s (setting max_item_chars), or several items.',
      length(v_text), pgmem.setting_int('max_item_chars'));
  elsif strpos(v_text, '\u0001') > 0 and v_text ~ '(^|[^\\])(\\\\)*\\u0001' then
    -- A client sends U+0001 in the place of NUL, which PostgreSQL cannot store: a text is read as it was written.
    raise exception using errcode = 'PM001',
      message = 'The value holds the character U+0000 or U+0001; send the text without it.';
  end if;
end;
$$;
comment on function pgmem.require_item_value is
  'An error where the value of an item is too long, or could not be read back as it was written.';


create or replace function pgmem.stored_item(p_place pgmem.node, p_key text) returns pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select row(n.*)::pgmem.node from pgmem.node n
  where n.scope_key = (p_place).scope_key and n.tenant || '' = (p_place).tenant
    and pgmem.folded(n.key) = pgmem.folded(p_key) and n.key = p_key;
$$;
comment on function pgmem.stored_item is
  'The node that holds a key where the caller''s items lie, live or not.';


create or replace function pgmem.require_item_rank(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if pgmem.is_live_status(p_node.status) and pgmem.outranked(p_node.trust_level, p_caller) then
    raise exception using errcode = 'PM004', message = format(
      '%s %s was written by a more trusted source (%s, trust %s; yours is %s): write another one, or let that source '
      'change it.', p_node.label, quote_literal(left(p_node.title, 80)), p_node.source, p_node.trust_level,
      p_caller.trust_level);
  end if;
end;
$$;
comment on function pgmem.require_item_rank is 'An error where a live item is trusted more than the caller.';


create or replace function pgmem.write_item(
  p_place pgmem.node,
  p_caller pgmem.caller,
  p_key text,
  p_title text,
  p_props jsonb,
  p_valid_to timestamptz default null,
  p_keeps_part boolean default false
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.stored_item(p_place, p_key);
begin
  if v_node.seq is null then
    v_node := p_place;
    v_node.id := gen_random_uuid();
    v_node.key := p_key;
    v_node.title := coalesce(nullif(left(pgmem.without_hidden(p_title), 500), ''), '/');
    v_node.props := p_props;
    v_node.valid_to := p_valid_to;
    v_node := pgmem.insert_node(v_node);
  else
    perform pgmem.require_item_rank(v_node, p_caller);
    v_node.props := p_props;
    v_node.valid_to := p_valid_to;
    v_node.status := 'active';
    v_node.source := p_caller.source;
    v_node.trust_level := case when p_keeps_part then least(v_node.trust_level, p_caller.trust_level)
                               else p_caller.trust_level end;
    v_node.agent_id := p_caller.agent_id;
    v_node.session_id := p_caller.session_id;
    v_node := pgmem.update_node(v_node);
  end if;
  perform pgmem.store_embedding(v_node);
  if p_caller.session_id is not null then
    perform pgmem.link_session(p_caller, v_node.id);
  end if;
  return v_node;
exception when program_limit_exceeded then
  raise exception using errcode = 'PM001',
    message = format('%s has more different words than one memory can hold: split it (%s).', left(p_title, 80),
                     sqlerrm);
end;
$$;
comment on function pgmem.write_item is
  'Store an item under its key, or give the one that has it new properties. The caller holds the scope lock.';


create or replace function pgmem.hide_items(p_seqs bigint[], p_caller pgmem.caller) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_item_rank(n, p_caller) from pgmem.node n where n.seq = any (p_seqs);
  update pgmem.node n set status = 'archived', updated_at = greatest(pgmem.now(), n.created_at)
  where n.seq = any (p_seqs);
  perform pgmem.set_aside_embeddings(p_seqs);
  return cardinality(p_seqs);
end;
$$;
comment on function pgmem.hide_items is
  'Forget items, so that revert brings them back; how many. The caller holds the scope lock.';


select pgmem.declare_answer('stored_items', $$
How many items a call stored, and how many it deleted.

stored integer, deleted integer
$$);

create or replace function pgmem.put_items(
  p_items pgmem.objects,
  p_project_id text default null
) returns pgmem.stored_items
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer    pgmem.stored_items;
  v_caller    pgmem.caller := pgmem.require_writer();
  v_place     pgmem.node := pgmem.item_place('Item', p_project_id, v_caller);
  v_item      jsonb;
  v_namespace text[];
  v_key       text;
  v_ttl       float8;
  v_node      pgmem.node;
begin
  perform pgmem.require_objects(p_items, 'items', '[{"namespace": ["users", "ada"], "name": "profile", "value": …}]');
  v_answer.stored := 0;
  v_answer.deleted := 0;
  perform pgmem.lock_scope(v_place.scope_key);
  for v_item in select value from jsonb_array_elements(p_items) loop
    v_namespace := array(select jsonb_array_elements_text(v_item -> 'namespace'));
    v_key := pgmem.item_key(v_namespace, v_item ->> 'name');
    if coalesce(jsonb_typeof(v_item -> 'value'), 'null') = 'null' then
      v_node := pgmem.stored_item(v_place, v_key);
      if pgmem.is_live_status(v_node.status) then
        v_answer.deleted := v_answer.deleted + pgmem.hide_items(array[v_node.seq], v_caller);
      end if;
      continue;
    end if;
    perform pgmem.require_item_value(v_item -> 'value');
    v_ttl := pgmem.item_ttl(v_item);
    v_node := pgmem.write_item(v_place, v_caller, v_key, array_to_string(v_namespace || (v_item ->> 'name'), '/'),
      jsonb_strip_nulls(jsonb_build_object('namespace', v_namespace, 'name', v_item ->> 'name', 'ttl_minutes', v_ttl))
        || jsonb_build_object('value', v_item -> 'value'),
      pgmem.now() + v_ttl * interval '1 minute');
    perform pgmem.store_item_vectors(v_node.seq, v_item -> 'vectors');
    v_answer.stored := v_answer.stored + 1;
  end loop;
  return v_answer;
end;
$$;
comment on function pgmem.put_items is $$
Store items under their namespaces and names, all or none; a name that is taken gets the new value.

An item without a value is deleted: forgotten, so that revert brings it back.

items: A list of {"namespace": ["users", "ada"], "name": "profile", "value": {…}, "ttl": minutes, "vectors": [[…]]};
  ttl and vectors may be missing.
project_id: The project that they belong to; unset: none.

InvalidArgument: a namespace or name is missing or too long, or a value is too long or holds NUL.
MemoryNotFound: the project does not exist.
NotPermitted: an item was written by a more trusted source.
$$;
select pgmem.declare_verb('put_items', p_rights => 'writer', p_effect => 'repeat', p_answer => 'StoredItems');


create or replace function pgmem.item_ttl(p_item jsonb) returns float8
language plpgsql immutable as $$
begin
  if coalesce(jsonb_typeof(p_item -> 'ttl'), 'null') = 'null' then
    return null;
  elsif jsonb_typeof(p_item -> 'ttl') <> 'number' or not (p_item ->> 'ttl')::numeric between 0 and 52560000 then
    raise exception using errcode = 'PM001', message = 'ttl must be a number of minutes from 0 to 52560000.';
  end if;
  return (p_item ->> 'ttl')::float8;
end;
$$;
comment on function pgmem.item_ttl is 'The time to live of an item that is stored, in minutes; null: none.';


create or replace function pgmem.store_item_vectors(p_seq bigint, p_vectors jsonb) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  -- One that the type of a search does not hold would end every search of its namespace; a text becomes any number.
  if exists (select from jsonb_path_query(p_vectors,
               'strict $[*][*] ? (@.type() != "number" || @ > 65504 || @ < -65504)')) then
    raise exception using errcode = 'PM001',
      message = 'A vector is a list of numbers from -65504 to 65504; send a normalised one.';
  end if;
  delete from pgmem.item_vector v where v.node_seq = p_seq;
  if jsonb_typeof(p_vectors) = 'array' then
    insert into pgmem.item_vector (node_seq, place, vector)
    select p_seq, v.place, array(select x::real from jsonb_array_elements_text(v.value) x)
    from jsonb_array_elements(p_vectors) with ordinality as v(value, place);
  end if;
end;
$$;
comment on function pgmem.store_item_vectors is 'Replace the vectors of an item.';


select pgmem.declare_answer('item', $$
A value that a program keeps under a namespace and a name.

id uuid, namespace text[], name text, value json, ttl_minutes float8?, created_at timestamptz, updated_at timestamptz
$$);

select pgmem.declare_answer('stored_item', $$
An item as it was read; place is the number of its key in the call, from 1.

like item
place integer
$$);

create or replace function pgmem.get_items(
  p_keys pgmem.objects,
  p_project_id text default null
) returns setof pgmem.stored_item
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_place pgmem.node := pgmem.item_place('Item', p_project_id, pgmem.caller());
begin
  perform pgmem.require_objects(p_keys, 'keys', '[{"namespace": ["users", "ada"], "name": "profile"}]');
  return query
  select n.id, k.namespace, k.name, n.props -> 'value', (n.props ->> 'ttl_minutes')::float8,
         n.created_at::timestamptz, n.updated_at::timestamptz, k.place::integer
  from (select e.place, array(select jsonb_array_elements_text(e.value -> 'namespace')) as namespace,
               e.value ->> 'name' as name
        from jsonb_array_elements(p_keys) with ordinality as e(value, place)) k
  cross join lateral pgmem.stored_item(v_place, pgmem.item_key(k.namespace, k.name)) n
  where pgmem.is_live(n.status, n.valid_from, n.valid_to);
end;
$$;
comment on function pgmem.get_items is $$
Read items by their namespaces and names.

place is the number of the key, from 1; a missing item has no row.

keys: A list of {"namespace": ["users", "ada"], "name": "profile"}.
project_id: The project that they belong to; unset: none.

InvalidArgument: a namespace or name is missing or too long.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('get_items', p_rights => 'reader', p_effect => 'look', p_answer => 'list[StoredItem]');


create or replace function pgmem.item_matches(p_value jsonb, p_filter jsonb) returns boolean
language plpgsql immutable parallel safe as $$
begin
  case jsonb_typeof(p_filter)
    when 'object' then
      if exists (select from jsonb_object_keys(p_filter) as k where left(k, 1) = '$') then
        return (select bool_and(pgmem.item_compares(p_value, f.key, f.value)) from jsonb_each(p_filter) f);
      end if;
      return jsonb_typeof(p_value) = 'object'
        and coalesce((select bool_and(pgmem.item_matches(p_value -> f.key, f.value))
                      from jsonb_each(p_filter) f), true);
    when 'array' then
      return coalesce(jsonb_typeof(p_value) = 'array' and jsonb_array_length(p_value) = jsonb_array_length(p_filter)
        and not exists (select from jsonb_array_elements(p_filter) with ordinality as f(value, place)
                        where not pgmem.item_matches(p_value -> (f.place - 1)::integer, f.value)), false);
    else
      return coalesce(p_value, 'null') = p_filter;
  end case;
end;
$$;
comment on function pgmem.item_matches is
  'Whether a value fits a filter: equal, each part of an object or list fits, or each operator ($gt …) holds.';


create or replace function pgmem.item_compares(p_value jsonb, p_operator text, p_operand jsonb) returns boolean
language plpgsql immutable parallel safe as $$
declare
  v_order integer;
begin
  if p_operator = '$eq' then
    return coalesce(p_value, 'null') = p_operand;
  elsif p_operator = '$ne' then
    return coalesce(p_value, 'null') <> p_operand;
  elsif p_operator not in ('$gt', '$gte', '$lt', '$lte') then
    raise exception using errcode = 'PM001', message = format(
      'Unsupported operator: %s; send $eq, $ne, $gt, $gte, $lt or $lte.', left(p_operator, 40));
  end if;
  -- Numbers as numbers, texts as texts; a text that is a number compares with a number.
  if jsonb_typeof(p_value) = 'string' and jsonb_typeof(p_operand) = 'string' then
    v_order := case when (p_value #>> '{}') collate "C" > (p_operand #>> '{}') collate "C" then 1
                    when p_value = p_operand then 0 else -1 end;
  elsif pgmem.is_item_number(p_value) and pgmem.is_item_number(p_operand) then
    v_order := sign((p_value #>> '{}')::numeric - (p_operand #>> '{}')::numeric);
  else
    return false;
  end if;
  return case p_operator when '$gt' then v_order > 0 when '$gte' then v_order >= 0
                         when '$lt' then v_order < 0 else v_order <= 0 end;
end;
$$;
comment on function pgmem.item_compares is
  'Whether an operator of a filter holds: numbers are compared as numbers, texts by their code points.';


create or replace function pgmem.is_item_number(p_value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
  select jsonb_typeof(p_value) = 'number'
    or jsonb_typeof(p_value) = 'string' and p_value #>> '{}' ~ '^[+-]?\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,2})?$';
end;
comment on function pgmem.is_item_number is 'Whether a value is a number, or a text that holds one.';


create or replace function pgmem.item_scores(p_seqs bigint[], p_vector real[], p_metric text) returns table (
  seq bigint,
  score float8
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  if p_metric = 'cosine' and pgmem.has_vectors() then
    return query
    select v.node_seq,
           max(coalesce(1 - nullif(v.vector::public.halfvec operator(public.<=>) p_vector::public.halfvec, 'NaN'), 0))
    from pgmem.item_vector v where v.node_seq = any (p_seqs) and cardinality(v.vector) = cardinality(p_vector)
    group by v.node_seq;
    return;
  end if;
  return query
  select v.node_seq, max(case p_metric when 'l2' then -sqrt(d.squares) when 'inner_product' then d.product
                           else coalesce(d.product / nullif(d.lengths, 0), 0) end)
  from pgmem.item_vector v
  cross join lateral (
    select sum(a::float8 * b) as product, sum((a::float8 - b) ^ 2) as squares,
           sqrt(sum(a::float8 ^ 2)) * sqrt(sum(b::float8 ^ 2)) as lengths
    from unnest(v.vector, p_vector) as u(a, b)) d
  where v.node_seq = any (p_seqs) and cardinality(v.vector) = cardinality(p_vector)
  group by v.node_seq;
end;
$$;
comment on function pgmem.item_scores is
  'How near items are to a vector, by the nearest vector of each; an item without one has no row.';


select pgmem.declare_answer('found_item', $$
An item that was found, and its score; null where nothing was compared.

like item
score float8?
$$);

create or replace function pgmem.search_items(
  p_namespace text[] default '{}',
  p_filter jsonb default null,
  p_query text default null,
  p_vector real[] default null,
  p_metric text default 'cosine',
  p_limit integer default 10,
  p_offset integer default 0,
  p_project_id text default null
) returns setof pgmem.found_item
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_place  pgmem.node := pgmem.item_place('Item', p_project_id, pgmem.caller());
  v_words  tsquery := pgmem.any_word(pgmem.clean_text(p_query, 'query'), pgmem.setting_text('text_config'));
  v_seqs   bigint[];
begin
  perform pgmem.one_of('metric', p_metric, '{cosine,inner_product,l2}');
  if coalesce(p_limit, -1) < 0 or coalesce(p_offset, -1) < 0 then
    raise exception using errcode = 'PM001', message = 'limit and offset are whole numbers from 0 on.';
  end if;
  select array_agg(n.seq) into v_seqs from pgmem.live_items(v_place, pgmem.item_prefix(p_namespace)) n
  where coalesce(p_filter, '{}') = '{}' or pgmem.item_matches(n.props -> 'value', p_filter);
  return query
  select n.id, array(select jsonb_array_elements_text(n.props -> 'namespace')), n.props ->> 'name', n.props -> 'value',
         (n.props ->> 'ttl_minutes')::float8, n.created_at::timestamptz, n.updated_at::timestamptz, s.score
  from (select u.seq, null::float8 as score from unnest(v_seqs) as u(seq) where p_vector is null and v_words is null
        union all
        select u.seq, case when w.tsv @@ v_words then pgmem.word_rank(w.tsv, v_words)::float8 end
        from unnest(v_seqs) as u(seq) join pgmem.node w on w.seq = u.seq where p_vector is null and v_words is not null
        union all
        select i.seq, i.score from pgmem.item_scores(v_seqs, p_vector, p_metric) i where p_vector is not null) s
  join pgmem.node n on n.seq = s.seq
  order by s.score desc nulls last, n.updated_at desc, n.seq desc
  limit p_limit offset p_offset;
end;
$$;
comment on function pgmem.search_items is $$
List the items at and below a namespace that fit a filter, the nearest or else the latest first.

With a vector, only items that have vectors come, by the nearest of them. With a query and no vector, items that hold
one of its words come first, with a score; the others follow by their age.

namespace: The beginning of the namespaces; empty: all items.
filter: Values by key: {"color": "red", "size": {"$gt": 4.99}}. Operators: $eq, $ne, $gt, $gte, $lt, $lte; numbers are
  compared as numbers.
query: Words; unset or empty: none.
vector: The vector of the query, made as those of the items were.
metric: cosine, inner_product, or l2, whose score is the distance below zero.
limit: How many at most.
offset: How many to pass over.
project_id: The project that they belong to; unset: none.

InvalidArgument: an unknown operator or metric.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('search_items', p_rights => 'reader', p_effect => 'look', p_answer => 'list[FoundItem]');


-- Reads node itself, by the tenant of the place.
create or replace function pgmem.live_items(p_place pgmem.node, p_prefix text) returns setof pgmem.node
language sql stable set search_path = pgmem, pg_temp as $$
  select n.* from pgmem.node n
  where n.scope_key = (p_place).scope_key and n.tenant || '' = (p_place).tenant
    and pgmem.is_live(n.status, n.valid_from, n.valid_to)
    and pgmem.folded(n.key) operator(pg_catalog.~>=~) pgmem.folded(p_prefix)
    and pgmem.folded(n.key) operator(pg_catalog.~<~) (pgmem.folded(p_prefix) || U&'\+10FFFF')
    and starts_with(n.key, p_prefix);
$$;
comment on function pgmem.live_items is 'The live items whose keys begin with a text, where the caller''s items lie.';


create or replace function pgmem.namespace_fits(p_namespace text[], p_condition jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_path  text[] := array(select jsonb_array_elements_text(p_condition -> 'path'));
  v_shift integer := 0;
begin
  perform pgmem.one_of('match_type', p_condition ->> 'match_type', '{prefix,suffix}');
  if cardinality(v_path) > cardinality(p_namespace) then
    return false;
  elsif p_condition ->> 'match_type' = 'suffix' then
    v_shift := cardinality(p_namespace) - cardinality(v_path);
  end if;
  return not exists (select from unnest(v_path) with ordinality as p(name, place)
                     where p.name <> '*' and p.name <> p_namespace[p.place + v_shift]);
end;
$$;
comment on function pgmem.namespace_fits is
  'Whether a namespace begins or ends with a path, in which * stands for any one name.';


select pgmem.declare_answer('item_namespace', $$
A namespace that holds items.

namespace text[]
$$);

create or replace function pgmem.list_item_namespaces(
  p_conditions pgmem.objects default '[]',
  p_max_depth integer default null,
  p_limit integer default 100,
  p_offset integer default 0,
  p_project_id text default null
) returns setof pgmem.item_namespace
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_place pgmem.node := pgmem.item_place('Item', p_project_id, pgmem.caller());
begin
  perform pgmem.require_objects(coalesce(p_conditions, '[]'), 'conditions', '[{"match_type": "prefix", "path": ["users", "*"]}]');
  return query
  select distinct own.path[:coalesce(p_max_depth, cardinality(own.path))]
  from (select distinct n.props -> 'namespace' as names from pgmem.live_items(v_place, '[') n) found
  cross join lateral (select array(select jsonb_array_elements_text(found.names))) as own(path)
  where not exists (select from jsonb_array_elements(p_conditions) c where not pgmem.namespace_fits(own.path, c.value))
  order by 1 limit p_limit offset p_offset;
end;
$$;
comment on function pgmem.list_item_namespaces is $$
List the namespaces that hold items, in order.

conditions: A list of {"match_type": "prefix" or "suffix", "path": ["users", "*"]}; a namespace must fit all of them.
max_depth: Only so many names of each namespace; unset: all.
limit: How many at most.
offset: How many to pass over.
project_id: The project that the items belong to; unset: none.

InvalidArgument: an unknown match_type.
MemoryNotFound: the project does not exist.
$$;
select pgmem.declare_verb('list_item_namespaces', p_rights => 'reader', p_effect => 'look',
  p_answer => 'list[ItemNamespace]');


create or replace function pgmem.renew_items(p_ids uuid[], out renewed integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
begin
  -- An expired item is not renewed, nor one that another transaction writes now: that sets the time itself.
  with due as (
    select n.seq from pgmem.node n
    where n.id = any (p_ids) and n.tenant = v_caller.tenant and n.label = 'Item' and n.props ? 'ttl_minutes'
      and pgmem.is_live(n.status, n.valid_from, n.valid_to)
    order by n.seq for no key update skip locked)
  update pgmem.node n set valid_to = pgmem.now() + (n.props ->> 'ttl_minutes')::float8 * interval '1 minute'
  from due where n.seq = due.seq;
  get diagnostics renewed = row_count;
end;
$$;
comment on function pgmem.renew_items is $$
Reset the TTL of items. Creates no version.

ids: The ids of items that were read; those without a time to live, or expired, stay as they are.
$$;
select pgmem.declare_verb('renew_items', p_rights => 'writer', p_effect => 'repeat', p_answer => 'int');


create or replace function pgmem.sweep_items(p_limit pgmem.row_limit default 1000, out deleted integer)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_seqs   bigint[];
begin
  v_seqs := array(
    select n.seq from pgmem.node n
    where n.label = 'Item' and n.valid_to < pgmem.now() and n.tenant = v_caller.tenant
    order by n.valid_to limit p_limit for update skip locked);
  perform pgmem.delete_node(seq) from unnest(v_seqs) as seq;
  deleted := cardinality(v_seqs);
end;
$$;
comment on function pgmem.sweep_items is $$
Delete for good the items of the caller whose time to live has passed, with their history; how many.

$$;
select pgmem.declare_verb('sweep_items', p_rights => 'writer', p_effect => 'remove', p_answer => 'int');


select pgmem.declare_label('Item', p_kept_as_sent => true, p_exact => true, p_end_moves => true, p_other_texts => 'value');
