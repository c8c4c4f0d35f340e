create or replace function pgmem.find_node(p_label text, p_key text, p_project_seq bigint default null) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_nodes pgmem.node[];
begin
  perform pgmem.require_label(p_label);
  if pgmem.clean_text(p_key, 'key') is null then
    raise exception using errcode = 'PM001', message = format('A %s needs a name: send its key, title or id.', p_label);
  end if;
  if p_key ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    select array_agg(n::pgmem.node) into v_nodes from (
      select * from pgmem.visible_node n where n.id = p_key::uuid and n.label = p_label) n;
  end if;
  if v_nodes is null then
    select array_agg(n::pgmem.node order by n.seq desc) into v_nodes from (
      select * from pgmem.visible_node n where n.label = p_label and coalesce(n.key, n.title) = btrim(p_key)
        -- The expression of the index node_name: a name is found at any size of the store.
        and hashtextextended(lower(translate(coalesce(n.key, n.title), '-_', '  ')), 0) = pgmem.name_hash(btrim(p_key))
        and n.status not in ('archived', 'merged', 'rejected')
        and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null) limit 20) n;
  end if;
  -- A decision that superseded another of the same title is the one meant.
  if cardinality(v_nodes) > 1 and (select count(*) from unnest(v_nodes) n where n.status in ('active', 'approved')) = 1 then
    select array_agg(n) into v_nodes from unnest(v_nodes) n where n.status in ('active', 'approved');
  end if;
  if v_nodes is null then
    raise exception using errcode = 'PM002', message = format('No %s named %s is here.', p_label, quote_literal(left(p_key, 80)));
  elsif cardinality(v_nodes) > 1 then
    raise exception using errcode = 'PM003', message = format('%s names %s nodes of label %s; send one of these ids: %s.',
      quote_literal(left(p_key, 80)), cardinality(v_nodes), p_label,
      (select string_agg(format('%s (%s)', n.id, coalesce(n.place, 'no project')), ', ') from unnest(v_nodes) n));
  end if;
  return v_nodes[1];
end;
$$;
comment on function pgmem.find_node(text, text, bigint) is
  'The visible node of a label by id, key or exact title; none or several are errors, the second lists them.';
