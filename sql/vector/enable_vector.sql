-- pgvector 0.8 is the floor: halfvec came with 0.7, and before 0.8 an index finds too little under a filter.
create or replace function pgmem.enable_vector() returns boolean
language plpgsql
set search_path = pgmem, public, pg_temp
as $$
declare
  v_schema text := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                   where e.extname = 'vector' and string_to_array(e.extversion, '.')::integer[] >= array[0, 8]);
begin
  if v_schema is null then
    return false;
  end if;
  if to_regclass('pgmem.embedding') is null then
    execute format($t$
      create table pgmem.embedding (
        node_seq    bigint not null references pgmem.node on delete cascade,
        model_id    smallint not null references pgmem.embedding_model on delete cascade,
        kind        text not null default 'self',
        tenant      text not null,
        project_seq bigint not null,
        text_hash   text not null,
        indexed     boolean not null default false,
        vector      %I.halfvec not null,
        primary key (node_seq, model_id, kind),
        constraint kind_known check (kind in ('self', 'window'))
      )$t$, v_schema);
    comment on table pgmem.embedding is 'Vectors by node, model and kind; tenant and project are repeated so that a scope is searched by itself.';
    comment on column pgmem.embedding.project_seq is 'The project''s seq; 0: a global memory.';
    comment on column pgmem.embedding.text_hash is 'Of the text the vector was made from.';
    comment on column pgmem.embedding.indexed is 'In the HNSW index; until the worker puts it there it is compared one by one.';
    create index embedding_scope on pgmem.embedding (model_id, kind, tenant, project_seq);
    create index embedding_tail on pgmem.embedding (model_id, kind, tenant) where not indexed;
    alter table pgmem.embedding enable row level security;
    create policy own_and_shared on pgmem.embedding for select using (tenant = any ((select pgmem.visible_tenants())::text[]));
  end if;
  return true;
end;
$$;
comment on function pgmem.enable_vector() is
  'Make the table of vectors; false where the server has no pgvector 0.8 or later. Every pgmem init calls it.';
