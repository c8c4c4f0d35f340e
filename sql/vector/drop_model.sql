-- security definer: clients hold no rights on tables.
create or replace function pgmem.drop_model(p_name text) returns bigint
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_model pgmem.embedding_model;
  v_count bigint;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_name;
  if v_model.id is null or not pgmem.is_reviewer() then
    raise exception using errcode = 'PM001', message = format('No model %s that you may drop is here.', quote_literal(p_name));
  elsif v_model.active then
    raise exception using errcode = 'PM001', message = format('Model %s is the active one; activate another first.', p_name);
  end if;
  select count(*) into v_count from pgmem.embedding e where e.model_id = v_model.id;
  execute format('drop index if exists pgmem.embedding_hnsw_%1$s_self, pgmem.embedding_hnsw_%1$s_window', v_model.id);
  delete from pgmem.embedding_model m where m.id = v_model.id;
  return v_count;
end;
$$;
comment on function pgmem.drop_model(text) is 'Delete a model that is not active, and its vectors; how many.';
