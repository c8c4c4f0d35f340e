create or replace function pgmem.cards_sync(p_tenants text[], p_project_seq bigint) returns jsonb
language sql stable
set search_path = pgmem, pg_temp
as $$
  select jsonb_build_object('policy', pgmem.setting_text('cards_sync_policy'),
      'state', case when exists (select from pgmem.card_state s where s.tenant = any (p_tenants) and s.project_seq = p_project_seq) then 'ready' else 'missing' end)
    || coalesce((select jsonb_build_object('last_run_id', r.id, 'last_run_at', r.created_at, 'fingerprint', r.fingerprint, 'commit', r.commit_id)
                 from pgmem.card_run r where r.tenant = any (p_tenants) and r.project_seq = p_project_seq order by r.created_at desc, r.id desc limit 1), '{}');
$$;
comment on function pgmem.cards_sync(text[], bigint) is 'Whether a project has engineering memory, from which run, and when it is refreshed by itself.';
