-- Labels and relations of one's own, beside those that come with the release. A name that is here already stays as it is: the
-- same definition is fine, another one is an error, because texts were indexed by the first.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.init_schema(p_labels jsonb default '[]', p_relations jsonb default '[]',
  out labels_made text[], out relations_made text[])
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_item   jsonb;
  v_name   text;
  v_fields text[];
  v_label  pgmem.label;
  v_given  pgmem.relation;
  v_known  pgmem.relation;
begin
  perform pgmem.require_reviewer('init_schema');
  -- One at a time: the graph makes a label wrongly when two sessions make it at once.
  perform pg_advisory_xact_lock(hashtextextended('pgmem.init_schema', 0));
  labels_made := '{}';
  relations_made := '{}';
  for v_item in select value from jsonb_array_elements(p_labels) loop
    v_name := v_item ->> 'name';
    if coalesce(v_name, '') !~ '^[A-Z][A-Za-z0-9_]{0,62}$' then
      raise exception using errcode = 'PM001', message = format('%s is no label: send letters, digits and _, an upper-case letter first.',
        quote_literal(left(coalesce(v_name, ''), 80)));
    elsif exists (select from pgmem.relation r where r.name = v_name) then
      raise exception using errcode = 'PM001', message = format('%s is a relation here; one name is never both label and relation.', v_name);
    end if;
    v_fields := coalesce(array(select jsonb_array_elements_text(v_item -> 'text_fields')), '{}');
    select l.* into v_label from pgmem.label l where l.name = v_name;
    if v_label.name is null then
      insert into pgmem.label (name, key_field, title_field, text_fields, dedup, kind, vocabulary)
      values (v_name, coalesce(v_item ->> 'key_field', 'name'), coalesce(v_item ->> 'key_field', 'name'), v_fields, 'key', 'memory', 'own');
      labels_made := labels_made || v_name;
    elsif v_label.vocabulary = 'own' and (v_label.key_field, v_label.text_fields) is distinct from
        (coalesce(v_item ->> 'key_field', 'name'), v_fields) then
      raise exception using errcode = 'PM001', message = format('Label %s is here already, named by %s and searched by %s; give the other one another name.',
        v_name, v_label.key_field, array_to_string(v_label.text_fields, ', '));
    end if;
  end loop;
  for v_item in select value from jsonb_array_elements(p_relations) loop
    v_name := v_item ->> 'name';
    if coalesce(v_name, '') !~ '^[A-Z][A-Z0-9_]{0,62}$' then
      raise exception using errcode = 'PM001', message = format('%s is no relation: send upper-case letters, digits and _, a letter first.',
        quote_literal(left(coalesce(v_name, ''), 80)));
    elsif exists (select from pgmem.label l where l.name = v_name) then
      raise exception using errcode = 'PM001', message = format('%s is a label here; one name is never both label and relation.', v_name);
    end if;
    v_given.from_labels := case when jsonb_typeof(v_item -> 'from_labels') = 'array' then array(select jsonb_array_elements_text(v_item -> 'from_labels')) end;
    v_given.to_labels := case when jsonb_typeof(v_item -> 'to_labels') = 'array' then array(select jsonb_array_elements_text(v_item -> 'to_labels')) end;
    perform pgmem.require_label(label) from unnest(v_given.from_labels || v_given.to_labels) label;
    select r.* into v_known from pgmem.relation r where r.name = v_name;
    if v_known.name is null then
      insert into pgmem.relation (name, from_labels, to_labels, vocabulary) values (v_name, v_given.from_labels, v_given.to_labels, 'own');
      relations_made := relations_made || v_name;
    elsif v_known.vocabulary = 'own' and (v_known.from_labels, v_known.to_labels) is distinct from (v_given.from_labels, v_given.to_labels) then
      raise exception using errcode = 'PM001', message = format('Relation %s is here already and joins other labels; give the other one another name.', v_name);
    end if;
  end loop;
  if labels_made <> '{}' or relations_made <> '{}' then
    perform pgmem.enable_graph();
  end if;
end;
$$;
comment on function pgmem.init_schema(jsonb, jsonb) is
  'Add labels [{name, key_field, text_fields}] and relations [{name, from_labels, to_labels}] to the registry and the graph; what was new.';
