-- Locks: the scope of the caller's insights, then the node.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.review_insight(p_title text, p_action text, out id uuid, out title text, out summary text,
  out detector text, out confidence float8, out trust_level float8, out status text, out sources uuid[], out created_at timestamptz)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_title  text := pgmem.clean_title(p_title, 'title');
  v_node   pgmem.node;
  v_status text := case p_action when 'approve' then 'approved' when 'dismiss' then 'dismissed' end;
begin
  if v_status is null then
    raise exception using errcode = 'PM001', message = 'action is approve or dismiss.';
  end if;
  perform pgmem.lock_scope(pgmem.scope_key(v_caller.tenant, null, 'Insight'));
  select n.* into v_node from pgmem.visible_node n
  where n.scope_key = pgmem.scope_key(v_caller.tenant, null, 'Insight') and (n.title = v_title or n.id::text = lower(v_title));
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('No insight %s is here; surface_insights lists them.', quote_literal(left(p_title, 80)));
  end if;
  if v_node.status not in ('pending', v_status) then
    raise exception using errcode = 'PM001', message = format('This insight is %s already; what was judged stays so.', v_node.status);
  end if;
  if v_node.status = 'pending' then
    perform pgmem.set_status(v_node.seq, v_status);
    select n.* into v_node from pgmem.visible_node n where n.seq = v_node.seq;
    if v_status = 'approved' then
      -- Live from now on: joined to what it was seen in, found by search.
      perform pgmem.insert_edge(v_node.seq, 'ABOUT', n.seq)
      from jsonb_array_elements_text(v_node.props -> 'sources') as s(id) join pgmem.visible_node n on n.id = s.id::uuid
      order by n.seq;
      perform pgmem.store_embedding(v_node, null);
    end if;
  end if;
  select i.* into id, title, summary, detector, confidence, trust_level, status, sources, created_at from pgmem.insight(v_node) i;
end;
$$;
comment on function pgmem.review_insight(text, text) is
  'Judge an insight: approve makes it live and joins it to its sources; dismiss hides it, and it is not proposed again.';
