create or replace function pgmem.import_word(p_record jsonb) returns text
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_made record;
begin
  case p_record ->> 'type'
  when 'label' then
    select * into v_made from pgmem.init_schema(jsonb_build_array(p_record), '[]');
    return case when v_made.labels_made = '{}' then 'present' else 'taken' end;
  when 'relation' then
    select * into v_made from pgmem.init_schema('[]', jsonb_build_array(p_record));
    return case when v_made.relations_made = '{}' then 'present' else 'taken' end;
  else
    -- Where the server keeps no vectors, those of the file are left out too.
    if not pgmem.has_vectors() or exists (select from pgmem.embedding_model m where m.name = p_record ->> 'name') then
      return 'present';
    end if;
    perform pgmem.register_model(p_record ->> 'name', (p_record ->> 'dimensions')::integer);
    return 'taken';
  end case;
end;
$$;
comment on function pgmem.import_word(jsonb) is 'Make a label, a relation or a model of a file known here.';
