-- A person's verb, never an MCP tool. security definer: clients hold no rights on tables.
create or replace function pgmem.approve_card(p_card_id uuid, p_by text, p_reason text default null, p_supersedes uuid[] default '{}',
  out card_id uuid, out status text, out confidence text, out approved_by text, out evidence_count integer, out superseded uuid[])
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_by   text := pgmem.clean_key(p_by, 'by');
  v_node pgmem.node;
  v_old  pgmem.node;
  v_id   uuid;
begin
  perform pgmem.require_reviewer('approve_card');
  v_node := pgmem.decide_card(p_card_id, 'approve', array['draft', 'stale'], 'active', p_by, p_reason,
    jsonb_build_object('confidence', 'verified', 'approved_by', v_by, 'approved_at', pgmem.now(), 'stale_reason', null, 'contradiction', null));
  -- Who approves vouches for the files as the last run saw them: the anchors move there.
  update pgmem.card_evidence e set digest = e.seen_digest
  where e.node_seq = v_node.seq and e.seen_digest is not null and e.digest is distinct from e.seen_digest;
  -- One of max_card_evidence more or less: an approval is never refused for it.
  insert into pgmem.card_evidence (node_seq, kind, ref, added_by, created_at)
  values (v_node.seq, 'audit_event', 'human_approval:' || v_by, v_by, pgmem.now()) on conflict (node_seq, kind, ref) do nothing;
  superseded := '{}';
  foreach v_id in array coalesce(p_supersedes, '{}') loop
    select n.* into v_old from pgmem.visible_node n
    where n.id = v_id and n.label = 'Card' and n.scope_key = v_node.scope_key and n.seq <> v_node.seq and n.status in ('active', 'stale');
    if v_old.seq is null then
      raise exception using errcode = 'PM010', message = format('%s is no active or stale card beside this one; nothing was changed.', v_id);
    end if;
    perform pgmem.insert_edge(v_node.seq, 'SUPERSEDES', v_old.seq);
    perform pgmem.change_card(v_old, 'superseded', '{}', 'supersede', v_by, format('by %s', v_node.id));
    superseded := superseded || v_id;
  end loop;
  perform pgmem.weigh_card(v_node.seq);
  card_id := v_node.id;
  status := v_node.status;
  confidence := v_node.props ->> 'confidence';
  approved_by := v_by;
  evidence_count := (select count(*) from pgmem.card_evidence e where e.node_seq = v_node.seq);
end;
$$;
comment on function pgmem.approve_card is
  'Approve a draft or stale card: it is active and verified, and what it replaces is superseded.';
