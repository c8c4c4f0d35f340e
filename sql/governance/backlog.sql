-- What a probe asks every few seconds, so nothing here counts memories or vectors.
-- security definer: counts over all tenants, which name no one; the worker's and the reviewer's.
create or replace function pgmem.backlog(out tier text, out embeddings_waiting bigint, out embeddings_refused bigint, out saves_open jsonb,
  out tenants boolean, out walls integer)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  if not (pgmem.is_trusted() or pgmem.is_reviewer()) then
    raise exception using errcode = 'PM004',
      message = 'backlog counts over all tenants: connect as the owner, a reviewer or a member of pgmem_trusted.';
  end if;
  select s.tier, s.walls into tier, walls from pgmem.server_tier() s;
  select count(*), count(*) filter (where q.attempts >= 5) into embeddings_waiting, embeddings_refused from pgmem.embedding_queue q;
  select coalesce(jsonb_object_agg(a.status, a.saves), '{}') into saves_open
  from (select a.status, count(*) as saves from pgmem.save_attempt a where a.status not in ('saved', 'dropped') group by 1) a;
  tenants := exists (select from pgmem.tenant_role) or exists (select from pgmem.api_token) or pgmem.setting_text('require_identity') = 'true';
end;
$$;
comment on function pgmem.backlog() is 'The tier, the walls, the texts that wait for a vector and the saves that are not saved, over the whole store, in numbers.';
