create or replace function pgmem.card_keys(p_caller pgmem.caller, p_project_seq bigint) returns bigint[]
language sql stable
set search_path = pgmem, pg_temp
as $$
  select coalesce(array_agg(pgmem.scope_key(tenant, p_project_seq::text, 'Card')), '{}') from unnest(p_caller.tenants) as tenant;
$$;
comment on function pgmem.card_keys(pgmem.caller, bigint) is
  'The scope keys of the cards of a project that the caller may see: one a visible tenant.';
