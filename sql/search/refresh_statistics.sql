-- Recounts the scopes that have changed by a tenth (or 50 memories) since they were counted; the worker calls it. Saves never
-- touch these rows: a common word's row would make all writers wait for each other.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.refresh_statistics(p_all boolean default false) returns integer
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_scope record;
  v_done  integer := 0;
begin
  -- security definer: reads all tenants' texts and writes counts that name no one.
  if not pg_try_advisory_xact_lock(hashtextextended('pgmem.refresh_statistics', 0)) then
    return 0;
  end if;
  for v_scope in
    select n.tenant, coalesce(n.project_seq, 0) as project_seq, count(*) as memories, sum(n.text_length) as total_length
    from pgmem.node n where pgmem.is_memory(n.label) and n.status in ('active', 'approved')
    group by 1, 2
  loop
    continue when not p_all and exists (select from pgmem.text_stat s where s.tenant = v_scope.tenant and s.project_seq = v_scope.project_seq
      and abs(s.memories - v_scope.memories) < greatest(50, s.memories / 10));
    delete from pgmem.lexeme_stat s where s.tenant = v_scope.tenant and s.project_seq = v_scope.project_seq;
    insert into pgmem.lexeme_stat (tenant, lexeme, project_seq, memories)
    select v_scope.tenant, w.word, v_scope.project_seq, w.ndoc
    from ts_stat(format('select tsv from pgmem.node where pgmem.is_memory(label) and status in (''active'', ''approved'') and tenant = %L and coalesce(project_seq, 0) = %s',
                        v_scope.tenant, v_scope.project_seq)) w
    where w.word not like '@%';
    insert into pgmem.text_stat (tenant, project_seq, memories, total_length, counted_at)
    values (v_scope.tenant, v_scope.project_seq, v_scope.memories, v_scope.total_length, pgmem.now())
    on conflict (tenant, project_seq) do update set memories = excluded.memories, total_length = excluded.total_length, counted_at = excluded.counted_at;
    v_done := v_done + 1;
  end loop;
  return v_done;
end;
$$;
comment on function pgmem.refresh_statistics(boolean) is 'Recount memories, lengths and document frequencies where they have changed; scopes recounted.';
