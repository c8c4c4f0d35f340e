-- What a caller may not say about himself: provenance, tenant and times are stamped by the way in. Keys that begin with _ are ours.
create or replace function pgmem.clean_properties(p_properties jsonb, p_depth integer default 0) returns jsonb
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if p_depth > 20 then
    raise exception using errcode = 'PM001', message = 'properties are nested more than 20 deep; send flat ones.';
  end if;
  case jsonb_typeof(p_properties)
    when 'string' then
      return to_jsonb(coalesce(pgmem.clean_text(p_properties #>> '{}', 'a property'), ''));
    when 'array' then
      return coalesce((select jsonb_agg(pgmem.clean_properties(e.value, p_depth + 1) order by e.place)
                       from jsonb_array_elements(p_properties) with ordinality as e(value, place)), '[]');
    when 'object' then
      return coalesce((
        select jsonb_object_agg(pgmem.clean_key(p.name, 'a property name'), pgmem.clean_properties(p.value, p_depth + 1))
        from jsonb_each(p_properties) as p(name, value)
        where pgmem.clean_key(p.name, 'a property name') is not null and left(btrim(p.name), 1) <> '_' and (p_depth > 0 or btrim(p.name) <> all
          ('{source,source_agent,source_session,trust_level,org_id,user_id,agent_id,session_id,created_at,updated_at}'))), '{}');
    else
      return p_properties;
  end case;
end;
$$;
comment on function pgmem.clean_properties(jsonb, integer) is
  'Properties as they may be stored: reserved keys and _* dropped, control characters stripped, lengths and depth bounded.';
