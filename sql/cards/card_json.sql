-- Reads tables themselves: the caller has found the card through what the tenant may see.
create or replace function pgmem.card_json(p_node pgmem.node, p_score float8, p_full boolean) returns jsonb
language sql stable
set search_path = pgmem, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', p_node.id, 'type', p_node.props ->> 'record_type', 'status', p_node.status, 'confidence', p_node.props ->> 'confidence',
    'approved', p_node.props ? 'approved_by',
    'statement', case when p_full then p_node.props ->> 'statement' else left(p_node.props ->> 'statement', 160) end,
    'statement_length', length(p_node.props ->> 'statement'),
    'statement_truncated', not p_full and length(p_node.props ->> 'statement') > 160,
    'subjects', s.subjects, 'subject_count', s.count,
    'evidence_count', (select count(*) from pgmem.card_evidence e where e.node_seq = p_node.seq),
    'relevance_score', round(p_score::numeric, 4),
    'retrieval_lane', case when p_node.props ->> 'facet' = 'hotspot' then 'hotspot_context'
      when p_node.props ->> 'ingest_source' = 'receipt' or p_node.props ->> 'record_type' = 'change_rationale' then 'workflow_context'
      else 'structure_context' end,
    'stale_reason', p_node.props ->> 'stale_reason',
    'relations', (select jsonb_object_agg(name, ids) from (
      select case e.rel when 'SUPERSEDES' then 'superseded_by' else 'contradicted_by' end as name, jsonb_agg(n.id order by n.seq) as ids
      from pgmem.edge e join pgmem.visible_node n on n.seq = e.src
      where e.dst = p_node.seq and e.rel in ('SUPERSEDES', 'CONTRADICTS') group by e.rel) r)))
  || case when p_full then jsonb_strip_nulls(jsonb_build_object(
    'origin', p_node.props ->> 'origin', 'ingest_source', p_node.props ->> 'ingest_source', 'path', p_node.props ->> 'path',
    'approved_by', p_node.props ->> 'approved_by', 'approved_at', p_node.props ->> 'approved_at',
    'rejected_by', p_node.props ->> 'rejected_by', 'rejection', p_node.props ->> 'rejection',
    'contradiction', p_node.props ->> 'contradiction', 'payload', p_node.props -> 'details',
    'created_at', p_node.created_at, 'updated_at', p_node.updated_at, 'version', p_node.version,
    'evidence', (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', e.kind, 'ref', e.ref, 'digest', e.digest, 'added_by', e.added_by))
                 order by e.kind, e.ref) from pgmem.card_evidence e where e.node_seq = p_node.seq))) else '{}' end
  from (select count(*) as count, coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'key', key, 'relation', relation) order by place)
          filter (where p_full or place <= 6), '[]') as subjects
        from (select c.kind, c.key, c.relation, row_number() over (order by c.relation <> 'about', c.kind = 'module', c.kind, c.key) as place
              from pgmem.card_subject c where c.node_seq = p_node.seq) numbered) s;
$$;
comment on function pgmem.card_json(pgmem.node, float8, boolean) is
  'A card as it is shown: compact with 160 characters of its statement and up to 6 subjects, or full.';
