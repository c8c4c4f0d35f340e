-- security definer: clients hold no rights on tables.
create or replace function pgmem.register_model(p_name text, p_dimensions integer, out name text, out dimensions integer, out active boolean)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if not pgmem.has_vectors() then
    raise exception using errcode = 'PM008', message = 'This server has no pgvector 0.8 or later: search is by full text. Install the extension and run pgmem init.';
  end if;
  insert into pgmem.embedding_model (name, dimensions, active)
  values (p_name, p_dimensions, not exists (select from pgmem.embedding_model m where m.active))
  on conflict do nothing;
  select m.name, m.dimensions, m.active into name, dimensions, active from pgmem.embedding_model m where m.name = p_name;
  if dimensions <> p_dimensions then
    raise exception using errcode = 'PM001', message = format('Model %s has %s dimensions here, not %s: give the other one a name of its own.',
      p_name, dimensions, p_dimensions);
  end if;
end;
$$;
comment on function pgmem.register_model(text, integer) is 'Make a model known; the first one becomes the active one.';
