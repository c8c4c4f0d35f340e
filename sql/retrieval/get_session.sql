-- security definer: clients hold no rights on tables.
create or replace function pgmem.get_session(p_id text, out session jsonb, out produced jsonb)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_node pgmem.node := pgmem.find_node('Session', p_id);
begin
  session := v_node.props || jsonb_build_object('id', v_node.id, 'project', v_node.project, 'created_at', v_node.created_at);
  produced := (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'title', n.title) order by n.seq), '[]')
    from pgmem.visible_edge e join pgmem.visible_node n on n.seq = e.dst where e.src = v_node.seq and e.rel = 'PRODUCED');
end;
$$;
comment on function pgmem.get_session(text) is 'A session by id, with what was produced in it.';
