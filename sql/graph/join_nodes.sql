create or replace function pgmem.join_nodes(p_from pgmem.node, p_rel text, p_to pgmem.node, out edge_is_new boolean)
language plpgsql
set search_path = pgmem, pg_temp
as $$
declare
  v_relation pgmem.relation;
begin
  select * into v_relation from pgmem.relation where name = p_rel;
  if v_relation.name is null then
    raise exception using errcode = 'PM001', message = format('Unknown relation %s. Known: %s.', quote_literal(left(p_rel, 80)),
      (select string_agg(name, ', ' order by name) from pgmem.relation where not by_verb));
  end if;
  if v_relation.by_verb then
    raise exception using errcode = 'PM011', message = format('%s is made by the verbs that mean it, not by hand. By hand: %s.', p_rel,
      (select string_agg(name, ', ' order by name) from pgmem.relation where not by_verb));
  end if;
  if not coalesce(p_from.label = any (v_relation.from_labels), true) or not coalesce(p_to.label = any (v_relation.to_labels), true) then
    raise exception using errcode = 'PM011', message = format('%s joins %s with %s, not %s with %s.', p_rel,
      coalesce(array_to_string(v_relation.from_labels, ' or '), 'any label'),
      coalesce(array_to_string(v_relation.to_labels, ' or '), 'any label'), p_from.label, p_to.label);
  end if;
  if p_from.seq = p_to.seq then
    raise exception using errcode = 'PM011', message = 'A memory cannot be joined with itself; send two different ones.';
  end if;
  -- An undirected relation is stored once, from the older to the newer node.
  if v_relation.undirected and p_from.seq > p_to.seq then
    edge_is_new := pgmem.insert_edge(p_to.seq, p_rel, p_from.seq);
  else
    edge_is_new := pgmem.insert_edge(p_from.seq, p_rel, p_to.seq);
  end if;
end;
$$;
comment on function pgmem.join_nodes(pgmem.node, text, pgmem.node) is
  'Make an edge the registry allows between two nodes; true when it is new.';
