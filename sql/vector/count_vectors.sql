-- security definer: clients hold no rights on tables.
create or replace function pgmem.count_vectors(p_model text default null) returns bigint
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
begin
  if not pgmem.has_vectors() then
    return 0;
  end if;
  return (select count(*) from pgmem.embedding e join pgmem.embedding_model m on m.id = e.model_id
          where e.kind = 'self' and e.tenant = any ((select pgmem.visible_tenants())::text[])
            and case when p_model is null then m.active else m.name = p_model end);
end;
$$;
comment on function pgmem.count_vectors(text) is 'How many memories the caller sees have a vector of a model; of the active one if none is named.';
