-- security definer: the worker's; it says which index is wanted and puts vectors into it in batches.
create or replace function pgmem.index_vectors(p_batch integer default 2000, out left_over bigint, out wanted text[])
language plpgsql security definer
set search_path = pgmem, public, pg_temp
as $$
#variable_conflict use_column
begin
  wanted := '{}';
  left_over := 0;
  if not pgmem.has_vectors() then
    return;
  end if;
  -- An index is worth its price only above the number of vectors that are compared one by one about as fast.
  select coalesce(array_agg(format(
    'create index concurrently if not exists embedding_hnsw_%1$s_%2$s on pgmem.embedding using hnsw ((vector::%3$s.halfvec(%4$s)) %3$s.halfvec_cosine_ops) where indexed and model_id = %1$s and kind = %2$L',
    c.id, c.kind, (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'), c.dimensions)), '{}')
  into wanted
  from (select m.id, m.dimensions, k.kind from pgmem.embedding_model m cross join (values ('self'), ('window')) k(kind)
        where to_regclass(format('pgmem.embedding_hnsw_%s_%s', m.id, k.kind)) is null
          and (select count(*) from (select from pgmem.embedding e where e.model_id = m.id and e.kind = k.kind
                                     limit pgmem.setting_int('vector_index_limit') + 1) e) > pgmem.setting_int('vector_index_limit')) c;
  -- Marked before the index is made: building it over what is there costs a tenth of putting it in row by row. Until then all are
  -- compared one by one, whatever the mark says.
  update pgmem.embedding e set indexed = true
  from pgmem.embedding_model m cross join (values ('self'), ('window')) k(kind)
  where not e.indexed and e.model_id = m.id and e.kind = k.kind
    and exists (select from unnest(wanted) w where strpos(w, format('embedding_hnsw_%s_%s ', m.id, k.kind)) > 0);
  if exists (select from pgmem.embedding_model m where to_regclass(format('pgmem.embedding_hnsw_%s_self', m.id)) is not null) then
    update pgmem.embedding e set indexed = true
    from (select t.node_seq, t.model_id, t.kind from pgmem.embedding t
          where not t.indexed and to_regclass(format('pgmem.embedding_hnsw_%s_%s', t.model_id, t.kind)) is not null
          limit p_batch for update skip locked) t
    where e.node_seq = t.node_seq and e.model_id = t.model_id and e.kind = t.kind;
    select count(*) into left_over from (select from pgmem.embedding e where not e.indexed
      and to_regclass(format('pgmem.embedding_hnsw_%s_%s', e.model_id, e.kind)) is not null limit 100000) e;
  end if;
end;
$$;
comment on function pgmem.index_vectors(integer) is
  'Put a batch of new vectors into the HNSW index, and name the indexes that should be made (concurrently, outside a transaction).';
