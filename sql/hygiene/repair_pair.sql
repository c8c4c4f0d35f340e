-- Locks: the scopes of both, sorted, before the read that answers. Reviewers only: a person decides on a repair.
create or replace function pgmem.repair_pair(p_verb text, p_label text, p_gone text, p_stays text, p_project_id text,
  out gone pgmem.node, out stays pgmem.node)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_seq    bigint := pgmem.find_project(p_project_id);
begin
  perform pgmem.require_reviewer(p_verb);
  gone := pgmem.find_node(p_label, p_gone, v_seq);
  stays := pgmem.find_node(p_label, p_stays, v_seq);
  perform pgmem.require_own(gone, v_caller);
  perform pgmem.require_own(stays, v_caller);
  if gone.seq = stays.seq then
    raise exception using errcode = 'PM011', message = format('Both names mean one %s; send two different ones.', p_label);
  end if;
  if stays.tenant <> gone.tenant and stays.user_id <> '' then
    raise exception using errcode = 'PM011', message = format('A shared %s never gives way to a private one, the others would lose it; save that with share = org first.',
      p_label);
  end if;
  perform pgmem.lock_scope(least(gone.scope_key, stays.scope_key));
  perform pgmem.lock_scope(greatest(gone.scope_key, stays.scope_key));
  select n.* into gone from pgmem.visible_node n where n.seq = gone.seq;
  select n.* into stays from pgmem.visible_node n where n.seq = stays.seq;
  if gone.status <> 'active' or stays.status <> 'active' then
    raise exception using errcode = 'PM001', message = format('Both must hold: %s is %s, %s is %s.', gone.id, gone.status, stays.id, stays.status);
  end if;
end;
$$;
comment on function pgmem.repair_pair(text, text, text, text, text) is
  'The two memories of a repair, the one that goes and the one that stands for it: found, one''s own, live and locked.';
