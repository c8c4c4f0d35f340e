-- A trigger, so that no verb can forget it. By token, as the index of dedup_token is: a foreign key and an index by node
-- would cost every save and serve this alone.
create or replace function pgmem.unindex_title() returns trigger
language plpgsql
set search_path = pgmem, pg_temp
as $$
begin
  delete from pgmem.dedup_token t
  where t.scope_key = old.scope_key and t.size = cardinality(old.title_tokens) and t.node_seq = old.seq
    and t.token = any (array(select hashtextextended(word, 0) from unnest(old.title_tokens) as word));
  return null;
end;
$$;
comment on function pgmem.unindex_title() is 'Trigger: a title that is live no more leaves the near-duplicate index.';
