-- Labels and relations
--
-- The registry says which labels a memory can have, the property that names a memory of each, which of its properties are
-- searched, and which relations join which labels. A release brings its own vocabulary; init_schema adds the owner's, so that
-- remember and relate can use it.
--
-- A name that is present stays as it is. The same definition again is accepted; another one is an error, because texts
-- were indexed by the first.
--
-- Locks: init_schema: itself, because two sessions that make one label at once break the graph.


select pgmem.declare_answer('described_label', $$
A label: the property that names its nodes, the one that is their title, and those that are searched.

`written_by` is the verb that writes the label. Labels that are not memories, such as Project, hold the store together.

name text, is_memory boolean, key_field text?, title_field text, text_fields text[], dedup text?, written_by text
$$);

select pgmem.declare_answer('described_relation', $$
A relation, the labels that it joins (None means any), and what makes it: relate, or other verbs only.

name text, from_labels text[]?, to_labels text[]?, made_by text
$$);

select pgmem.declare_answer('schema_description', $$
The labels and relations of the store.

labels described_label[], relations described_relation[]
$$);

create or replace function pgmem.describe_schema() returns pgmem.schema_description
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select
    (select jsonb_agg(jsonb_build_object('name', l.name, 'is_memory', pgmem.is_memory(l.name), 'key_field', l.key_field,
       'title_field', l.title_field, 'text_fields', l.text_fields, 'dedup', l.dedup,
       'written_by', coalesce(l.verb, 'remember')) order by l.name) from pgmem.label l),
    (select jsonb_agg(jsonb_build_object('name', r.name, 'from_labels', r.from_labels, 'to_labels', r.to_labels,
       'made_by', case when r.by_verb then 'verbs' else 'relate' end) order by r.name) from pgmem.relation r);
$$;
comment on function pgmem.describe_schema is $$
List the labels and relations a memory can have.
$$;
select pgmem.declare_verb('describe_schema', p_rights => 'reader', p_effect => 'read', p_answer => 'SchemaDescription');


select pgmem.declare_answer('made_schema', $$
The labels and relations that are new.

labels_made text[], relations_made text[]
$$);

create or replace function pgmem.init_schema(
  p_labels pgmem.objects default '[]',
  p_relations pgmem.objects default '[]'
) returns pgmem.made_schema
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.made_schema;
  v_item   jsonb;
  v_name   text;
  v_key    text;
  v_fields text[];
  v_label  pgmem.label;
  v_step   name;
  v_given  pgmem.relation;
  v_known  pgmem.relation;
begin
  perform pgmem.require_reviewer('init_schema');
  lock table pgmem.label in share row exclusive mode;
  v_answer.labels_made := '{}';
  v_answer.relations_made := '{}';
  for v_item in select value from jsonb_array_elements(p_labels) loop
    v_name := pgmem.require_name(v_item ->> 'name', '^[A-Z][A-Za-z0-9_]{0,62}$',
      'a label: send letters, digits and _, an upper-case letter first.');
    if exists (select from pgmem.relation r where r.name = v_name) then
      raise exception using errcode = 'PM001',
        message = format('%s is a relation here; one name is never both label and relation.', v_name);
    end if;
    v_key := coalesce(v_item ->> 'key_field', 'name');
    v_fields := array(select jsonb_array_elements_text(v_item -> 'text_fields'));
    select l.* into v_label from pgmem.label l where l.name = v_name;
    if v_label.name is null then
      insert into pgmem.label (name, key_field, title_field, text_fields, dedup, vocabulary)
      values (v_name, v_key, v_key, v_fields, 'key', 'own');
      v_answer.labels_made := v_answer.labels_made || v_name;
    elsif v_label.vocabulary = 'own'
        and (v_label.key_field, v_label.text_fields) is distinct from (v_key, v_fields) then
      raise exception using errcode = 'PM001', message = format(
        'Label %s exists already, named by %s and searched by %s; give the other one another name.',
        v_name, v_label.key_field, array_to_string(v_label.text_fields, ', '));
    end if;
  end loop;
  for v_item in select value from jsonb_array_elements(p_relations) loop
    v_name := pgmem.require_name(v_item ->> 'name', '^[A-Z][A-Z0-9_]{0,62}$',
      'a relation: send upper-case letters, digits and _, a letter first.');
    if exists (select from pgmem.label l where l.name = v_name) then
      raise exception using errcode = 'PM001',
        message = format('%s is a label here; one name is never both label and relation.', v_name);
    end if;
    v_given.from_labels := case when jsonb_typeof(v_item -> 'from_labels') = 'array' then
      array(select jsonb_array_elements_text(v_item -> 'from_labels')) end;
    v_given.to_labels := case when jsonb_typeof(v_item -> 'to_labels') = 'array' then
      array(select jsonb_array_elements_text(v_item -> 'to_labels')) end;
    perform pgmem.require_label(label) from unnest(v_given.from_labels || v_given.to_labels) label;
    select r.* into v_known from pgmem.relation r where r.name = v_name;
    if v_known.name is null then
      insert into pgmem.relation (name, from_labels, to_labels, vocabulary)
      values (v_name, v_given.from_labels, v_given.to_labels, 'own');
      v_answer.relations_made := v_answer.relations_made || v_name;
    elsif v_known.vocabulary = 'own'
        and (v_known.from_labels, v_known.to_labels) is distinct from (v_given.from_labels, v_given.to_labels) then
      raise exception using errcode = 'PM001',
        message = format('Relation %s exists already and joins other labels; give the other one another name.',
                         v_name);
    end if;
  end loop;
  if v_answer.labels_made <> '{}' or v_answer.relations_made <> '{}' then
    for v_step in select * from pgmem.steps('vocabulary') loop
      execute format('select pgmem.%I()', v_step);
    end loop;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.init_schema is $$
Add labels and relations to the registry and the graph; answers with the new ones.

A name that is present with the same definition is left as it is.

labels: A list of {"name": …, "key_field": …, "text_fields": […]}; key_field is name by default. A name begins with an
  upper-case letter.
relations: A list of {"name": …, "from_labels": […], "to_labels": […]}; without labels, it joins any. A name is in
  upper case.

InvalidArgument: A name cannot be taken, or is present with another definition.
NotPermitted: The login is neither the owner nor a reviewer.
$$;
select pgmem.declare_verb('init_schema', p_rights => 'owner', p_effect => 'repeat', p_reach => 'every');


create or replace function pgmem.require_label(p_label text) returns pgmem.label
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_label pgmem.label;
begin
  select * into v_label from pgmem.label where name = p_label;
  if v_label.name is null then
    select * into v_label from pgmem.label where lower(name) = lower(p_label) order by name limit 1;
  end if;
  if v_label.name is null then
    raise exception using errcode = 'PM001', message = format('Unknown label %s. %s',
      quote_literal(left(p_label, 80)),
      pgmem.did_you_mean(left(p_label, 80), array(select name from pgmem.label), (
        select 'Known: ' || string_agg(name, ', ' order by name) || '.' from pgmem.label where pgmem.is_memory(name))));
  end if;
  return v_label;
end;
$$;
comment on function pgmem.require_label is
  'A label of the registry, in any case; an unknown one is an error that names the nearest, or all of memories.';


create or replace function pgmem.known_labels(p_labels text[]) returns text[]
language sql stable set search_path = pgmem, pg_temp as $$
  select array(select (pgmem.require_label(label)).name from unnest(p_labels) label);
$$;
comment on function pgmem.known_labels is 'Labels as the registry writes them; an unknown one is an error.';


create or replace function pgmem.known_relations() returns text
language sql stable set search_path = pgmem, pg_temp as $$
  select 'Known: ' || string_agg(name, ', ' order by name) || '.' from pgmem.relation where not by_verb;
$$;
comment on function pgmem.known_relations is
  'The sentence of an error that lists the relations that relate makes.';


create or replace function pgmem.require_relation(p_relation text) returns pgmem.relation
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_relation pgmem.relation;
begin
  select * into v_relation from pgmem.relation where name = p_relation;
  if v_relation.name is null then
    raise exception using errcode = 'PM001', message = format('Unknown relation %s. %s',
      quote_literal(left(p_relation, 80)),
      pgmem.did_you_mean(left(p_relation, 80), array(select name from pgmem.relation where not by_verb),
                         pgmem.known_relations()));
  end if;
  return v_relation;
end;
$$;
comment on function pgmem.require_relation is
  'A relation of the registry; an unknown one is an error that names the nearest, or all that relate makes.';


create or replace function pgmem.require_name(p_name text, p_pattern text, p_what text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
begin
  if coalesce(p_name, '') !~ p_pattern then
    raise exception using errcode = 'PM001', message = format('%s is not %s', quote_literal(left(coalesce(p_name, ''), 80)), p_what);
  end if;
  return p_name;
end;
$$;
comment on function pgmem.require_name is
  'A name of the vocabulary; one of another form is an error that names the broken '
  'rule.';


create or replace function pgmem.require_memory_label(p_label text) returns pgmem.label
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_label pgmem.label := pgmem.require_label(p_label);
begin
  if v_label.verb is not null or v_label.key_field is null then
    raise exception using errcode = 'PM001',
      message = format('A %s is written by %s, not by remember. Remember takes: %s.',
      v_label.name, coalesce(v_label.verb, 'another verb'),
      (select string_agg(l.name, ', ' order by l.name) from pgmem.label l
       where l.verb is null and l.key_field is not null));
  end if;
  return v_label;
end;
$$;
comment on function pgmem.require_memory_label is
  'A label that remember writes; one with its own verb is an error that names the verb.';
