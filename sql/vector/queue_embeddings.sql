-- security definer: clients hold no rights on tables.
create or replace function pgmem.queue_embeddings(p_model text, p_all boolean default false) returns bigint
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_model pgmem.embedding_model;
  v_count bigint;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_model;
  if v_model.id is null then
    raise exception using errcode = 'PM001', message = format('Unknown model %s. Known: %s.', quote_literal(p_model),
      coalesce((select string_agg(name, ', ') from pgmem.embedding_model), 'none'));
  end if;
  insert into pgmem.embedding_queue (node_seq, kind, model_id)
  select n.seq, k.kind, v_model.id
  from pgmem.node n cross join (values ('self'), ('window')) k(kind)
  where pgmem.is_memory(n.label) and n.status not in ('archived', 'merged', 'rejected', 'dismissed')
    and (k.kind = 'self' or n.session_id is not null and n.label <> 'Session')
    and (p_all or not exists (select from pgmem.embedding e where e.node_seq = n.seq and e.model_id = v_model.id and e.kind = k.kind))
  on conflict do nothing;
  select count(*) into v_count from pgmem.embedding_queue q where q.model_id = v_model.id;
  return v_count;
end;
$$;
comment on function pgmem.queue_embeddings(text, boolean) is 'Queue every text that has no vector of a model (all: every text); how many wait now.';
