-- security definer: counts over all tenants, which name no one.
create or replace function pgmem.embedding_status()
returns table (model text, dimensions integer, active boolean, vectors bigint, not_indexed bigint, waiting bigint, index_name text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if not pgmem.has_vectors() then
    return;
  end if;
  return query
  select m.name, m.dimensions, m.active, count(e.node_seq), count(e.node_seq) filter (where not e.indexed),
         (select count(*) from pgmem.embedding_queue q where q.model_id = m.id),
         to_regclass(format('pgmem.embedding_hnsw_%s_self', m.id))::text
  from pgmem.embedding_model m left join pgmem.embedding e on e.model_id = m.id
  group by m.id, m.name, m.dimensions, m.active order by m.id;
end;
$$;
comment on function pgmem.embedding_status() is 'The models, their vectors, and how many texts wait for one.';
