-- The counts of words
--
-- BM25 needs to know how many memories a scope holds, how long they are, and how many hold a word. These counts are
-- kept for scopes of every size, without a row that every save would wait for: about one save in 64 adds up the words
-- that its tenant has written since the last time, if no other transaction is doing so. A word that has no count yet is
-- counted when it is searched, which is cheap, as only memories of the last moments can hold it. So is a name as a whole,
-- which few memories hold. The worker counts again where a tenth has changed.
--
-- Locks: the row of a tenant in word_count while its words are counted; a save that finds it locked leaves the counting
-- to the next one. Only the two first saves of a tenant that count may wait for each other.


-- Sums over the last memories of a tenant are kept by project; those of some labels apart from them, as most searches leave
-- them out.
create or replace function pgmem.stat_scope(p_label text, p_project_seq bigint) returns bigint
language sql immutable parallel safe
begin atomic
  select pgmem.scope_number(pgmem.counts_apart(p_label), p_project_seq);
end;
comment on function pgmem.stat_scope is
  'Under which number of a project a memory is counted in text_stat, lexeme_stat and source_stat.';


create or replace function pgmem.counts_words(p_seq bigint) returns boolean
language sql immutable parallel safe
begin atomic
  select hashint8(p_seq) & 63 = 0;
end;
comment on function pgmem.counts_words is
  'Whether the save of this memory counts words: one in 64, whatever the order of the tenants.';


-- At most 1 000 memories, so that a save after an import stays short; those left over are counted by the next ones.
create or replace function pgmem.count_words(p_tenant text) returns boolean
language plpgsql as $$
declare
  v_from bigint;
  v_to   bigint;
  v_more boolean;
begin
  if not exists (select from pgmem.word_count w where w.tenant = p_tenant) then
    insert into pgmem.word_count (tenant, last_seq) values (p_tenant, 0) on conflict do nothing;
  end if;
  select w.last_seq into v_from from pgmem.word_count w where w.tenant = p_tenant for update skip locked;
  if not found then
    return false;
  end if;
  select max(n.seq), count(*) = 1000 into v_to, v_more from (
    select n.seq from pgmem.node n where n.tenant = p_tenant and n.seq > v_from order by n.seq limit 1000) n;
  if v_to is null then
    return false;
  end if;
  with counted as materialized (
    select pgmem.stat_scope(n.label, n.project_seq) as project_seq, n.text_length, n.agent_id, n.tsv
    from pgmem.node n
    where n.tenant = p_tenant and n.seq > v_from and n.seq <= v_to
      and pgmem.is_memory(n.label) and pgmem.is_found_status(n.status)
  ), texts as (
    insert into pgmem.text_stat as s (tenant, project_seq, memories, total_length, counted_at)
    select p_tenant, c.project_seq, count(*), sum(c.text_length), pgmem.now() from counted c group by c.project_seq
    on conflict (tenant, project_seq) do update set memories = s.memories + excluded.memories,
      total_length = s.total_length + excluded.total_length
  ), sources as (
    insert into pgmem.source_stat as s (tenant, project_seq, agent_id, memories, total_length)
    select p_tenant, c.project_seq, c.agent_id, count(*), sum(c.text_length) from counted c
    where c.agent_id is not null group by c.project_seq, c.agent_id
    on conflict (tenant, project_seq, agent_id) do update set memories = s.memories + excluded.memories,
      total_length = s.total_length + excluded.total_length
  ), lexemes as (
    insert into pgmem.lexeme_stat as s (tenant, lexeme, project_seq, memories)
    select p_tenant, w.lexeme, c.project_seq, count(*)
    from counted c cross join lateral unnest(tsvector_to_array(c.tsv)) as w(lexeme)
    where w.lexeme !~ '^[@=]' and length(w.lexeme) <= 256 group by w.lexeme, c.project_seq
    on conflict (tenant, lexeme, project_seq) do update set memories = s.memories + excluded.memories
  )
  update pgmem.word_count w set last_seq = v_to where w.tenant = p_tenant;
  return v_more;
end;
$$;
comment on function pgmem.count_words is
  'Add the words that a tenant has written since the last time to the counts of its projects, unless another transaction is '
  'doing so; whether more is left.';


create or replace function pgmem.refresh_statistics(p_all boolean default false) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp set lock_timeout = '200ms' as $$
declare
  v_scope record;
  v_left  boolean;
  v_done  integer := 0;
begin
  perform from pgmem.upkeep u where u.task = 'refresh_statistics' for update skip locked;
  if not found then
    return 0;
  end if;
  for v_scope in
    select n.tenant from pgmem.node n where pgmem.is_memory(n.label) and pgmem.is_found_status(n.status)
    group by n.tenant order by n.tenant
  loop
    -- A tenant that leaves a transaction open keeps its own words uncounted, and nobody else's.
    begin
      perform from pgmem.word_count w where w.tenant = v_scope.tenant for update;
      loop
        v_left := pgmem.count_words(v_scope.tenant);
        exit when not v_left;
      end loop;
    exception when lock_not_available then
      continue;
    end;
  end loop;
  for v_scope in
    select n.tenant, pgmem.stat_scope(n.label, n.project_seq) as project_seq, count(*) as memories
    from pgmem.node n where pgmem.is_memory(n.label) and pgmem.is_found_status(n.status)
    group by 1, 2 order by 1, 2
  loop
    continue when not p_all and exists (
      select from pgmem.text_stat s where s.tenant = v_scope.tenant and s.project_seq = v_scope.project_seq
        and abs(s.memories - v_scope.memories) < greatest(50, s.memories / 10));
    begin
      perform pgmem.recount(v_scope.tenant, v_scope.project_seq);
      v_done := v_done + 1;
    exception when lock_not_available then
      continue;
    end;
  end loop;
  return v_done;
end;
$$;
comment on function pgmem.refresh_statistics is $$
Count the words of new memories, and recount scopes that changed by a tenth and 50 memories; scopes recounted.

all: recount every scope.
$$;
select pgmem.declare_verb('refresh_statistics', p_rights => 'worker', p_effect => 'repeat',
  p_patience => 'report', p_reach => 'sum',
  p_reads_all => 'It counts the words of all memories.');


-- Memories newer than word_count says stay uncounted, so that the next save that counts does not count them twice.
create or replace function pgmem.recount(p_tenant text, p_project_seq bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_last  bigint;
  v_texts text;
begin
  -- Null where the transaction that counts first is still open.
  v_last := coalesce((select w.last_seq from pgmem.word_count w where w.tenant = p_tenant), 0);
  v_texts := format(
    'select n.tsv from pgmem.node n where pgmem.is_memory(n.label)'
    ' and pgmem.is_found_status(n.status)'
    ' and n.tenant = %L and pgmem.stat_scope(n.label, n.project_seq) = %s and n.seq <= %s',
    p_tenant, p_project_seq, v_last);
  delete from pgmem.lexeme_stat s where s.tenant = p_tenant and s.project_seq = p_project_seq;
  insert into pgmem.lexeme_stat (tenant, lexeme, project_seq, memories)
  select p_tenant, w.word, p_project_seq, w.ndoc
  from ts_stat(v_texts) w
  where w.word !~ '^[@=]' and length(w.word) <= 256;
  delete from pgmem.source_stat s where s.tenant = p_tenant and s.project_seq = p_project_seq;
  delete from pgmem.text_stat s where s.tenant = p_tenant and s.project_seq = p_project_seq;
  with counted as materialized (
    select n.agent_id, n.text_length from pgmem.node n
    where pgmem.is_memory(n.label) and pgmem.is_found_status(n.status) and n.tenant = p_tenant
      and pgmem.stat_scope(n.label, n.project_seq) = p_project_seq and n.seq <= v_last
  ), sources as (
    insert into pgmem.source_stat (tenant, project_seq, agent_id, memories, total_length)
    select p_tenant, p_project_seq, c.agent_id, count(*), sum(c.text_length) from counted c
    where c.agent_id is not null group by c.agent_id
  )
  insert into pgmem.text_stat (tenant, project_seq, memories, total_length, counted_at)
  select p_tenant, p_project_seq, count(*), coalesce(sum(c.text_length), 0), pgmem.now() from counted c;
end;
$$;
comment on function pgmem.recount is 'Count the memories, lengths and words of one project of a tenant anew.';
