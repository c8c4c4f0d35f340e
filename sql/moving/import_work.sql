create or replace function pgmem.import_work(p_record jsonb, p_owner pgmem.caller) returns text
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_project pgmem.node := pgmem.imported_node((p_record ->> 'project_id')::uuid, p_owner);
  v_id      uuid := (p_record ->> 'id')::uuid;
begin
  if v_project.seq is null then
    raise exception using errcode = 'PM002', message = 'its project is not here; import the line of the project first';
  end if;
  if p_record ->> 'type' = 'files' then
    insert into pgmem.card_file (org_id, user_id, project_seq, path, digest, module, last_commit)
    select p_owner.org_id, p_owner.user_id, v_project.seq, f.path, f.digest, f.module, f.last_commit
    from jsonb_to_recordset(p_record -> 'files') as f(path text, digest text, module text, last_commit text)
    on conflict (tenant, project_seq, path) do nothing;
  elsif p_record ->> 'type' = 'run' then
    -- Somebody else's row has this id: the copy gets one of its own, the same at every import.
    if exists (select from pgmem.card_run r where r.id = v_id and r.tenant <> p_owner.tenant) then
      v_id := md5(p_owner.tenant || v_id)::uuid;
    end if;
    insert into pgmem.card_run (id, org_id, user_id, project_seq, fingerprint, commit_id, complete, counts, created_at)
    select v_id, p_owner.org_id, p_owner.user_id, v_project.seq, r.fingerprint, r.commit_id, r.complete, r.counts, r.created_at
    from jsonb_populate_record(null::pgmem.card_run, p_record) r
    on conflict (id) do nothing;
  else
    if exists (select from pgmem.card_intent i where i.id = v_id and i.tenant <> p_owner.tenant) then
      v_id := md5(p_owner.tenant || v_id)::uuid;
    end if;
    insert into pgmem.card_intent (id, org_id, user_id, project_seq, paths, description, agent_id, session_id, declared_at, finished_at, changed_paths)
    select v_id, p_owner.org_id, p_owner.user_id, v_project.seq, i.paths, i.description, i.agent_id, i.session_id, i.declared_at,
           i.finished_at, i.changed_paths
    from jsonb_populate_record(null::pgmem.card_intent, p_record) i
    on conflict (id) do nothing;
  end if;
  return case when found then 'taken' else 'present' end;
end;
$$;
comment on function pgmem.import_work(jsonb, pgmem.caller) is 'Take what cards have besides their nodes: files as last seen, runs, intents.';
