-- Retrieving context
--
-- The context of an agent before it works: the newest live memories of the focus, of the project, and those that hold
-- globally, and apart from them the standing instructions of these places, however old. Each place has a limit of its
-- own (a setting), half of it kept for memories of persons, and a place that holds more is named in truncated_scopes. Under a
-- limit of tokens the places share it, and in a place the kinds, so that none of them is empty while another is full.
--
-- The cost must not grow with the store. Without a topic each place is read through the index by (tenant, place,
-- created_at), newest first, one row beyond its limit; with a topic the full-text index finds project and words at
-- once; with as_of or known_at the record is read (40-time-travel). A memory in conflict with another one of the answer
-- sets conflicts_found, so that an agent asks before it acts on either.
--
-- Locks: none.


create or replace function pgmem.context_item(
  p_node pgmem.node,
  p_ages pgmem.ages
) returns jsonb
language sql stable parallel safe
begin atomic
  select (p_node).props || case (p_node).label when 'Pattern' then jsonb_build_object('last_validated_at', pgmem.validated_at(
      ((p_node).props ->> 'last_validated_at')::timestamptz, (p_node).created_at, (p_node).updated_at)) else '{}' end
    || jsonb_build_object(
    'id', (p_node).id,
    'label', (p_node).label,
    'key', (p_node).key,
    'title', (p_node).title,
    'scope', (p_node).scope,
    'focus', (p_node).focus,
    'created_at', (p_node).created_at,
    'updated_at', (p_node).updated_at,
    'trust_level', (p_node).trust_level,
    'confidence', pgmem.decayed((p_node).initial_confidence, pgmem.aged_since((p_node).label, (p_node).instructs, (p_node).updated_at),
                                (p_ages).at, (p_ages).decay_rate, (p_ages).decay_max_age_days),
    'freshness', pgmem.freshness(pgmem.aged_since((p_node).label, (p_node).instructs, (p_node).updated_at), p_ages),
    'by', pgmem.said_by((p_node).source, (p_node).trust_level));
end;
comment on function pgmem.context_item is
  'A memory as an item of a context: its own properties, place, trust, present confidence and freshness, and who said it.';


create or replace function pgmem.marked_outdated(p_items jsonb, p_tenants text[], p_seqs bigint[]) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_agg(i.item || coalesce(o.mark, '{}') order by i.place), '[]')
  from jsonb_array_elements(p_items) with ordinality as i(item, place)
  left join (
    select n.id::text, jsonb_build_object('outdated_by', (array_agg(s.id order by s.seq desc))[1]) as mark
    from pgmem.edge e join pgmem.node n on n.seq = e.dst
    join pgmem.node s on s.seq = e.src and s.tenant = any (p_tenants) and pgmem.is_live(s.status, s.valid_from, s.valid_to)
    where e.rel = 'OUTDATES' and e.dst = any (p_seqs) group by n.id) o on o.id = i.item ->> 'id';
$$;
comment on function pgmem.marked_outdated is
  'Items of a context, with outdated_by where a later statement holds in the place of one.';


create or replace function pgmem.context_items(
  p_tenants text[],
  p_places text[],
  p_limits integer[],
  p_labels text[],
  p_without bigint[],
  p_ages pgmem.ages,
  p_turned boolean
) returns table (
  place_number bigint,
  in_place bigint,
  seq bigint,
  item jsonb
)
language sql stable
begin atomic
  select p.number, row_number() over (partition by p.number order by found.kept desc, found.created_at desc, found.seq desc),
         found.seq, found.item
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select r.seq, r.created_at, r.item, r.rank <= p.most as kept
    from (
      select c.*, row_number() over (order by c.reserved desc, c.created_at desc, c.seq desc) as rank
      from (
        select distinct on (b.seq) b.* from (
          -- One ordered index scan for each visible tenant: a condition on all of them at once would read and sort every
          -- row.
          (select newest.* from unnest(p_tenants) as t(tenant)
           cross join lateral (
             select n.seq, n.created_at, pgmem.context_item(n, p_ages) as item, false as reserved from pgmem.node n
             where n.place = p.place and n.tenant = t.tenant and n.scope is not null
               and pgmem.is_live_status(n.status) and not pgmem.named_only(n.label)
               and (n.valid_to is null or n.valid_to >= pgmem.now())
               and (n.valid_from is null or n.valid_from <= pgmem.now())
               and (n.turns_at is null or n.turns_at > pgmem.now())
               and (p_labels is null or n.label = any (p_labels)) and n.seq <> all (p_without)
             order by n.created_at desc, n.seq desc limit p.most + 1) newest
           union all
           select n.seq, n.created_at, pgmem.context_item(n, p_ages), false from pgmem.turned_nodes(p_tenants) n
           where p_turned and n.place = p.place and n.scope is not null and not pgmem.named_only(n.label)
             and (p_labels is null or n.label = any (p_labels)) and n.seq <> all (p_without)
           order by created_at desc, seq desc limit p.most + 1)
          union all
          (select said.* from unnest(p_tenants) as t(tenant)
           cross join lateral (
             select n.seq, n.created_at, pgmem.context_item(n, p_ages) as item, true as reserved from pgmem.node n
             where n.place = p.place and n.tenant = t.tenant and n.scope is not null
               and pgmem.is_of_a_person(n.source, n.trust_level)
               and pgmem.is_live_status(n.status) and not pgmem.named_only(n.label)
               and (n.valid_to is null or n.valid_to >= pgmem.now())
               and (n.valid_from is null or n.valid_from <= pgmem.now())
               and (n.turns_at is null or n.turns_at > pgmem.now())
               and (p_labels is null or n.label = any (p_labels)) and n.seq <> all (p_without)
             order by n.created_at desc, n.seq desc limit pgmem.places_of_persons(p.most)) said
           order by created_at desc, seq desc limit pgmem.places_of_persons(p.most))) b
        order by b.seq, b.reserved desc) c) r
    where r.rank <= p.most + 1) found
  order by p.number, found.kept desc, found.created_at desc, found.seq desc;
end;
comment on function pgmem.context_items is
  'The newest live memories of some places but those in p_without, with those that persons said in half of each, place by '
  'place, numbered in each from 1; at most one beyond each limit. p_turned: also those of which another state has become '
  'the present one.';


create or replace function pgmem.context_items_on_topic(
  p_places text[],
  p_limits integer[],
  p_labels text[],
  p_topic tsquery,
  p_project_seq bigint,
  p_without bigint[],
  p_ages pgmem.ages
) returns table (
  place_number bigint,
  in_place bigint,
  seq bigint,
  item jsonb
)
language sql stable set search_path = pgmem, pg_temp as $$
  select p.number, row_number() over (partition by p.number order by found.kept desc, found.created_at desc, found.seq desc),
         found.seq, (select pgmem.context_item(row(n.*)::pgmem.node, p_ages) from pgmem.live_node n where n.seq = found.seq)
  from unnest(p_places, p_limits) with ordinality as p(place, most, number)
  cross join lateral (
    select r.seq, r.created_at, r.rank <= p.most as kept
    from (
      select m.seq, m.created_at, row_number() over (
               order by m.of_person and m.nth <= pgmem.places_of_persons(p.most) desc, m.created_at desc, m.seq desc) as rank
      from (
        select n.seq, n.created_at, n.of_person,
               row_number() over (partition by n.of_person order by n.created_at desc, n.seq desc) as nth
        from (
          select n.seq, n.created_at, pgmem.is_of_a_person(n.source, n.trust_level) as of_person from pgmem.live_node n
          where n.place = p.place and n.scope is not null and not pgmem.named_only(n.label)
            and n.tsv @@ (p_topic && pgmem.lexeme_query('@p' || case p.place when 'global' then 0 else p_project_seq end))
            and (p_labels is null or n.label = any (p_labels)) and n.seq <> all (p_without) offset 0) n) m) r
    where r.rank <= p.most + 1) found
  order by p.number, found.kept desc, found.created_at desc, found.seq desc;
$$;
comment on function pgmem.context_items_on_topic is
  'The newest live memories of some places that match a topic, chosen and numbered as by context_items.';


-- Only a person's word binds every session: an agent that was made to save an instruction has saved a note. Found by
-- the index of persons' orders (node_orders), which holds nothing else, however much agents save.
create or replace function pgmem.standing_instructions(
  p_tenants text[],
  p_places text[],
  p_labels text[],
  p_topic tsquery,
  p_most integer,
  p_ages pgmem.ages,
  p_turned boolean
) returns table (
  items jsonb,
  seqs bigint[]
)
language sql stable
begin atomic
  select jsonb_agg(found.item), array_agg(found.seq)
  from (
    select n.seq, pgmem.context_item(n, p_ages) as item
    from unnest(p_places) with ordinality as p(place, number)
    cross join unnest(p_tenants) as t(tenant)
    cross join lateral (
      select * from pgmem.node n where n.place = p.place and n.tenant = t.tenant and n.instructs
        and pgmem.is_of_a_person(n.source, n.trust_level) and (n.turns_at is null or n.turns_at > pgmem.now())
      union all
      select * from pgmem.turned_nodes(array[t.tenant]) n where p_turned and n.place = p.place and n.instructs
        and pgmem.is_of_a_person(n.source, n.trust_level)) n
    where n.scope is not null and pgmem.is_live_status(n.status)
      and (n.valid_to is null or n.valid_to >= pgmem.now()) and (n.valid_from is null or n.valid_from <= pgmem.now())
      and (p_labels is null or n.label = any (p_labels)) and (p_topic is null or n.tsv @@ p_topic)
    order by p.number, n.created_at desc, n.seq desc limit p_most) found;
end;
comment on function pgmem.standing_instructions is
  'Standing instructions of persons, as items of a context: of the nearest place first, the newest first; one row.';


create or replace function pgmem.read_context(
  p_tenants text[],
  p_scope pgmem.scope_state,
  p_names text[],
  p_places text[],
  p_limits integer[],
  p_labels text[],
  p_topic text,
  p_as_of timestamptz,
  p_known_at timestamptz,
  p_standing integer,
  p_ages pgmem.ages,
  out items jsonb,
  out standing jsonb,
  out seqs bigint[],
  out truncated text[]
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_topic   tsquery;
  v_without bigint[];
  v_turned  boolean;
begin
  standing := '[]';
  if p_topic is not null and pgmem.clean_text(p_topic, 'topic') is not null then
    v_topic := pgmem.any_word(p_topic, p_scope.text_config);
    if v_topic is null then
      items := '[]';
      truncated := '{}';
      return;
    end if;
  end if;
  if p_as_of is not null or p_known_at is not null then
    select jsonb_agg(found.item order by found.place_number, found.in_place)
             filter (where found.in_place <= p_limits[found.place_number]),
           array_agg(found.seq) filter (where found.in_place <= p_limits[found.place_number]),
           array_agg(p_names[found.place_number] order by found.place_number)
             filter (where found.in_place = p_limits[found.place_number] + 1)
    into items, seqs, truncated
    from (select c.place_number, row_number() over (partition by c.place_number) as in_place, (c.state).seq,
                 pgmem.state_item(c.state, p_ages) as item
          from pgmem.context_items_at(p_places, p_limits, p_labels, v_topic, p_as_of, p_known_at) c) found;
    items := coalesce(items, '[]');
    truncated := coalesce(truncated, '{}');
    return;
  end if;
  -- Asked once, and then a constant: the plan of the usual case has no branch for them, which took a tenth of the call.
  v_turned := exists (select from pgmem.node n where n.turns_at <= pgmem.now() and n.tenant || '' = any (p_tenants));
  if v_turned then
    select coalesce(s.items, '[]'), coalesce(s.seqs, '{}') into standing, v_without
    from pgmem.standing_instructions(p_tenants, p_places, p_labels, v_topic, p_standing, p_ages, true) s;
  else
    select coalesce(s.items, '[]'), coalesce(s.seqs, '{}') into standing, v_without
    from pgmem.standing_instructions(p_tenants, p_places, p_labels, v_topic, p_standing, p_ages, false) s;
  end if;
  -- Rows come in the order of the answer: a second sort inside the aggregates would cost more than reading them.
  if v_topic is null and v_turned then
    select jsonb_agg(c.item) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(c.seq) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(p_names[c.place_number]) filter (where c.in_place = p_limits[c.place_number] + 1)
    into items, seqs, truncated
    from pgmem.context_items(p_tenants, p_places, p_limits, p_labels, v_without, p_ages, true) c;
  elsif v_topic is null then
    select jsonb_agg(c.item) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(c.seq) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(p_names[c.place_number]) filter (where c.in_place = p_limits[c.place_number] + 1)
    into items, seqs, truncated
    from pgmem.context_items(p_tenants, p_places, p_limits, p_labels, v_without, p_ages, false) c;
  else
    select jsonb_agg(c.item) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(c.seq) filter (where c.in_place <= p_limits[c.place_number]),
           array_agg(p_names[c.place_number]) filter (where c.in_place = p_limits[c.place_number] + 1)
    into items, seqs, truncated
    from pgmem.context_items_on_topic(p_places, p_limits, p_labels, v_topic, p_scope.project_seq, v_without, p_ages) c;
  end if;
  items := coalesce(items, '[]');
  seqs := nullif(v_without || seqs, '{}');
  truncated := coalesce(truncated, '{}');
end;
$$;
comment on function pgmem.read_context is
  'The items and the instructions of a context, their seqs (null: none), and the places that hold more than their limit.';


-- The tokens of the items of a context: all of it, or for an agent their texts, their label and place where they are not the
-- usual ones, the day of an item that is not current and their JSON syntax: the text of the MCP server
-- (pgmem/mcp/brief.py).
create or replace function pgmem.item_length(p_item jsonb, p_brief boolean) returns integer
language sql immutable parallel safe
begin atomic
  select case when p_brief
    then 16 + length((p_item - '{id,key,focus,created_at,updated_at,trust_level,confidence,freshness,relevance_score}'::text[]
        - case when p_item ->> 'label' = 'Context' then 'label' else '' end
        - case when p_item ->> 'scope' = 'project' then 'scope' else '' end
        - case when p_item ->> 'by' = 'agent' then 'by' else '' end)::text)
      + case when p_item ->> 'freshness' = 'current' then 4 else 30 end
    else length(p_item::text) end;
end;
comment on function pgmem.item_length is 'The characters of an item of a context, whole or as an agent is shown it.';


create or replace function pgmem.shortened_item(p_item jsonb, p_most integer, p_brief boolean) returns jsonb
language sql immutable set search_path = pgmem, pg_temp
return case when pgmem.item_length(p_item, p_brief) <= p_most then p_item else (
  select jsonb_object_agg(f.key, case
    when jsonb_typeof(f.value) = 'string' and length(f.value #>> '{}') > p_most * 3 / 4
      then to_jsonb(left(f.value #>> '{}', p_most * 3 / 4) || ' …')
    when jsonb_typeof(f.value) = 'array' and length(f.value::text) > p_most / 2
      then to_jsonb(array[left(pgmem.joined_texts(f.value), p_most / 2) || ' …'])
    else f.value end)
  from jsonb_each(p_item) f) end;
comment on function pgmem.shortened_item is 'An item of a context whose texts are cut where it is longer than so many characters.';


-- Items are taken in turns: the newest of each kind in each place, then the second ones, of a place with a limit of 10
-- two for one of a place with 5. One that is too long for the rest is left out, and a shorter one takes its turn. The
-- instructions take a fifth at most, and an item an eighth, so that the first turn of three places fits.
create or replace function pgmem.fitting_items(
  p_standing jsonb,
  p_items jsonb,
  p_limits jsonb,
  p_max_tokens integer,
  p_brief boolean,
  out standing jsonb,
  out items jsonb,
  out left_out integer
)
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_most     constant integer := greatest(p_max_tokens / 2, 120);
  v_first    constant integer := jsonb_array_length(p_standing);
  v_standing integer := p_max_tokens * 4 / 5;
  v_left     integer := p_max_tokens * 4 - 310;  -- less the fields beside the items
  v_all      jsonb[] := array(select pgmem.shortened_item(value, v_most, p_brief)
                              from jsonb_array_elements(p_standing || p_items) with ordinality order by ordinality);
  v_taken    bigint[] := '{}';
  v_number   bigint;
  v_cost     integer;
begin
  for v_number in
    with item as (
      select given.number, given.item ->> 'scope' as scope, row_number() over (
               partition by given.item ->> 'scope', given.item ->> 'label' order by given.number) as in_kind
      from unnest(v_all) with ordinality as given(item, number) where given.number > v_first
    )
    select number from generate_series(1, v_first) number
    union all
    (select i.number from item i
     order by (row_number() over (partition by i.scope order by i.in_kind, i.number) - 1)
                / greatest((p_limits ->> (i.scope || '_limit'))::numeric, 1), i.number)
  loop
    v_cost := pgmem.item_length(v_all[v_number], p_brief);
    continue when v_cost > v_left or v_number <= v_first and v_cost > v_standing;
    v_left := v_left - v_cost;
    v_standing := v_standing - case when v_number <= v_first then v_cost else 0 end;
    v_taken := v_taken || v_number;
  end loop;
  select coalesce(jsonb_agg(v_all[taken] order by taken) filter (where taken <= v_first), '[]'),
         coalesce(jsonb_agg(v_all[taken] order by taken) filter (where taken > v_first), '[]')
  into standing, items from unnest(v_taken) as taken;
  left_out := cardinality(v_all) - cardinality(v_taken);
end;
$$;
comment on function pgmem.fitting_items is
  'The instructions and items of a context that fit into some tokens, in their order, long texts cut; the number left out.';


select pgmem.declare_answer('context_item', $$
A memory of a context; fields that its label does not have are None.

like keyed_memory
scope text?, focus text?, created_at timestamptz, updated_at timestamptz?, trust_level float8?, confidence float8?
freshness current|recent|stale?, rationale text?, owner text?, date text?, objective text?, actions_taken text[]?
decisions_made text[]?, open_items text[]?, next_actions text[]?, trigger text?, repeatable_steps text[]?
exclusions text[]?, last_validated_at timestamptz?, topic text?, content text?, relevance_score float8?
entity_name text?, fact text?
outdated_by uuid?: The later statement that holds in its place.
properties rest = {}: Its other properties.
by person|agent?: Who said it; agent: also a program or a file.
wrong_at timestamptz?: When an agent named it wrong or outdated, more often than used.
$$);

select pgmem.declare_answer('context_bundle', $$
The context of a scope: memories of the focus area, the project and the global scope, each newest first.

`standing` are the instructions that persons gave for these places: offered whatever their age, the nearest first, and not
among the items again.

standing context_item[] = {}, items context_item[] = {}, retrieval_status succeeded|empty|timed_out|failed|conflicted
scope_state resolved|uncertain|unresolved?, conflicts_found boolean, hygiene_due boolean, truncated_scopes text[] = {}
next_step text?, proactive_hint text?, left_out integer = 0
$$);

create or replace function pgmem.retrieve_context(
  p_project_id text,
  p_scope pgmem.scope_name default 'project',
  p_focus text default null,
  p_categories text[] default null,
  p_topic text default null,
  p_as_of timestamptz default null,
  p_known_at timestamptz default null,
  p_max_tokens pgmem.token_limit default null
) returns pgmem.context_bundle
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_answer  pgmem.context_bundle;
  v_caller  pgmem.caller := pgmem.caller();
  v_setting jsonb := (select jsonb_object_agg(name, value) from pgmem.setting where name in (
              'focus_limit', 'project_limit', 'global_limit', 'hygiene_due_days', 'instruction_limit',
              'agent_token_limit', 'freshness_recent_days', 'freshness_stale_days', 'decay_rate',
              'decay_max_age_days'));
  v_due     timestamptz := pgmem.now() - make_interval(days => (v_setting ->> 'hygiene_due_days')::integer);
  v_scope   pgmem.scope_state;
  v_refusal text;
  v_first   integer;
  v_seqs    bigint[];
  v_said    pgmem.search_filter;
  v_tokens  integer := coalesce(p_max_tokens,
              case when v_caller.source = 'mcp' then (v_setting ->> 'agent_token_limit')::integer end);
begin
  v_answer.left_out := 0;
  v_answer.standing := '[]';
  if p_scope is null then
    raise exception using errcode = 'PM001', message = 'scope is global, project or focus; it is null here.';
  end if;
  if p_categories is not null then
    p_categories := pgmem.known_labels(p_categories);
    select l.read_by into v_refusal from pgmem.label l where l.name = any (p_categories) and l.read_by is not null limit 1;
    if v_refusal is not null then
      raise exception using errcode = 'PM001', message = v_refusal;
    end if;
  end if;
  v_scope := pgmem.resolve_scope(v_caller, p_project_id, p_focus);
  if p_scope = 'focus' and v_scope.focus is null then
    raise exception using errcode = 'PM001',
      message = 'scope focus needs focus: send the name of the focus area.';
  end if;
  v_answer.scope_state := v_scope.scope_state;
  if not v_scope.project_exists then
    v_answer.items := '[]';
    v_answer.conflicts_found := false;
    v_answer.hygiene_due := false;
    v_answer.truncated_scopes := '{}';
    v_answer.retrieval_status := 'empty';
    v_answer.next_step := case v_answer.scope_state when 'unresolved' then 'Send project_id.'
      else coalesce(pgmem.tenant_advice(v_caller), concat_ws(' ', pgmem.near_project(v_scope.project_id),
        'This project does not exist yet: the first save_session creates it.')) end;
    return v_answer;
  end if;

  v_first := case when p_scope = 'global' then 3 when v_scope.focus is null then 2 else 1 end;
  select c.items, c.standing, c.seqs, c.truncated
  into v_answer.items, v_answer.standing, v_seqs, v_answer.truncated_scopes
  from pgmem.read_context(v_caller.tenants, v_scope,
    ('{focus,project,global}'::text[])[v_first :],
    (array[v_scope.project_seq::text || '/' || v_scope.focus, v_scope.project_seq::text, 'global'])[v_first :],
    (array[v_setting ->> 'focus_limit', v_setting ->> 'project_limit',
           v_setting ->> 'global_limit']::integer[])[v_first :],
    p_categories, p_topic, p_as_of, p_known_at, (v_setting ->> 'instruction_limit')::integer,
    pgmem.ages_of(v_setting)) c;
  if num_nulls(p_as_of, p_known_at) = 2
     and exists (select from pgmem.edge e where e.rel = 'OUTDATES' and e.dst = any (v_seqs)) then
    v_answer.items := pgmem.marked_outdated(v_answer.items, v_caller.tenants, v_seqs);
    v_answer.standing := pgmem.marked_outdated(v_answer.standing, v_caller.tenants, v_seqs);
  end if;
  if num_nulls(p_as_of, p_known_at) = 2
     and exists (select from pgmem.usefulness u where u.node_seq = any (v_seqs) and u.wrong + u.outdated > 0) then
    v_answer.items := pgmem.marked_wrong(v_answer.items, v_caller.tenants);
  end if;
  if v_tokens is not null then
    select k.standing, k.items, k.left_out into v_answer.standing, v_answer.items, v_answer.left_out
    from pgmem.fitting_items(v_answer.standing, v_answer.items, v_setting, v_tokens, v_caller.source = 'mcp') k;
  end if;

  -- The caller sees the ends of these edges: they are among the items.
  v_answer.conflicts_found := exists (select from pgmem.edge e
    where e.rel = 'CONFLICTS_WITH' and e.src = any (v_seqs) and e.dst = any (v_seqs));
  v_answer.hygiene_due := coalesce(v_scope.last_hygiene_at < v_due, true);
  -- One advice at a time: first stored memories that are not shown.
  v_answer.proactive_hint := case when v_answer.truncated_scopes = '{}' and v_answer.left_out = 0
    then pgmem.reflection_hint(v_caller.tenant) end;
  v_answer.retrieval_status := case when v_seqs is null then 'empty' when v_answer.conflicts_found then 'conflicted'
                        else 'succeeded' end;
  v_said.tenants := v_caller.tenants;
  v_said.project_seq := v_scope.project_seq;
  v_said.moment := pgmem.now();
  v_answer.next_step := case
    when v_answer.conflicts_found then 'Some of these conflict: ask which one holds before you act on either.'
    when v_seqs is null and num_nonnulls(p_categories, p_topic, p_as_of, p_known_at) > 0
      then 'Nothing here fits: leave out topic, categories, as_of and known_at to see what is stored.'
        || case when p_topic is not null and num_nonnulls(p_categories, p_as_of, p_known_at) = 0
             then pgmem.said_of(pgmem.query_lexemes(p_topic, v_scope.text_config), v_said) else '' end
    when v_seqs is null then 'Nothing is stored here yet. Work on, then save_session.'
    when cardinality(v_answer.truncated_scopes) > 0 or v_answer.left_out > 0
      then 'More is stored: narrow by topic or categories, or use search_memory.'
    -- A project that has just begun has nothing to repair: due by the rule, and not worth a sentence.
    when v_answer.hygiene_due and (select n.created_at from pgmem.node n where n.seq = v_scope.project_seq) < v_due
      then 'Run run_hygiene for this project when there is time.'
    else 'Go on from here.' end;
  return v_answer;
end;
$$;
comment on function pgmem.retrieve_context is $$
Load standing instructions and the newest live memories of focus, project and all projects.

`items` are the newest of the focus, then of the project, then of all projects. `standing` holds the instructions apart
from them: an instruction is a text of a person that says how to go on from now on (always, never, when I ask), or whose
title is Instruction; it is offered whatever its age, at most `instruction_limit` of them, the nearest first; with a topic,
those that hold a word of it. An agent's is an ordinary note until a person says yes to it (list_rules, decide_rule).
`by` names the author of each item. Half of the places of a scope are kept for memories of persons.

With `as_of` the answer holds memories that were true at that time, also those superseded since; with `known_at` those
recorded at that time.

One attempt takes at most `retrieval_timeout_s`; after one retry the status is `timed_out` (or `failed` when the
database does not answer), so that an agent can always go on.

scope: The widest scope; global: only global memories; project or focus: the named focus, the project and global memories.
focus: Focus area; required with scope focus.
categories: Only these kinds; unset: all but cards.
topic: Only memories that contain one of these words.

max_tokens: At most so many tokens; four characters each, 100 to 1000000: long texts are cut, memories are taken in
  turn from focus, project and global, and results that do not fit are left out and counted in left_out. Unset: no limit, for an agent
  the setting agent_token_limit.
InvalidArgument: an unknown scope or category, or scope focus without focus.
$$;
select pgmem.declare_verb('retrieve_context', p_rights => 'reader', p_effect => 'read', p_answer => 'ContextBundle',
  p_patience => 'answer', p_toolset => 'core',
  p_description =>
    'Call this before you work. It loads what is remembered of focus, project and all projects.');


select pgmem.declare_answer('recorded_session', $$
A session: what was done in it and what it left open.

id uuid, project text?, objective text, actions_taken text[] = {}, decisions_made text[] = {}, open_items text[] = {}
next_actions text[] = {}, created_at timestamptz
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('labelled_memory', $$
A memory by its id, its kind and its title.

id uuid, label text, title text
$$);

select pgmem.declare_answer('produced', $$
A memory that was saved in a session.

like labelled_memory
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('session_record', $$
A session with the memories that were saved in it.

session recorded_session, produced produced[]
$$);

create or replace function pgmem.get_session(
  p_session_id text default null,
  p_id pgmem.former_name_text default null
) returns pgmem.session_record
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.session_record;
  v_node pgmem.node := pgmem.find_node('Session', coalesce(p_session_id, p_id));
begin
  v_answer.session := v_node.props
    || jsonb_build_object('id', v_node.id, 'project', v_node.project, 'created_at', v_node.created_at,
         'by', pgmem.said_by(v_node.source, v_node.trust_level));
  select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'title', n.title,
           'by', pgmem.said_by(n.source, n.trust_level)) order by n.seq), '[]')
  into v_answer.produced
  from pgmem.visible_edge e join pgmem.visible_node n on n.seq = e.dst
  where e.src = v_node.seq and e.rel = 'PRODUCED';
  return v_answer;
end;
$$;
comment on function pgmem.get_session is $$
Read a session by its id, with the memories that were saved in it.

session_id: The id of the session, or its exact title.

MemoryNotFound: no such session is visible to the caller.
AmbiguousName: several sessions have this title; the message lists their ids.
InvalidArgument: the session_id is empty.
$$;
select pgmem.declare_verb('get_session', p_rights => 'reader', p_effect => 'read', p_answer => 'SessionRecord');
