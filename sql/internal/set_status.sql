create or replace function pgmem.set_status(p_seq bigint, p_status text, p_close_at timestamptz default null) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  update pgmem.node n set status = p_status, updated_at = greatest(pgmem.now(), n.created_at),
    valid_to = coalesce(n.valid_to, case when p_close_at is not null then greatest(p_close_at, n.valid_from) end)
  where n.seq = p_seq;
  if p_status in ('archived', 'merged', 'rejected', 'dismissed') then
    perform pgmem.delete_embeddings(array[p_seq]);
  end if;
end;
$$;
comment on function pgmem.set_status(bigint, text, timestamptz) is
  'Take a node out of live: its status, and where empty its valid_to. The caller holds its scope lock.';
