-- A trigger, so that no verb can forget it. A change of times or confidence alone makes no version; last_hygiene_at is a time.
create or replace function pgmem.record_version() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  if (old.title, old.key, old.status, old.valid_from, old.valid_to, old.trust_level)
      is not distinct from (new.title, new.key, new.status, new.valid_from, new.valid_to, new.trust_level)
      and (old.props = new.props or old.label = 'Project' and old.props - 'last_hygiene_at' = new.props - 'last_hygiene_at') then
    return new;
  end if;
  new.version := old.version + 1;
  new.recorded_at := greatest(pgmem.clock(), old.recorded_at + interval '1 microsecond');
  insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq, focus,
    place, org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to, text_config, tsv,
    created_at, ingested_at, replaced_at)
  values (old.seq, old.version, old.label, old.key, old.title, old.props, old.status, old.scope, old.project,
    old.project_seq, old.focus, old.place, old.org_id, old.user_id, old.tenant, old.source, old.trust_level,
    old.initial_confidence, old.valid_from, old.valid_to, old.text_config, old.tsv, old.created_at, old.recorded_at,
    new.recorded_at);
  return new;
end;
$$;
comment on function pgmem.record_version() is 'Trigger: the state of a node before a change goes to node_version.';
