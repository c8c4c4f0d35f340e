create or replace function pgmem.card_weight(p_props jsonb, p_status text, p_evidence bigint, p_contradicted boolean) returns float8
language sql immutable parallel safe
set search_path = pgmem, pg_temp
as $$
  select (case p_props ->> 'record_type' when 'contract_note' then 0.25 when 'document_link' then 0.2 when 'public_surface' then 0.15
            when 'risk_note' then 0.15 when 'test_anchor' then 0.15 when 'contradiction_note' then 0.1 when 'module_role' then 0.1 else 0 end
    + case p_props ->> 'ingest_source' when 'git' then 0.1 when 'contract' then 0.08 when 'doc' then 0.06 when 'test' then 0.05
        when 'analysis' then 0.04 else 0 end
    + case p_props ->> 'confidence' when 'verified' then 0.15 when 'supported' then 0.1 else 0 end
    + case when p_props ? 'approved_by' then 0.1 else 0 end
    + least(0.1, 0.02 * p_evidence)
    + case p_status when 'draft' then 0.3 + case p_props ->> 'origin' when 'agent' then 0.05 else 0 end when 'stale' then -0.5 else 0 end
    + case when p_props ->> 'facet' = 'hotspot' then -0.35 else 0 end
    + case when p_props ->> 'record_type' = 'module_role' and p_props ->> 'ingest_source' = 'receipt' then -0.65 else 0 end
    + case when p_contradicted then -0.5 else 0 end)::float8;
$$;
comment on function pgmem.card_weight(jsonb, text, bigint, boolean) is
  'What a card adds to its rank besides how near its subjects are to the scope. The numbers stand in docs/explanation/engineering-memory.md.';
