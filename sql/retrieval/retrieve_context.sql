-- security definer: clients hold no rights on tables.
create or replace function pgmem.retrieve_context(p_project_id text, p_scope text, p_focus text default null,
  p_categories text[] default null, p_topic text default null,
  p_as_of timestamptz default null, p_known_at timestamptz default null,
  out items jsonb, out retrieval_status text, out scope_state text, out conflicts_found boolean, out hygiene_due boolean,
  out truncated_scopes text[], out next_step text, out proactive_hint text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.caller();
  v_scope   pgmem.scope_state;
  v_setting jsonb := (select jsonb_object_agg(name, value) from pgmem.setting where name in
    ('focus_limit', 'project_limit', 'global_limit', 'freshness_recent_days', 'freshness_stale_days', 'hygiene_due_days'));
  v_recent  timestamptz := pgmem.now() - make_interval(days => (v_setting ->> 'freshness_recent_days')::integer);
  v_stale   timestamptz := pgmem.now() - make_interval(days => (v_setting ->> 'freshness_stale_days')::integer);
  v_names   text[];
  v_places  text[];
  v_limits  integer[];
  v_topic   tsquery;
  v_seqs    bigint[];
begin
  if p_scope is null or p_scope not in ('global', 'project', 'focus') then
    raise exception using errcode = 'PM001', message = format('scope is global, project or focus, not %s.', coalesce(p_scope, 'nothing'));
  end if;
  if p_categories is not null then
    perform pgmem.require_label(category) from unnest(p_categories) category;
    if 'Card' = any (p_categories) then
      raise exception using errcode = 'PM001', message = 'Cards are read by get_relevant_memory and query_engineering_memory, not by retrieve_context.';
    end if;
  end if;
  v_scope := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
  if p_scope = 'focus' and v_scope.focus is null then
    raise exception using errcode = 'PM001', message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  scope_state := v_scope.scope_state;
  if not v_scope.project_exists then
    items := '[]';
    conflicts_found := false;
    hygiene_due := false;
    truncated_scopes := '{}';
    retrieval_status := 'empty';
    next_step := case scope_state when 'unresolved' then 'Send project_id.'
      else 'This project is not known yet: the first save_session creates it.' end;
    return;
  end if;
  if p_scope = 'global' then
    v_names := '{global}';
    v_places := '{global}';
    v_limits := array[v_setting ->> 'global_limit'];
  elsif v_scope.focus is null then
    v_names := '{project,global}';
    v_places := array[v_scope.project_seq::text, 'global'];
    v_limits := array[v_setting ->> 'project_limit', v_setting ->> 'global_limit'];
  else
    v_names := '{focus,project,global}';
    v_places := array[v_scope.project_seq::text || '/' || v_scope.focus, v_scope.project_seq::text, 'global'];
    v_limits := array[v_setting ->> 'focus_limit', v_setting ->> 'project_limit', v_setting ->> 'global_limit'];
  end if;

  if p_as_of is not null or p_known_at is not null then
    v_topic := case when pgmem.clean_text(p_topic, 'topic') is not null then coalesce(pgmem.any_word(p_topic, v_scope.text_config), ''::tsquery) end;
    select jsonb_agg(item order by place_number, in_place) filter (where in_place <= v_limits[place_number]),
           array_agg(seq) filter (where in_place <= v_limits[place_number]),
           array_agg(v_names[place_number] order by place_number) filter (where in_place = v_limits[place_number] + 1)
    into items, v_seqs, truncated_scopes
    from (select c.place_number, row_number() over (partition by c.place_number) as in_place, (c.state).seq,
                 pgmem.state_item(c.state, v_recent, v_stale) as item
          from pgmem.context_items_at(v_places, v_limits, p_categories, v_topic, p_as_of, p_known_at) c) found;
  elsif p_topic is null or pgmem.clean_text(p_topic, 'topic') is null then
    -- Rows come in the order of the answer: a second sort inside the aggregates would cost more than reading them.
    select jsonb_agg(item) filter (where in_place <= v_limits[place_number]),
           array_agg(seq) filter (where in_place <= v_limits[place_number]),
           array_agg(v_names[place_number]) filter (where in_place = v_limits[place_number] + 1)
    into items, v_seqs, truncated_scopes
    from pgmem.context_items(v_caller.tenants, v_places, v_limits, p_categories, v_recent, v_stale);
  else
    -- Null where no word of the topic counts: that finds nothing, where an empty query would find everything.
    v_topic := pgmem.any_word(p_topic, v_scope.text_config);
    select jsonb_agg(item) filter (where in_place <= v_limits[place_number]),
           array_agg(seq) filter (where in_place <= v_limits[place_number]),
           array_agg(v_names[place_number]) filter (where in_place = v_limits[place_number] + 1)
    into items, v_seqs, truncated_scopes
    from pgmem.context_items_on_topic(v_places, v_limits, p_categories, v_topic, v_scope.project_seq, v_recent, v_stale);
  end if;
  items := coalesce(items, '[]');
  truncated_scopes := coalesce(truncated_scopes, '{}');

  -- Both ends are among the rows found above, which the caller sees.
  conflicts_found := exists (select from pgmem.edge e where e.rel = 'CONFLICTS_WITH' and e.src = any (v_seqs) and e.dst = any (v_seqs));
  hygiene_due := coalesce(v_scope.last_hygiene_at < pgmem.now() - make_interval(days => (v_setting ->> 'hygiene_due_days')::integer), true);
  proactive_hint := pgmem.reflection_hint(v_caller.tenant);
  retrieval_status := case when v_seqs is null then 'empty' when conflicts_found then 'conflicted' else 'succeeded' end;
  next_step := case
    when conflicts_found then 'Some of these conflict: ask which one holds before you act on either.'
    when hygiene_due and v_seqs is not null then 'Run run_hygiene for this project when there is time.'
    when v_seqs is null then 'Nothing is kept here yet. Work on, then save_session.'
    when cardinality(truncated_scopes) > 0 then 'More is kept than is shown: narrow by topic or categories, or use search_memory.'
    else 'Go on from here.' end;
end;
$$;
comment on function pgmem.retrieve_context is
  'What an agent reads before it works: the newest live memories of the focus, the project and globally, in that order.';
