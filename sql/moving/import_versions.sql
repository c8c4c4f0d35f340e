create or replace function pgmem.import_versions(p_node pgmem.node, p_versions jsonb, p_owner pgmem.caller) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_told    jsonb;
  v_version pgmem.node_version;
  v_project bigint;
begin
  for v_told in select value from jsonb_array_elements(coalesce(p_versions, '[]')) loop
    v_version := jsonb_populate_record(null::pgmem.node_version, v_told);
    v_project := case when v_version.project is null then null
                   when v_told ? 'project_id' then coalesce((pgmem.imported_node((v_told ->> 'project_id')::uuid, p_owner)).seq, p_node.project_seq)
                   else p_node.project_seq end;
    insert into pgmem.node_version (node_seq, version, label, key, title, props, status, scope, project, project_seq, focus, place,
      org_id, user_id, tenant, source, trust_level, initial_confidence, valid_from, valid_to, text_config, tsv, created_at, ingested_at,
      replaced_at)
    values (p_node.seq, v_version.version, p_node.label, v_version.key, v_version.title, v_version.props, v_version.status,
      v_version.scope, v_version.project, v_project, v_version.focus,
      case v_version.scope when 'global' then 'global' when 'focus' then v_project::text || '/' || v_version.focus else v_project::text end,
      p_node.org_id, p_node.user_id, p_node.tenant, v_version.source, v_version.trust_level, v_version.initial_confidence,
      v_version.valid_from, v_version.valid_to, p_node.text_config,
      to_tsvector(p_node.text_config::regconfig, pgmem.segment(pgmem.search_text(p_node.label, v_version.title, v_version.props)))
        || array_to_tsvector(pgmem.scope_lexemes(p_node.tenant, v_project)),
      v_version.created_at, v_version.ingested_at, v_version.replaced_at);
  end loop;
end;
$$;
comment on function pgmem.import_versions(pgmem.node, jsonb, pgmem.caller) is 'Store the earlier states of a node that was just imported.';
