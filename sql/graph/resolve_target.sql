-- What a name in a relation means. Exact names before alike ones, the node's own project before others.
create or replace function pgmem.resolve_target(p_name text, p_label text, p_project_seq bigint) returns pgmem.node[]
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_found pgmem.node[];
  v_exact pgmem.node[];
  v_near  pgmem.node[];
begin
  if p_name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    select array_agg(row(n.*)::pgmem.node) into v_found from pgmem.visible_node n
    where n.id = p_name::uuid and (p_label is null or n.label = p_label);
  end if;
  if v_found is null then
    select array_agg(row(n.*)::pgmem.node order by n.seq) into v_found from (
      select n.* from pgmem.visible_node n
      where hashtextextended(lower(translate(coalesce(n.key, n.title), '-_', '  ')), 0) = pgmem.name_hash(p_name)
        and lower(translate(coalesce(n.key, n.title), '-_', '  ')) = lower(translate(p_name, '-_', '  '))
        and (p_label is null or n.label = p_label)
        and n.label not in ('GlobalScope', 'FocusArea', 'GovernanceToken')
        and n.status not in ('archived', 'merged', 'rejected', 'dismissed')
      order by n.seq limit 20) n;
  end if;
  select array_agg(n) into v_exact from unnest(v_found) n where coalesce(n.key, n.title) = p_name;
  v_found := coalesce(v_exact, v_found);
  select array_agg(n) into v_near from unnest(v_found) n where n.project_seq is not distinct from p_project_seq;
  return coalesce(v_near, v_found, '{}');
end;
$$;
comment on function pgmem.resolve_target(text, text, bigint) is
  'The nodes a name in a relation can mean: none, one, or several that the caller chooses from.';
