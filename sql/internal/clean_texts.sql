create or replace function pgmem.clean_texts(p_list jsonb, p_name text) returns jsonb
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if p_list is null or jsonb_typeof(p_list) = 'null' then
    return '[]';
  end if;
  if jsonb_typeof(p_list) <> 'array' or exists (select from jsonb_array_elements(p_list) e where jsonb_typeof(e) <> 'string') then
    raise exception using errcode = 'PM001', message = format('%s must be a list of texts; send ["…", "…"].', p_name);
  end if;
  return coalesce((select jsonb_agg(text order by place)
                   from (select pgmem.clean_text(element, p_name) as text, place
                         from jsonb_array_elements_text(p_list) with ordinality as e(element, place)) cleaned
                   where text is not null), '[]');
end;
$$;
comment on function pgmem.clean_texts(jsonb, text) is 'A list of texts, each cleaned, empty ones left out.';
