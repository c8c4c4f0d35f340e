create or replace function pgmem.named_relations(p_relations jsonb)
returns table (rel text, name text, label text, stub_label text, place bigint)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_rel   text;
  v_list  jsonb;
  v_item  jsonb;
begin
  place := 0;
  if jsonb_typeof(coalesce(p_relations, '{}')) not in ('object', 'null') then
    raise exception using errcode = 'PM001', message = 'relations must be an object; send {"USES": ["PostgreSQL"]}.';
  end if;
  for v_rel, v_list in select r.key, r.value from jsonb_each(case jsonb_typeof(p_relations) when 'object' then p_relations else '{}' end) r order by r.key loop
    rel := v_rel;
    for v_item in select value from jsonb_array_elements(case jsonb_typeof(v_list) when 'array' then v_list else jsonb_build_array(v_list) end) loop
      name := pgmem.clean_key(case jsonb_typeof(v_item) when 'string' then v_item #>> '{}' else coalesce(v_item ->> 'name', v_item ->> 'title') end, 'a relation''s target');
      label := case jsonb_typeof(v_item) when 'object' then v_item ->> 'label' end;
      if name is null or jsonb_typeof(v_item) not in ('string', 'object') then
        raise exception using errcode = 'PM001', message = format('%s needs names; send {"%s": ["PostgreSQL"]} or {"%s": [{"name": "PostgreSQL", "label": "Technology"}]}.', left(v_rel, 80), left(v_rel, 80), left(v_rel, 80));
      end if;
      if label is not null then
        perform pgmem.require_label(label);
      end if;
      select coalesce(label, (select case when cardinality(r.to_labels) = 1 then r.to_labels[1] end from pgmem.relation r where r.name = v_rel), 'Concept')
      into stub_label;
      place := place + 1;
      return next;
    end loop;
  end loop;
end;
$$;
comment on function pgmem.named_relations(jsonb) is
  'Relations as remember takes them, a row a target: {REL: [name | {name, label}]}; which label a missing target becomes.';
