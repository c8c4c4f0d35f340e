create or replace function pgmem.window_text(p_node pgmem.node) returns text
language sql stable
set search_path = pgmem, pg_temp
as $$
  select string_agg(pgmem.embedding_text(w.label, w.title, w.props), ' ' order by w.seq)
  from ((select n.seq, n.label, n.title, n.props from pgmem.node n
         where n.session_id = p_node.session_id and n.tenant = p_node.tenant and n.label <> 'Session' and n.seq < p_node.seq
           and n.status not in ('archived', 'merged') order by n.seq desc limit 1)
        union all select p_node.seq, p_node.label, p_node.title, p_node.props
        union all
        (select n.seq, n.label, n.title, n.props from pgmem.node n
         where n.session_id = p_node.session_id and n.tenant = p_node.tenant and n.label <> 'Session' and n.seq > p_node.seq
           and n.status not in ('archived', 'merged') order by n.seq limit 1)) w;
$$;
comment on function pgmem.window_text(pgmem.node) is 'A memory with the one before and the one after it in its session.';
