-- Whether a new order of title words is worth its price: as many titles have come as were counted, 1000 at least. Until then their
-- words count as rare, and common words bring many candidates (50 000 imported titles: 13 ms instead of 2).
-- security definer: counts over all tenants, which name no one; the worker's and the reviewer's.
create or replace function pgmem.dedup_due(out due boolean, out titles bigint, out by_worker boolean)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_last pgmem.upkeep := (select u from pgmem.upkeep u where u.task = 'refresh_dedup');
  v_new  bigint := 0;
begin
  -- The newest node says at no price where nothing can have come.
  if coalesce((select max(n.seq) from pgmem.node n), 0) - v_last.last_seq >= greatest(1000, v_last.counted) then
    v_new := (select count(*) from pgmem.node n where n.seq > v_last.last_seq and n.status = 'active' and n.title_tokens is not null);
  end if;
  due := v_new >= greatest(1000, v_last.counted);
  titles := v_last.counted + v_new;
  by_worker := titles <= pgmem.setting_int('dedup_refresh_limit');
end;
$$;
comment on function pgmem.dedup_due() is
  'Whether the order of title words should be renewed, over how many titles, and whether the worker does it or a person at a quiet hour.';
