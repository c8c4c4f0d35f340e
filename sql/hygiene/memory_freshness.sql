-- security definer: clients hold no rights on tables.
create or replace function pgmem.memory_freshness(p_project_id text default null, p_scope text default 'project',
  p_stale_after_days integer default null, p_limit integer default 50, p_offset integer default 0,
  out stale_count bigint, out recent_count bigint, out current_count bigint, out stale_items jsonb, out next_offset integer,
  out checked_at timestamptz, out next_step text, out proactive_hint text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_variable
declare
  v_project_seq bigint := pgmem.find_project(p_project_id);
  v_recent      timestamptz := pgmem.now() - make_interval(days => pgmem.setting_int('freshness_recent_days'));
  v_days        integer := coalesce(p_stale_after_days, pgmem.setting_int('freshness_stale_days'));
  v_stale       timestamptz;
begin
  if p_scope is null or p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', coalesce(p_scope, 'nothing'));
  end if;
  if v_days not between 0 and 36500 then
    raise exception using errcode = 'PM001', message = 'stale_after_days is a whole number from 0 to 36500.';
  end if;
  if coalesce(p_limit, 0) not between 1 and 1000 or coalesce(p_offset, -1) < 0 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 1000, offset one from 0 up.';
  end if;
  v_stale := pgmem.now() - make_interval(days => v_days);
  checked_at := pgmem.now();
  with memory as materialized (
    select n.seq, n.id, n.label, n.title, n.updated_at,
           case when n.updated_at < v_stale then 'stale' when n.updated_at < v_recent then 'recent' else 'current' end as freshness
    from pgmem.hygiene_node n
    -- A project's memories are those of its focus areas too.
    where n.scope = any (case p_scope when 'project' then '{project,focus}'::text[] else array[p_scope] end)
      and (v_project_seq is null or p_scope = 'global' or n.project_seq = v_project_seq)
  )
  select count(*) filter (where m.freshness = 'stale'), count(*) filter (where m.freshness = 'recent'),
         count(*) filter (where m.freshness = 'current'),
         (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'label', s.label, 'title', s.title, 'freshness', s.freshness,
                   'age_days', floor(extract(epoch from pgmem.now() - s.updated_at) / 86400)::integer) order by s.updated_at, s.seq), '[]')
          from (select * from memory where freshness = 'stale' order by updated_at, seq limit p_limit offset p_offset) s)
  into stale_count, recent_count, current_count, stale_items
  from memory m;
  next_offset := case when p_offset + jsonb_array_length(stale_items) < stale_count then p_offset + jsonb_array_length(stale_items) end;
  proactive_hint := pgmem.reflection_hint((pgmem.caller()).tenant);
  next_step := case
    when next_offset is not null then format('%s are stale: go on with offset %s.', stale_count, next_offset)
    when stale_count > 0 then 'Confirm what still holds by saving it anew; forget what does not.'
    else 'Nothing is stale.' end;
end;
$$;
comment on function pgmem.memory_freshness is 'How old the memories of a scope are (current, recent, stale), and the stale ones, oldest first.';
