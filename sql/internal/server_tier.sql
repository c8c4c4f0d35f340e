create or replace function pgmem.server_tier(out tier text, out walls integer, out age_version text, out vector_version text)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  -- An older pgvector is shown and not used: enable_vector() makes no table for it.
  v_vectors boolean := to_regclass('pgmem.embedding') is not null;
begin
  age_version := (select extversion from pg_extension where extname = 'age');
  vector_version := (select extversion from pg_extension where extname = 'vector');
  tier := case when age_version is not null and v_vectors then 'full'
               when age_version is not null then 'no pgvector'
               when v_vectors then 'no AGE' else 'full text only' end;
  walls := case when (select n.nspowner from pg_namespace n where n.nspname = 'pgmem') = to_regrole('pgmem_owner') then 2 else 1 end;
end;
$$;
comment on function pgmem.server_tier() is 'What the server offers, and how many walls stand between tenants.';
