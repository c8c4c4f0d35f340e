-- Embedding: the queue of texts
--
-- A save brings the vector of its text, or its text goes into pgmem.embedding_queue and a worker embeds it later: it
-- claims a batch (claim_embeddings), calls the provider outside any transaction, and stores the result (store_vectors).
-- A claim is a lease with an end, so a worker that dies loses nothing; the row is free again when the
-- lease ends. A vector is kept only while its text_hash is that of the node's present text.
--
-- Locks: rows of the queue (skip locked); in store_vectors the node, shared, by seq, then its rows.


select pgmem.declare_answer('claimed_text', $$
A text that waits for a vector.

node_seq bigint, text text, text_hash text, kind former_text
$$);

-- A lease, not a lock: no transaction is open while a provider computes. Two workers never claim the same row. A caller
-- that may act for every tenant embeds for all, another for the tenants that it sees.
create or replace function pgmem.claim_embeddings(
  p_model text,
  p_limit integer default 64,
  p_lease_s integer default 300
) returns setof pgmem.claimed_text
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_tenants text[] := pgmem.writable_tenants();
begin
  perform pgmem.integer_between('limit', p_limit, 1, 1000);
  perform pgmem.integer_between('lease_s', p_lease_s, 1, pgmem.setting_int('max_lease_s'));
  return query
  with mine as (
    update pgmem.embedding_queue q
    set claimed_until = pgmem.clock() + make_interval(secs => p_lease_s), attempts = q.attempts + 1
    from (select w.model_id, w.node_seq
          from pgmem.embedding_queue w join pgmem.embedding_model m on m.id = w.model_id
          where m.name = p_model
            and (v_tenants is null
                 or exists (select from pgmem.node v where v.seq = w.node_seq and v.tenant = any (v_tenants)))
            and (w.claimed_until is null or w.claimed_until < pgmem.clock())
          order by w.attempts, w.node_seq limit p_limit for update of w skip locked) w
    where q.model_id = w.model_id and q.node_seq = w.node_seq
    returning q.node_seq
  )
  select m.node_seq, t.text, encode(sha256(convert_to(t.text, 'UTF8')), 'hex'), 'self'::pgmem.former_text
  from mine m join pgmem.node n on n.seq = m.node_seq
  cross join lateral pgmem.embedding_text(n.label, n.title, n.props) as t(text)
  order by m.node_seq;
end;
$$;
comment on function pgmem.claim_embeddings is $$
Claim queued texts of a model for some seconds; store_vectors removes them from the queue.

A member of pgmem_trusted and the owner claim texts of every tenant, another login those of its tenant and of its
organisation. No other caller gets a claimed text until its lease ends. The texts with the fewest attempts come first.

model: The name of a registered model.
limit: How many texts at most, 1 to 1000.
lease_s: How long the claim holds, in seconds, 1 to max_lease_s.

InvalidArgument: the limit or the lease is out of bounds.
$$;
select pgmem.declare_verb('claim_embeddings', p_rights => 'writer', p_effect => 'write', p_reach => 'cell');


create or replace function pgmem.queue_embeddings(
  p_model text,
  p_all boolean default false
) returns bigint
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_model pgmem.embedding_model := pgmem.require_model(p_model);
  v_count bigint;
begin
  perform pgmem.queue_missing(v_model.id, p_all);
  select count(*) into v_count from pgmem.embedding_queue q where q.model_id = v_model.id;
  return v_count;
end;
$$;
comment on function pgmem.queue_embeddings is $$
Queue every text that has no vector of this process's model (or every text); how many wait.
$$;
select pgmem.declare_verb('queue_embeddings', p_rights => 'worker', p_effect => 'repeat',
  p_patience => 'report', p_reach => 'sum',
  p_reads_all => 'It queues all memories that lack a vector of the model.');


create or replace function pgmem.queue_changed(p_seqs bigint[]) returns void
language plpgsql set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
  if not pgmem.has_vectors() or not exists (select from pgmem.embedding_model m where m.active) then
    return;
  end if;
  insert into pgmem.embedding_queue (node_seq, model_id)
  select n.seq, m.id from pgmem.node n
  cross join pgmem.embedding_model m
  cross join lateral pgmem.derived(n.label, n.title, n.props, n.tenant, n.project_seq, n.session_id, n.text_config) d
  where n.seq = any (p_seqs) and m.active and pgmem.is_embedded(n.label)
    and n.status not in ('archived', 'merged', 'rejected', 'dismissed', 'captured')
    and not exists (select from pgmem.embedding e
                    where e.node_seq = n.seq and e.model_id = m.id and e.text_hash = d.embedding_hash)
  on conflict do nothing;
end;
$$;
comment on function pgmem.queue_changed is
  'Queue, of some memories, those of whose present text the active model has no vector.';


-- The vector that a save brings is kept if it was made from the text as finally written; otherwise the worker embeds.
-- A store without an active model pays one lookup.
create or replace function pgmem.store_embedding(
  p_node pgmem.node,
  p_embedding pgmem.given_embedding default null
) returns boolean
language plpgsql as $$
declare
  v_found record;
begin
  if not pgmem.is_memory(p_node.label) or pgmem.is_hidden_status(p_node.status) or not pgmem.has_vectors() then
    return false;
  end if;
  if (p_embedding).vector is not null then
    -- The text within the statement, into which it is merged.
    select m as model, encode(sha256(convert_to(pgmem.marked_text(p_node.label, p_node.title, t.searched_text), 'UTF8')), 'hex') as text_hash
    into v_found from pgmem.embedding_model m
    cross join pgmem.searched_text(p_node.label, p_node.title, p_node.props) t where m.name = (p_embedding).model;
    if v_found.text_hash = (p_embedding).text_hash then
      return pgmem.put_vector(p_node.seq, v_found.model, p_node.tenant, coalesce(p_node.project_seq, 0),
                              v_found.text_hash, (p_embedding).vector);
    end if;
  else
    select m as model into v_found from pgmem.embedding_model m where m.active;
  end if;
  if (v_found.model).id is not null then
    insert into pgmem.embedding_queue (node_seq, model_id) values (p_node.seq, (v_found.model).id)
    on conflict do nothing;
  end if;
  return false;
end;
$$;
comment on function pgmem.store_embedding(pgmem.node, pgmem.given_embedding) is
  'Keep the vector a save brought, or queue its text for the worker; true when kept. A hidden node has none.';


create or replace function pgmem.put_vector(
  p_seq bigint,
  p_model pgmem.embedding_model,
  p_tenant text,
  p_project_seq bigint,
  p_text_hash text,
  p_vector real[]
) returns boolean
language plpgsql as $$
begin
  if cardinality(p_vector) <> p_model.dimensions then
    raise exception using errcode = 'PM001', message = format(
      'Model %s has %s dimensions, this vector has %s; send vectors of that model.',
      p_model.name, p_model.dimensions, cardinality(p_vector));
  end if;
  if (0 = all (p_vector)) is not false then
    raise exception using errcode = 'PM001',
      message = 'A vector of zeros is near nothing; send none, and the worker embeds.';
  end if;
  with stored as (
    insert into pgmem.embedding (node_seq, model_id, tenant, project_seq, text_hash, vector)
    values (p_seq, p_model.id, p_tenant, p_project_seq, p_text_hash, p_vector::public.halfvec)
    on conflict (node_seq, model_id) do update
      set vector = excluded.vector, text_hash = excluded.text_hash, indexed = false)
  delete from pgmem.embedding_queue q where q.node_seq = p_seq and q.model_id = p_model.id;
  return true;
end;
$$;
comment on function pgmem.put_vector is
  'Store one vector, and true; a wrong dimension and a vector of zeros are refused.';


create or replace function pgmem.delete_embeddings(p_seqs bigint[]) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_deleted integer := 0;
begin
  -- Dynamic, because these tables exist only where the server has pgvector.
  if to_regclass('pgmem.embedding') is not null then
    execute 'delete from pgmem.embedding where node_seq = any ($1)' using p_seqs;
    get diagnostics v_deleted = row_count;
  end if;
  if to_regclass('pgmem.embedding_queue') is not null then
    execute 'delete from pgmem.embedding_queue where node_seq = any ($1)' using p_seqs;
  end if;
  return v_deleted;
end;
$$;
comment on function pgmem.delete_embeddings is
  'Delete the vectors of nodes, and their texts that await embedding; the number of vectors.';


-- Out of embedding, where they would crowd the index of the live ones.
create or replace function pgmem.set_aside_embeddings(p_seqs bigint[]) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if to_regclass('pgmem.embedding') is not null then
    execute 'insert into pgmem.archived_vector (node_seq, model_id, text_hash, vector) '
            'select e.node_seq, e.model_id, e.text_hash, e.vector::real[] from pgmem.embedding e '
            'where e.node_seq = any ($1) '
            'on conflict (node_seq, model_id) do update set text_hash = excluded.text_hash, vector = excluded.vector'
    using p_seqs;
  end if;
  return pgmem.delete_embeddings(p_seqs);
end;
$$;
comment on function pgmem.set_aside_embeddings is
  'Take the vectors of nodes that are hidden out of the search, and keep them for their return; the number of vectors.';


create or replace function pgmem.restore_embeddings(p_node pgmem.node) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_kept record;
begin
  if not pgmem.has_vectors() then
    return;
  end if;
  for v_kept in
    with taken as (delete from pgmem.archived_vector a where a.node_seq = p_node.seq returning a.*)
    select m as model, t.text_hash, t.vector from taken t join pgmem.embedding_model m on m.id = t.model_id
  loop
    perform pgmem.put_vector(p_node.seq, v_kept.model, p_node.tenant, coalesce(p_node.project_seq, 0),
                             v_kept.text_hash, v_kept.vector);
  end loop;
end;
$$;
comment on function pgmem.restore_embeddings is
  'Put back the vectors of a node that was hidden; a text that has changed since is queued by its save.';


-- A text that changed while the provider computed is not stored: it goes back to the queue, or the newer vector stays.
-- A caller that may act for every tenant stores for all, another for the tenants that it sees.
create or replace function pgmem.store_vectors(p_model text, p_items jsonb) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_model pgmem.embedding_model;
  v_item  jsonb;
  v_node  pgmem.node;
  v_count integer := 0;
  v_tenants text[] := pgmem.writable_tenants();
  v_text  text;
begin
  perform pgmem.require_count(jsonb_array_length(p_items), 'items', 'max_list_limit');
  v_model := pgmem.require_model(p_model);
  for v_item in select value from jsonb_array_elements(p_items) order by (value ->> 'node_seq')::bigint loop
    select n.* into v_node from pgmem.node n where n.seq = (v_item ->> 'node_seq')::bigint for share;
    continue when v_node.seq is null or pgmem.is_hidden_status(v_node.status)
      or not (v_tenants is null or v_node.tenant = any (v_tenants));
    v_text := pgmem.embedding_text(v_node.label, v_node.title, v_node.props);
    -- The text has changed since it was claimed: it goes back to the queue, or the newer vector stays.
    if encode(sha256(convert_to(v_text, 'UTF8')), 'hex') is distinct from v_item ->> 'text_hash' then
      update pgmem.embedding_queue q set claimed_until = null
      where q.node_seq = v_node.seq and q.model_id = v_model.id;
      continue;
    end if;
    perform pgmem.put_vector(v_node.seq, v_model, v_node.tenant, coalesce(v_node.project_seq, 0),
      v_item ->> 'text_hash', translate(v_item ->> 'vector', '[]', '{}')::real[]);
    v_count := v_count + 1;
  end loop;
  return v_count;
end;
$$;
comment on function pgmem.store_vectors is $$
Store the vectors of claimed texts; returns the number stored.

A vector is left out if its node is archived, its text has changed, or the caller may not write it; a changed text goes
back to the queue.

model: The name of a registered model.
items: A list of {node_seq, text_hash, vector}; a vector is a list of numbers, or the text of one.

InvalidArgument: no model of that name is registered, a vector has a wrong dimension or holds zeros alone, or
  there are more items than max_list_limit.
$$;
select pgmem.declare_verb('store_vectors', p_rights => 'writer', p_effect => 'write', p_reach => 'cell');
