-- The one way in which an edge is made.
create or replace function pgmem.insert_edge(p_src bigint, p_rel text, p_dst bigint, p_props jsonb default '{}',
  p_created_at timestamptz default null) returns boolean
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  insert into pgmem.edge (src, rel, dst, props, created_at) values (p_src, p_rel, p_dst, p_props, coalesce(p_created_at, pgmem.now()))
  on conflict (src, rel, dst) do nothing;
  return found;
end;
$$;
comment on function pgmem.insert_edge(bigint, text, bigint, jsonb, timestamptz) is 'Join two nodes; true when the edge is new.';
