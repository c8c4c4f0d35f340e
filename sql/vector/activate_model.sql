-- security definer: clients hold no rights on tables.
create or replace function pgmem.activate_model(p_name text) returns text
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'The active model is the owner''s choice: connect as the owner or a reviewer.';
  end if;
  if not exists (select from pgmem.embedding_model m where m.name = p_name) then
    raise exception using errcode = 'PM001', message = format('Unknown model %s. Known: %s.', quote_literal(p_name),
      coalesce((select string_agg(name, ', ') from pgmem.embedding_model), 'none'));
  end if;
  update pgmem.embedding_model m set active = false where m.active and m.name <> p_name;
  update pgmem.embedding_model m set active = true where m.name = p_name;
  return p_name;
end;
$$;
comment on function pgmem.activate_model(text) is 'Let search use this model from the next query on; backfill it first (pgmem reindex).';
