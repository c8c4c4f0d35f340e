create or replace function pgmem.queue_windows(p_node pgmem.node, p_model_id smallint) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  -- The window of a memory is itself between its neighbours in the same session: a new one also changes the one before.
  if p_node.session_id is null or p_node.label = 'Session' then
    return;
  end if;
  insert into pgmem.embedding_queue (node_seq, kind, model_id)
  select w.seq, 'window', p_model_id
  from (select p_node.seq as seq
        union all
        (select n.seq from pgmem.node n where n.session_id = p_node.session_id and n.seq < p_node.seq and n.tenant = p_node.tenant
         order by n.seq desc limit 1)) w
  on conflict do nothing;
end;
$$;
comment on function pgmem.queue_windows(pgmem.node, smallint) is 'Queue the windows that a new memory of a session opens or closes.';
