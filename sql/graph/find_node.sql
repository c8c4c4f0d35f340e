-- Reads node itself, by tenants that are looked up once.
create or replace function pgmem.find_node(p_label text, p_key text, p_project_seq bigint default null,
  p_tenants text[] default null) returns pgmem.node
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenants text[] := coalesce(p_tenants, pgmem.visible_tenants());
  v_node    pgmem.node;
  v_nodes   pgmem.node[];
begin
  if p_key ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    select * into v_node from pgmem.node n where n.id = p_key::uuid and n.label = p_label and n.tenant = any (v_tenants);
    if v_node.seq is not null then
      return v_node;
    end if;
  end if;
  perform pgmem.require_label(p_label);
  if pgmem.clean_text(p_key, 'key') is null then
    raise exception using errcode = 'PM001', message = format('A %s needs a name: send its key, title or id.', p_label);
  end if;
  select array_agg(n::pgmem.node order by n.seq desc) into v_nodes from (
    select * from pgmem.node n where n.tenant = any (v_tenants) and n.label = p_label and coalesce(n.key, n.title) = btrim(p_key)
      -- The expression of the index node_name: a name is found at any size of the store.
      and hashtextextended(lower(translate(coalesce(n.key, n.title), '-_', '  ')), 0) = pgmem.name_hash(btrim(p_key))
      and n.status not in ('archived', 'merged', 'rejected')
      and (p_project_seq is null or n.project_seq = p_project_seq or n.project_seq is null) limit 20) n;
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
comment on function pgmem.find_node(text, text, bigint, text[]) is
  'The visible node of a label by id, key or exact title (tenants: those of the caller, if he has looked them up); none or several are errors, the second lists them.';
