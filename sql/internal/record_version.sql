-- A trigger, so that no verb can forget it; once for all rows of a statement, as maintenance changes thousands.
create or replace function pgmem.record_version() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq, focus,
    place, org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to, text_config, tsv,
    created_at, ingested_at, replaced_at)
  select o.seq, o.version, o.label, o.key, o.title, o.props, o.status, o.scope, o.project, o.project_seq, o.focus,
    o.place, o.org_id, o.user_id, o.tenant, o.source, o.trust_level, o.initial_confidence, o.valid_from, o.valid_to, o.text_config,
    o.tsv, o.created_at, o.recorded_at, n.recorded_at
  -- By key, however many there were when this was planned.
  from old_rows o cross join lateral (select * from pgmem.node n where n.seq = o.seq offset 0) n where n.version > o.version;
  return null;
end;
$$;
comment on function pgmem.record_version() is 'Trigger: the states of nodes before a change go to node_version.';
