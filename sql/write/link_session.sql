create or replace function pgmem.link_session(p_session_id text, p_artifact_id uuid) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if p_session_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return;
  end if;
  perform pgmem.insert_edge(s.seq, 'PRODUCED', a.seq)
  from pgmem.visible_node s, pgmem.visible_node a
  where s.id = p_session_id::uuid and s.label = 'Session' and a.id = p_artifact_id and a.seq <> s.seq;
end;
$$;
comment on function pgmem.link_session(text, uuid) is 'PRODUCED from the session to what was saved in it, where the id names a Session.';
