-- As find_node, for verbs that reach what is hidden: a forgotten memory has a history and can be brought back.
create or replace function pgmem.find_recorded(p_label text, p_key text, p_project_seq bigint default null) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_nodes   pgmem.node[];
  v_message text;
begin
  return pgmem.find_node(p_label, p_key, p_project_seq);
exception when sqlstate 'PM002' then
  v_message := sqlerrm;
  select array_agg(row(n.*)::pgmem.node order by n.updated_at desc, n.seq desc) into v_nodes from (
    select n.* from pgmem.visible_node n
    where n.label = p_label and coalesce(n.key, n.title) = btrim(p_key)
      and hashtextextended(lower(translate(coalesce(n.key, n.title), '-_', '  ')), 0) = pgmem.name_hash(btrim(p_key))
      and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null) limit 20) n;
  if v_nodes is null then
    raise exception using errcode = 'PM002', message = v_message;
  elsif cardinality(v_nodes) > 1 then
    raise exception using errcode = 'PM003', message = format('%s names %s forgotten nodes of label %s; send one of these ids: %s.',
      quote_literal(left(p_key, 80)), cardinality(v_nodes), p_label,
      (select string_agg(format('%s (%s)', n.id, coalesce(n.place, 'no project')), ', ') from unnest(v_nodes) n));
  end if;
  return v_nodes[1];
end;
$$;
comment on function pgmem.find_recorded(text, text, bigint) is
  'The visible node of a label by id, key or exact title, a forgotten one too where no other has the name.';
