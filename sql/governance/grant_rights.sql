-- A client may run verbs and nothing else. A verb is a security definer function; what asks is_reviewer() is a person's.
-- Roles that were not made get nothing.
create or replace function pgmem.grant_rights() returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_verb record;
  v_view text;
begin
  execute 'revoke all on all functions in schema pgmem from public';
  execute 'revoke all on all tables in schema pgmem from public';
  if (select n.nspowner from pg_namespace n where n.nspname = 'pgmem') is distinct from to_regrole('pgmem_owner')::oid then
    return;
  end if;
  execute 'grant usage on schema pgmem to pgmem_writer, pgmem_reader';
  execute 'grant select on pgmem.schema_version to pgmem_writer, pgmem_reader';
  for v_verb in
    select p.oid::regprocedure as signature, p.provolatile = 's' as reads,
           p.prosrc ~ '\m(is_reviewer|require_reviewer|require_keeper)\(' as is_for_reviewers,
           -- What counts or tends all tenants at once is the worker's.
           p.proname in ('embedding_status', 'index_vectors', 'queue_embeddings', 'backlog', 'dedup_due', 'refresh_dedup', 'sweep') as is_for_workers
    from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.prosecdef and p.prorettype <> 'trigger'::regtype
  loop
    execute format('grant execute on function %s to %s', v_verb.signature,
      case when v_verb.is_for_workers then 'pgmem_trusted, pgmem_reviewer' when v_verb.is_for_reviewers then 'pgmem_reviewer' when v_verb.reads then 'pgmem_writer, pgmem_reader' else 'pgmem_writer' end);
  end loop;
  -- The views run with the rights of who reads them: row-level security on the tables below is the second wall.
  execute 'grant select on pgmem.node, pgmem.edge, pgmem.node_version, pgmem.save_attempt, pgmem.label, pgmem.relation, pgmem.setting, '
    'pgmem.card_subject, pgmem.card_evidence, pgmem.card_revision, pgmem.card_intent, pgmem.card_run to pgmem_reader';
  execute 'grant select (id, preview, org_id, user_id, tenant, issued_to, issued_at, expires_at, used_at, used_by, spent_by) '
    'on pgmem.governance_token to pgmem_reader';
  for v_view in
    select c.relname from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'v' and c.reloptions @> '{security_invoker=true}'
  loop
    execute format('grant select on pgmem.%I to pgmem_reader', v_view);
  end loop;
  -- What views and policies call: it reads no more than its caller may.
  for v_verb in
    select p.oid::regprocedure as signature from pg_proc p
    where p.pronamespace = 'pgmem'::regnamespace and not p.prosecdef and p.provolatile <> 'v' and p.prokind = 'f'
  loop
    execute format('grant execute on function %s to pgmem_reader', v_verb.signature);
  end loop;
  -- Cypher reads the whole graph: reviewers get it where there is one, and the verb refuses while tenants are set.
end;
$$;
comment on function pgmem.grant_rights() is
  'Take everything from everybody and give each role what it is for: writers the verbs, readers the views, reviewers both and their own verbs.';
