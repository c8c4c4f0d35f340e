-- Vectors and their models
--
-- A store on a server with pgvector has one table of vectors, pgmem.embedding. A row is the vector of one memory under
-- one model. One model is active, and search uses its vectors; another can be filled beside it and then activated.
--
-- A new vector is compared one by one until the worker puts it into the HNSW index of its model. The index is partial
-- (where indexed), so a save never pays for an insertion into the graph of the index. It is made only above
-- vector_index_limit vectors, because below that a comparison of all of them is about as fast.
--
-- Locks: index_vectors locks the rows it marks and skips locked ones; drop_model locks the rows and indexes it deletes;
-- register_model locks embedding_model where the model is new.


-- pgvector 0.8 is the floor: halfvec came with 0.7, and before 0.8 an index finds too little under a filter.
create or replace function pgmem.enable_vector() returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_schema  text;
  v_version integer[];
  v_single  boolean;
begin
  -- An extension that was dropped took the column with it, in all rows.
  if to_regclass('pgmem.embedding') is not null and not exists (
      select from pg_attribute a
      where a.attrelid = to_regclass('pgmem.embedding') and a.attname = 'vector' and not a.attisdropped) then
    execute 'drop table pgmem.embedding';
  end if;
  select n.nspname, string_to_array(e.extversion, '.')::integer[] into v_schema, v_version
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector';
  if v_version < array[0, 8] is not false then
    return false;
  end if;
  if to_regclass('pgmem.embedding') is null then
    execute format($t$
      create table pgmem.embedding (
        node_seq    bigint not null references pgmem.node on delete cascade,
        model_id    smallint not null references pgmem.embedding_model on delete cascade,
        tenant      text not null,
        project_seq bigint not null,
        text_hash   text not null,
        indexed     boolean not null default false,
        vector      %I.halfvec not null,
        primary key (node_seq, model_id)
      )$t$, v_schema);
    create index embedding_scope on pgmem.embedding (model_id, tenant, project_seq);
    create index embedding_tail on pgmem.embedding (model_id, tenant) where not indexed;
    perform pgmem.secure_table('embedding');
    perform pgmem.queue_missing(m.id, false) from pgmem.embedding_model m where m.active;
  end if;
  -- Before 0.8.2 the workers of a parallel build of an HNSW index can read and write outside their memory
  -- (CVE-2026-3172). The table allows none, so that REINDEX and pg_restore build without them too.
  select 'parallel_workers=0' = any (c.reloptions) into v_single
  from pg_class c where c.oid = 'pgmem.embedding'::regclass;
  if v_version < array[0, 8, 2] and v_single is not true then
    alter table pgmem.embedding set (parallel_workers = 0);
  elsif v_version >= array[0, 8, 2] and v_single then
    alter table pgmem.embedding reset (parallel_workers);
  end if;
  -- Outside, because a table of an earlier release has that release's.
  comment on table pgmem.embedding is
    'Vectors by node and model; tenant and project are repeated so that a scope is searched by itself.';
  comment on column pgmem.embedding.project_seq is 'The project''s seq; 0: a global memory.';
  comment on column pgmem.embedding.text_hash is 'Belongs to the text the vector was made from.';
  comment on column pgmem.embedding.indexed is
    'In the HNSW index; until the worker puts it there it is compared one by one.';
  return true;
end;
$$;
comment on function pgmem.enable_vector is $$
Make the table of vectors; false where the server has no pgvector 0.8 or later. Every pgmem init calls it.
$$;
select pgmem.declare_verb('enable_vector', p_rights => 'owner', p_effect => 'repeat', p_reach => 'cell',
  p_reads_all => 'It queues all memories for vectors.');


create or replace function pgmem.has_vectors() returns boolean
language sql stable
begin atomic
  select to_regclass('pgmem.embedding') is not null;
end;
comment on function pgmem.has_vectors() is 'Whether this store keeps vectors.';


-- The name of a model belongs to the whole store: a tenant that registered it first, with other dimensions, would keep
-- the vectors of all others out.
create or replace function pgmem.require_registrar(p_name text, p_dimensions integer) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if pgmem.clean_key(p_name, 'name') is distinct from p_name or p_name is null then
    raise exception using errcode = 'PM001', message = 'name must be the name of a model; send provider:model.';
  end if;
  perform pgmem.integer_between('dimensions', p_dimensions, 1, 4000);
  if pgmem.is_trusted() or pgmem.is_reviewer() then
    return;
  end if;
  if (pgmem.require_writer()).is_shared then
    raise exception using errcode = 'PM004', message = format('Model %s is not registered here. In a store with '
      'tenants the owner registers it: pgmem reindex, or register_model in SQL.', quote_literal(left(p_name, 80)));
  end if;
end;
$$;
comment on function pgmem.require_registrar is
  'An error unless the caller may register a model of this name: the owner, a trusted login, or the one tenant.';


select pgmem.declare_answer('registered_model', $$
A model of embeddings that is on record.

name text, dimensions integer, active boolean
$$);

create or replace function pgmem.register_model(
  p_name text,
  p_dimensions integer,
  p_known_only boolean default false
) returns pgmem.registered_model
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.registered_model;
begin
  if not pgmem.has_vectors() then
    raise exception using errcode = 'PM008',
      message = 'This server has no pgvector 0.8 or later: search is by full text. '
        'Install the extension and run pgmem init.';
  end if;
  -- Looked up first: an insert that finds its name taken would use up an identity, of which there are 32 767.
  select m.name, m.dimensions, m.active into v_answer
  from pgmem.embedding_model m where m.name = p_name;
  if v_answer.name is null and not p_known_only then
    perform pgmem.require_registrar(p_name, p_dimensions);
    lock table pgmem.embedding_model in share row exclusive mode;
    select m.name, m.dimensions, m.active into v_answer
    from pgmem.embedding_model m where m.name = p_name;
  end if;
  if v_answer.name is null and not p_known_only then
    if (select count(*) from pgmem.embedding_model) >= 100 then
      raise exception using errcode = 'PM009',
        message = 'This store has 100 models, the most it keeps; drop_model removes one that is not active.';
    end if;
    insert into pgmem.embedding_model (name, dimensions, active)
    values (p_name, p_dimensions, not exists (select from pgmem.embedding_model m where m.active))
    returning pgmem.embedding_model.name, pgmem.embedding_model.dimensions, pgmem.embedding_model.active
    into v_answer;
    if v_answer.active then
      perform pgmem.queue_missing((select m.id from pgmem.embedding_model m where m.name = p_name), false);
    end if;
  elsif v_answer.dimensions <> p_dimensions then
    raise exception using errcode = 'PM001',
      message = format('Model %s has %s dimensions here, not %s: give the other one another name.',
                       p_name, v_answer.dimensions, p_dimensions);
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.register_model is $$
Register an embedding model; the first one becomes active, and memories saved before it are queued.

A model that is registered already stays as it is. A new one is registered by the owner, a reviewer or a member of
pgmem_trusted; in a store without tenants, by any writer.

name: The name of the model, as provider:model.
dimensions: How many numbers each of its vectors has, 1 to 4000.
known_only: Register nothing; a model that is not registered comes back as null. False by default.

TierMissing: the server has no pgvector 0.8 or later.
InvalidArgument: the model is registered with another number of dimensions, or cannot be registered.
NotPermitted: the model is new and the login is bound to a tenant.
CapacityReached: the store has 100 models.
IdentityRequired: the model is new, the store has tenants and the caller has no identity.
$$;
select pgmem.declare_verb('register_model', p_rights => 'writer', p_effect => 'repeat', p_reach => 'every',
  p_reads_all => 'It queues all memories for the vectors of a new model.');


create or replace function pgmem.require_model(p_name text) returns pgmem.embedding_model
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_model pgmem.embedding_model;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_name;
  if v_model.id is null then
    raise exception using errcode = 'PM001', message = format('Unknown model %s. Known: %s.', quote_literal(p_name),
      coalesce((select string_agg(name, ', ') from pgmem.embedding_model), 'none'));
  end if;
  return v_model;
end;
$$;
comment on function pgmem.require_model is 'A registered model; an unknown name is an error that lists those that are known.';


-- Also memories saved in SQL before any model existed.
create or replace function pgmem.queue_missing(p_model_id smallint, p_all boolean) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  insert into pgmem.embedding_queue (node_seq, model_id)
  select n.seq, p_model_id from pgmem.node n
  where pgmem.is_embedded(n.label)
    and n.status not in ('archived', 'merged', 'rejected', 'dismissed', 'captured')
    and (p_all or not exists (select from pgmem.embedding e where e.node_seq = n.seq and e.model_id = p_model_id))
  on conflict do nothing;
end;
$$;
comment on function pgmem.queue_missing is 'Queue every memory that has no vector of a model, or every memory.';


create or replace function pgmem.activate_model(p_name text) returns text
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_model pgmem.embedding_model;
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004',
      message = 'The active model is the owner''s choice: connect as the owner or a reviewer.';
  end if;
  v_model := pgmem.require_model(p_name);
  update pgmem.embedding_model m set active = false where m.active and m.id <> v_model.id;
  update pgmem.embedding_model m set active = true where m.id = v_model.id;
  perform pgmem.queue_missing(v_model.id, false);
  return p_name;
end;
$$;
comment on function pgmem.activate_model is $$
Let search use this model from the next query on; memories without a vector of it are queued.
$$;
select pgmem.declare_verb('activate_model', p_rights => 'reviewer', p_effect => 'repeat', p_answer => 'None',
  p_reach => 'every',
  p_reads_all => 'It queues all memories that lack a vector of the model.');


create or replace function pgmem.drop_model(p_name text) returns bigint
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_model pgmem.embedding_model;
  v_count bigint;
begin
  select m.* into v_model from pgmem.embedding_model m where m.name = p_name;
  if v_model.id is null or not pgmem.is_reviewer() then
    raise exception using errcode = 'PM001',
      message = format('No model %s found that you may drop.', quote_literal(p_name));
  elsif v_model.active then
    raise exception using errcode = 'PM001',
      message = format('Model %s is the active one; activate another first.', p_name);
  end if;
  select count(*) into v_count from pgmem.embedding e where e.model_id = v_model.id;
  execute format('drop index if exists pgmem.embedding_hnsw_%1$s', v_model.id);
  delete from pgmem.embedding_model m where m.id = v_model.id;
  return v_count;
end;
$$;
comment on function pgmem.drop_model is $$
Delete a model that is not active and its vectors; how many.
$$;
select pgmem.declare_verb('drop_model', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'int',
  p_patience => 'report', p_reach => 'every');


select pgmem.declare_answer('indexed_vectors', $$
How far the indexes of vectors are made.

left_over bigint, wanted text[], done integer
$$);

-- security definer: the worker's; it says which index is wanted and puts vectors into it in batches.
create or replace function pgmem.index_vectors(
  p_batch integer default 2000
) returns pgmem.indexed_vectors
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.indexed_vectors;
begin
  v_answer.wanted := '{}';
  v_answer.left_over := 0;
  v_answer.done := 0;
  if not pgmem.has_vectors() then
    return v_answer;
  end if;
  -- An index is worth its price only above the number of vectors that are compared one by one about as fast.
  select coalesce(array_agg(format(
    'create index concurrently if not exists embedding_hnsw_%1$s on pgmem.embedding'
    ' using hnsw ((vector::%2$s.halfvec(%3$s)) %2$s.halfvec_cosine_ops) where indexed and model_id = %1$s',
    m.id,
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'),
    m.dimensions)), '{}')
  into v_answer.wanted
  from pgmem.embedding_model m
  where to_regclass(format('pgmem.embedding_hnsw_%s', m.id)) is null
    and (select count(*) from (
           select from pgmem.embedding e where e.model_id = m.id
           limit pgmem.setting_int('vector_index_limit') + 1) e) > pgmem.setting_int('vector_index_limit');
  -- Marked before the index is made: building it over all marked rows costs a tenth of adding them row by row. Until
  -- then all are compared one by one, whatever the mark says.
  update pgmem.embedding e set indexed = true
  where not e.indexed and exists (
    select from unnest(v_answer.wanted) w where strpos(w, format('embedding_hnsw_%s ', e.model_id)) > 0);
  if exists (
    select from pgmem.embedding_model m where to_regclass(format('pgmem.embedding_hnsw_%s', m.id)) is not null) then
    update pgmem.embedding e set indexed = true
    from (select t.node_seq, t.model_id from pgmem.embedding t
          where not t.indexed and to_regclass(format('pgmem.embedding_hnsw_%s', t.model_id)) is not null
          limit p_batch for update skip locked) t
    where e.node_seq = t.node_seq and e.model_id = t.model_id;
    get diagnostics v_answer.done = row_count;
    select count(*) into v_answer.left_over from (select from pgmem.embedding e where not e.indexed
      and to_regclass(format('pgmem.embedding_hnsw_%s', e.model_id)) is not null limit 100000) e;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.index_vectors is $$
Make the indexes that are worth it and put new vectors into them; how many are left for the next call.

The index is built concurrently, on its own connection: it cannot be in a transaction.
$$;
select pgmem.declare_verb('index_vectors', p_rights => 'worker', p_effect => 'repeat',
  p_patience => 'report', p_reach => 'sum');


select pgmem.declare_answer('embedding_model_answer', $$
An embedding model of the store, with the number of its vectors, and of the texts queued for it.

`index_missing` is whether it has more vectors than `vector_index_limit` and no index over them.

class EmbeddingModel
model text, dimensions integer, active boolean, vectors bigint, waiting bigint, not_indexed bigint, index_name text?
index_missing boolean = false
$$);

-- security definer: counts over all tenants, which name no one.
create or replace function pgmem.embedding_status() returns setof pgmem.embedding_model_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.has_vectors() then
    return;
  end if;
  return query
  select m.name, m.dimensions, m.active, count(e.node_seq),
         (select count(*) from pgmem.embedding_queue q where q.model_id = m.id),
         count(e.node_seq) filter (where not e.indexed),
         to_regclass(format('pgmem.embedding_hnsw_%s', m.id))::text,
         to_regclass(format('pgmem.embedding_hnsw_%s', m.id)) is null
           and count(e.node_seq) > pgmem.setting_int('vector_index_limit')
  from pgmem.embedding_model m left join pgmem.embedding e on e.model_id = m.id
  group by m.id, m.name, m.dimensions, m.active order by m.id;
end;
$$;
comment on function pgmem.embedding_status is $$
The models of this store, their vectors, and how many texts wait for one.

With index_missing, a model has more vectors than vector_index_limit and no index yet: they are compared one by one until
a worker makes it.
$$;
select pgmem.declare_verb('embedding_status', p_rights => 'worker', p_effect => 'look',
  p_answer => 'list[EmbeddingModel]', p_reach => 'union');
