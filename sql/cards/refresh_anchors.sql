-- Reads node itself: scope_key holds the tenant. Called under the scope lock, after refresh_cards.
create or replace function pgmem.refresh_anchors(p_cards pgmem.report_card[], p_place pgmem.node, p_report jsonb, p_by text) returns jsonb
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_complete   boolean := coalesce((p_report ->> 'complete')::boolean, false);
  v_files      jsonb := coalesce(p_report -> 'files', '{}');
  v_found      record;
  v_node       pgmem.node;
  v_stale      integer := 0;
  v_historical integer := 0;
  v_back       integer := 0;
begin
  -- The files as this run saw them.
  if v_complete then
    delete from pgmem.card_file f where f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and not v_files ? f.path;
  end if;
  insert into pgmem.card_file as f (org_id, user_id, project_seq, path, digest, module, last_commit)
  select p_place.org_id, p_place.user_id, p_place.project_seq, pgmem.clean_path(e.key), e.value, m.module, m.last_commit
  from jsonb_each_text(v_files) e
  left join (select distinct on (m.path) m.* from jsonb_to_recordset((p_report -> 'modules') || coalesce(p_report -> 'tests', '[]') || coalesce(p_report -> 'documents', '[]'))
             as m(path text, module text, last_commit text) order by m.path, m.module nulls last) m on m.path = e.key
  on conflict (tenant, project_seq, path) do update set digest = excluded.digest, module = excluded.module, last_commit = excluded.last_commit
  where (f.digest, f.module, f.last_commit) is distinct from (excluded.digest, excluded.module, excluded.last_commit);

  -- Evidence of the report's own cards moves with the report, unless it contradicts an approved statement.
  delete from pgmem.card_evidence x using pgmem.node n, unnest(p_cards) c
  where x.node_seq = n.seq and n.label = 'Card' and n.scope_key = p_place.scope_key and n.content_hash = c.identity and n.status = 'active'
    and n.props ->> 'fingerprint' = c.fingerprint and x.kind in ('code', 'test', 'doc', 'git_commit')
    and not exists (select from jsonb_to_recordset(c.evidence) as e(kind text, ref text) where e.kind = x.kind and e.ref = x.ref);
  insert into pgmem.card_evidence as x (node_seq, kind, ref, digest, seen_digest, added_by, created_at)
  select n.seq, e.kind, e.ref, e.digest, e.digest, p_by, pgmem.now()
  from unnest(p_cards) c
  join pgmem.node n on n.label = 'Card' and n.scope_key = p_place.scope_key and n.content_hash = c.identity and n.status = 'active'
    and n.props ->> 'fingerprint' = c.fingerprint
  cross join lateral jsonb_to_recordset(c.evidence) as e(kind text, ref text, digest text)
  on conflict (node_seq, kind, ref) do update set digest = excluded.digest, seen_digest = excluded.seen_digest
  where (x.digest, x.seen_digest) is distinct from (excluded.digest, excluded.seen_digest);

  -- What every other anchor looks like now.
  update pgmem.card_evidence x set seen_digest = f.digest
  from pgmem.node n, pgmem.card_file f
  where n.seq = x.node_seq and n.label = 'Card' and n.scope_key = p_place.scope_key and x.kind in ('code', 'test', 'doc')
    and f.tenant = p_place.tenant and f.project_seq = p_place.project_seq and f.path = x.ref and x.seen_digest is distinct from f.digest;
  update pgmem.card_evidence x set seen_digest = null
  from pgmem.node n
  where v_complete and n.seq = x.node_seq and n.label = 'Card' and n.scope_key = p_place.scope_key and x.kind in ('code', 'test', 'doc')
    and x.seen_digest is not null and not v_files ? x.ref and x.digest is not null;

  -- Cards of people and agents follow their anchors. Drafts wait for a person; cards without anchor stay as they are.
  for v_found in
    select n.seq, n.status, n.props ->> 'stale_reason' as reason,
      case when bool_or(x.seen_digest is null) then 'historical' when bool_or(x.seen_digest <> x.digest) then 'stale' else 'active' end as becomes
    from pgmem.node n join pgmem.card_evidence x on x.node_seq = n.seq and x.digest is not null and x.kind in ('code', 'test', 'doc')
    where n.label = 'Card' and n.scope_key = p_place.scope_key and n.status in ('active', 'stale', 'historical') and n.props ->> 'origin' <> 'system'
      and (v_complete or v_files ? x.ref)
    group by n.seq, n.status, n.props order by n.seq
  loop
    if v_found.status <> v_found.becomes or v_found.becomes = 'stale' and v_found.reason is distinct from 'subject_fingerprint_drift' then
      select n.* into v_node from pgmem.node n where n.seq = v_found.seq;
      perform pgmem.change_card(v_node, v_found.becomes, jsonb_build_object('stale_reason',
          case v_found.becomes when 'stale' then 'subject_fingerprint_drift' end),
        case v_found.becomes when 'active' then 'reactivate' when 'stale' then 'stale' else 'historical' end, p_by);
      case v_found.becomes when 'active' then v_back := v_back + 1; when 'stale' then v_stale := v_stale + 1; else v_historical := v_historical + 1; end case;
    end if;
  end loop;

  -- Cards of earlier reports that this one no longer gives.
  if v_complete then
    for v_node in
      select n.* from pgmem.node n
      where n.label = 'Card' and n.scope_key = p_place.scope_key and n.status in ('active', 'stale') and n.props ->> 'origin' = 'system'
        and not exists (select from unnest(p_cards) c where c.identity = n.content_hash)
      order by n.seq
    loop
      if not v_files ? (v_node.props ->> 'path') then
        perform pgmem.change_card(v_node, 'historical', '{"stale_reason": null}', 'historical', p_by, 'its file is gone');
        v_historical := v_historical + 1;
      elsif v_node.status = 'active' or v_node.props ->> 'stale_reason' is distinct from 'missing_from_refresh' then
        perform pgmem.change_card(v_node, 'stale', '{"stale_reason": "missing_from_refresh"}', 'stale', p_by);
        v_stale := v_stale + 1;
      end if;
    end loop;
  end if;
  return jsonb_build_object('stale', v_stale, 'historical', v_historical, 'anchors_restored', v_back);
end;
$$;
comment on function pgmem.refresh_anchors(pgmem.report_card[], pgmem.node, jsonb, text) is
  'Follow the files: equal digests keep or bring back a card, another digest makes it stale, a file that is gone makes it historical.';
