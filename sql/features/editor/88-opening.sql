-- The opening of a session
--
-- A client's hook brings it before the first prompt, in some hundred tokens, so the order decides: first the open items,
-- then standing instructions, conflicts and replacements, the work of the last session, and every live decision as one
-- line. This chapter finds the parts; the hook writes the lines and counts those that did not fit.
--
-- An item is open from the session that names it until a later session names it among its actions or decisions: when
-- three of five of its words are in one of them, in whatever form. An item that a later session names again is the later
-- one. Age closes nothing.
--
-- The work of the last conversation is read from its turns, without a model: questions and answers, and the turns of
-- the role tool, which hold the files that were edited, the commands that failed and the commits
-- (pgmem/features/editor/done.py).
--
-- Locks: none.


create or replace function pgmem.word_forms(p_text text, p_config text) returns text[]
language sql stable parallel safe set search_path = pgmem, pg_temp
return array(select distinct coalesce((pgmem.inflections(l.lexeme))[1], l.lexeme)
             from unnest(tsvector_to_array(to_tsvector(p_config::regconfig, pgmem.segment(left(p_text, 2000))))) as l(lexeme));
comment on function pgmem.word_forms is 'The words of a text that count, each in one form: chose is choose.';


create or replace function pgmem.open_items(p_tenants text[], p_project_seq bigint, p_config text)
returns table (seq bigint, id uuid, at timestamptz, item text, by text)
language sql stable rows 20 set search_path = pgmem, pg_temp as $$
  with session as materialized (
    select n.seq, n.id, n.created_at, n.props, pgmem.said_by(n.source, n.trust_level) as by from pgmem.node n
    where n.label = 'Session' and n.tenant = any (p_tenants) and n.project_seq = p_project_seq
      and pgmem.is_live(n.status, n.valid_from, n.valid_to)
    order by n.seq desc limit 1000
  ), item as materialized (
    select row_number() over (order by s.seq desc, i.place) as number, s.seq, s.id, s.created_at, i.text, s.by,
           pgmem.word_forms(i.text, p_config) as words
    from session s
    cross join lateral jsonb_array_elements_text(coalesce(nullif(s.props -> 'open_items', 'null'), '[]'))
      with ordinality as i(text, place)
    where btrim(i.text) <> '' limit 500
  ), said as materialized (
    select row_number() over () as number, s.seq, d.kind, pgmem.word_forms(d.text, p_config) as words
    from session s
    cross join lateral (
      select 'done' as kind, t.text from jsonb_array_elements_text(coalesce(nullif(s.props -> 'actions_taken', 'null'), '[]')) as t(text)
      union all
      select 'done', t.text from jsonb_array_elements_text(coalesce(nullif(s.props -> 'decisions_made', 'null'), '[]')) as t(text)
      union all
      select 'open', t.text from jsonb_array_elements_text(coalesce(nullif(s.props -> 'open_items', 'null'), '[]')) as t(text)) d
    where s.seq > (select min(i.seq) from item i)
  ), named as (
    select i.number from (select i.number, i.seq, cardinality(i.words) as words, w.word from item i, unnest(i.words) as w(word)) i
    join (select s.number, s.seq, s.kind, cardinality(s.words) as words, w.word from said s, unnest(s.words) as w(word)) s
      on s.word = i.word and s.seq > i.seq
    group by i.number, s.number, s.kind
    -- An item named again as open is the same only if neither says much more.
    having count(*) >= 0.6 * max(i.words) and (s.kind = 'done' or count(*) >= 0.6 * max(s.words))
  )
  select i.seq, i.id, i.created_at, i.text, i.by from item i
  where i.number not in (select n.number from named n)
  order by i.number;
$$;
comment on function pgmem.open_items is
  'Items that sessions of a project left open and no later one has named as done, the newest first; of 1000 sessions at most.';


create or replace function pgmem.last_replacements(p_tenants text[], p_project_seq bigint, p_since timestamptz, p_limit integer)
returns table (title text, with_title text, at timestamptz, by text, with_by text)
language sql stable rows 5 set search_path = pgmem, pg_temp as $$
  select o.title, n.title, e.created_at, pgmem.said_by(o.source, o.trust_level), pgmem.said_by(n.source, n.trust_level)
  from pgmem.node n join pgmem.edge e on e.src = n.seq and e.rel = 'SUPERSEDES'
  join pgmem.node o on o.seq = e.dst and o.tenant = any (p_tenants)
  where n.label = 'Decision' and n.tenant = any (p_tenants) and n.project_seq = p_project_seq
    and pgmem.is_live(n.status, n.valid_from, n.valid_to) and e.created_at >= p_since and o.title <> n.title
  order by e.created_at desc limit p_limit;
$$;
comment on function pgmem.last_replacements is 'Decisions of a project that were replaced since a time, and by which, the latest first.';


create or replace function pgmem.last_conversation(p_tenants text[], p_project_seq bigint, p_now text) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  v_last text;
  v_made jsonb;
begin
  select n.session_id into v_last from pgmem.node n
  where n.project_seq = p_project_seq and n.status = 'captured' and n.tenant = any (p_tenants)
    and n.session_id is distinct from p_now and n.props -> 'agent' is null
  order by n.seq desc limit 1;
  if v_last is null then
    return null;
  end if;
  with turn as materialized (
    select n.props ->> 'role' as role, n.props ->> 'content' as content, coalesce(n.valid_from, n.created_at) as at,
           row_number() over (order by n.seq) as place, row_number() over (order by n.seq desc) as from_end
    from (select t.* from pgmem.node t
          where t.session_id = v_last and t.status = 'captured' and t.tenant = any (p_tenants)
            and t.props -> 'agent' is null order by t.seq desc limit 400) n
  ), asked as (
    select u.content, row_number() over (order by u.place) as place, row_number() over (order by u.place desc) as from_end
    from (select * from turn t where t.role = 'user' and cardinality(regexp_split_to_array(t.content, '\s+')) > 2) u
  ), answer as (
    select t.content, t.from_end from turn t where t.role = 'assistant' order by t.place desc limit 3
  ), sentence as (
    select a.from_end, s.text, s.place, row_number() over (partition by btrim(s.text) order by a.from_end) as copy
    from answer a
    cross join lateral regexp_split_to_table(a.content, '(?<=[.!?])\s+|\n+') with ordinality as s(text, place)
    where s.text ~* concat('\m(todo|still (to|open|missing|need|fail)|remain(s|ing)?|left (to|open|for)|not yet|next steps?',
      '|follow.?ups?|later|open (question|point|item)s?|pending|unresolved|have not|haven''t)\M') and length(s.text) > 15
  ), act as (
    select m.found[1] as kind, o.one, max(t.place) as place
    from turn t cross join lateral regexp_matches(t.content, '^(Edited|Failed|Passed|Committed): (.+)$', 'gn') as m(found)
    cross join lateral unnest(case m.found[1] when 'Edited' then string_to_array(m.found[2], ', ') else array[m.found[2]] end) as o(one)
    where t.role = 'tool' group by m.found[1], o.one
  ), latest as (
    -- A command that passed later has not failed.
    select a.*, row_number() over (partition by a.kind order by a.place desc, a.one) as from_end, count(*) over (partition by a.kind) as all_of
    from act a
    where not (a.kind = 'Failed' and exists (select from act p where p.kind = 'Passed' and p.one = a.one and p.place >= a.place))
  ), did as (
    select lower(l.kind) as kind, jsonb_agg(left(l.one, 200) order by l.from_end) filter (where l.from_end <= 6) as those, max(l.all_of) as all_of
    from latest l where l.kind <> 'Passed' group by l.kind
  )
  select jsonb_build_object(
    'session_id', v_last, 'at', max(t.at), 'by', 'agent',
    'asked', coalesce((select jsonb_agg(left(a.content, 300) order by a.place) from asked a
                       where a.place = 1 or a.from_end <= 2), '[]'),
    'answered', (select left((regexp_match(a.content, '([^\n]+)\s*$'))[1], 400) from answer a order by a.from_end limit 1),
    'open_items', coalesce((select jsonb_agg(left(btrim(o.text, E' \t-*•'), 200) order by o.from_end, o.place)
                            from (select * from sentence s where s.copy = 1 order by s.from_end, s.place limit 3) o), '[]'),
    'done', coalesce((select jsonb_object_agg(d.kind, jsonb_build_object('those', d.those, 'all', d.all_of)) from did d), '{}'))
  into v_made from turn t;
  return v_made;
end;
$$;
comment on function pgmem.last_conversation is
  'The texts and work of the last conversation of a project but the running one; null: none was captured.';


create or replace function pgmem.project_opening(
  p_project_id text,
  p_client text default null,
  p_session_id text default null,
  out conflicts jsonb,
  out conversation jsonb,
  out waiting_rules integer,
  out open_items jsonb,
  out replaced jsonb,
  out decisions jsonb,
  out decision_count integer,
  out session jsonb,
  out left_out jsonb
)
language plpgsql stable security definer set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_config text := coalesce(v_scope.text_config, pgmem.setting_text('text_config'));
begin
  select coalesce(jsonb_agg(jsonb_build_object('title', c.title, 'by', c.by, 'with_title', c.with_title, 'with_by', c.with_by)
           order by c.created_at desc), '[]') into conflicts
  from (select * from pgmem.open_conflict o where v_scope.project_seq in (o.project_seq, o.with_project_seq)
        order by o.created_at desc limit 3) c;
  -- Counted as far as the number matters.
  waiting_rules := (select count(*) from pgmem.rules_that_wait(v_caller, v_scope.project_seq, 100));
  open_items := (select coalesce(jsonb_agg(jsonb_build_object('id', o.id, 'at', o.at, 'item', o.item, 'by', o.by) order by o.seq desc), '[]')
                 from (select * from pgmem.open_items(v_caller.tenants, v_scope.project_seq, v_config)) o);
  replaced := (select coalesce(jsonb_agg(jsonb_build_object('title', r.title, 'with', r.with_title, 'at', r.at, 'by', r.by, 'with_by', r.with_by)
                                           order by r.at desc), '[]')
               from pgmem.last_replacements(v_caller.tenants, v_scope.project_seq, pgmem.now() - interval '7 days', 3) r);
  select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'label', 'Decision', 'title', d.title, 'created_at', d.created_at,
             'by', d.by, 'rationale', left(d.props ->> 'rationale', 300), 'wrong', d.wrong, 'first', d.opening is not null)
           order by d.number), '[]') into decisions
  from (
    -- A decision that was used counts as newer, one that was named wrong comes last.
    -- Every second place is for decisions of persons, so that an agent's many do not push it out.
    select o.*, row_number() over (order by o.opening = 'first' desc nulls last, o.last, o.turn, o.by desc) as number from (
    select n.id, n.title, n.created_at, n.props, coalesce(u.wrong, 0) as wrong, u.opening, said.by, said.last,
           row_number() over (partition by said.by order by said.last,
             n.created_at + make_interval(days => 7 * least(coalesce(u.used, 0), 50)) desc, n.seq desc) as turn
    from (
      (select n.seq from pgmem.node n
       where n.label = 'Decision' and n.tenant = any (v_caller.tenants) and n.project_seq = v_scope.project_seq
       order by n.seq desc limit 400)
      union
      (select s.seq from unnest(v_caller.tenants) as t(tenant)
       cross join lateral (
         select n.seq, n.label from pgmem.node n  -- by node_said
         where n.place = v_scope.project_seq::text and n.tenant = t.tenant and n.source in ('cli', 'ui') and n.scope is not null
           and n.status in ('active', 'approved') and n.label <> 'Card'
         order by n.created_at desc, n.seq desc limit 400) s where s.label = 'Decision')
      union
      (select f.node_seq from pgmem.usefulness f join pgmem.node n on n.seq = f.node_seq
       where f.tenant = any (v_caller.tenants) and f.used > 0 and n.label = 'Decision' and n.project_seq = v_scope.project_seq
       order by f.used desc limit 100)
      union
      (select f.node_seq from pgmem.usefulness f join pgmem.node n on n.seq = f.node_seq  -- by usefulness_opening
       where f.tenant = any (v_caller.tenants) and f.opening is not null and f.opening = 'first' and n.label = 'Decision'
         and n.project_seq = v_scope.project_seq limit 100)) c
    join pgmem.node n on n.seq = c.seq
    left join lateral (
      select sum(f.used)::integer as used, sum(f.wrong + f.outdated)::integer as wrong, max(f.opening) as opening from pgmem.usefulness f
      where f.node_seq = n.seq and f.tenant = any (v_caller.tenants)) u on true
    cross join lateral (
      -- Most verdicts of wrong are by agents: a person's decision keeps its place, with the word beside it.
      select s.by, s.by = 'agent' and coalesce(u.wrong, 0) > 0 as last
      from (select pgmem.said_by(n.source, n.trust_level) as by offset 0) s) said
    where n.tenant = any (v_caller.tenants) and n.focus is null and not n.instructs and u.opening is distinct from 'never'
      and pgmem.is_live(n.status, n.valid_from, n.valid_to) and (n.turns_at is null or n.turns_at > pgmem.now())) o) d;
  decision_count := (select count(*) from (
    select from pgmem.node n
    where n.label = 'Decision' and n.tenant = any (v_caller.tenants) and n.project_seq = v_scope.project_seq and n.focus is null
      and not n.instructs and pgmem.is_live(n.status, n.valid_from, n.valid_to) limit 5000) n);
  left_out := (
    select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'title', n.title) order by n.seq desc), '[]')
    from pgmem.usefulness f join pgmem.node n on n.seq = f.node_seq  -- by usefulness_opening
    where f.tenant = any (v_caller.tenants) and f.opening is not null and f.opening = 'never'
      and n.project_seq = v_scope.project_seq and pgmem.is_live(n.status, n.valid_from, n.valid_to));
  session := (
    select jsonb_build_object('id', n.id, 'label', 'Session', 'title', n.title, 'created_at', n.created_at,
             'by', pgmem.said_by(n.source, n.trust_level), 'objective', n.props -> 'objective', 'next_actions', n.props -> 'next_actions',
             'actions_taken', n.props -> 'actions_taken')
    from pgmem.node n
    where n.label = 'Session' and n.tenant = any (v_caller.tenants) and n.project_seq = v_scope.project_seq
      and pgmem.is_live(n.status, n.valid_from, n.valid_to)
    order by n.seq desc limit 1);
  conversation := pgmem.last_conversation(v_caller.tenants, v_scope.project_seq,
    case when p_session_id is not null then pgmem.conversation(p_client, p_session_id) end);
end;
$$;
comment on function pgmem.project_opening is $$
The opening of a session of a project beside its instructions: open items, conflicts, replacements, the last work, and
decisions.

open_items are {id, at, item, by} of the sessions that named them, until a later session names the item among its actions or
decisions; the newest first. conflicts are {title, by, with_title, with_by}, the newest three. replaced are {title, by, with, with_by, at} of the last
seven days. by is who said it, person or agent. conversation holds session_id, at, asked (the first and the last two things that a person asked), answered (the
end of the last answer), open_items (sentences about the rest), done (edited, failed and committed: those, the latest
six, and all, their number) and by (agent, as a program recorded it); null: none was captured. session is the newest
session that an agent saved. decisions are the newest and most used live decisions of
the project, some hundred at most, a person's in every second place, those of agents that were named wrong last; first those that a
person put there (first), and none that a person left out (left_out: {id, title}, by place_in_opening); decision_count is the number of all, up to 5000. waiting_rules counts the rules of agents that
wait for a person's yes, up to 100.

client: The client of the session that begins.
session_id: Its id there; its own turns are left out.
$$;
select pgmem.declare_verb('project_opening', p_rights => 'reader', p_effect => 'read', p_patience => 'answer',
  p_reads => 8000);


create or replace function pgmem.place_in_opening(
  p_id text,
  p_place text default null
) returns text
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_node   pgmem.node;
begin
  if not (v_caller.source in ('cli', 'ui') and pgmem.decides(v_caller)) then
    raise exception using errcode = 'PM004', message =
      'Only a person gives a decision its place in openings, at the command line or on the page: mention it to them.';
  elsif p_place <> all ('{first,never}') then
    raise exception using errcode = 'PM001', message = format('place is first, never or null, not %L.', left(p_place, 40));
  end if;
  v_node := pgmem.named_memory(p_id);
  if v_node.label <> 'Decision' then
    raise exception using errcode = 'PM001', message = format(
      'Only a decision has its place in openings; %L is a %s. A rule is brought while it is live: forget it.',
      left(v_node.title, 80), v_node.label);
  end if;
  insert into pgmem.usefulness (node_seq, tenant, opening) values (v_node.seq, v_caller.tenant, p_place)
  on conflict (node_seq, tenant) do update set opening = excluded.opening;
  return v_node.title;
end;
$$;
comment on function pgmem.place_in_opening is $$
Put a decision first in the openings of its project, or leave it out; its title.

It is a person's word. A decision that was left out is found and brought with a prompt as before, and is counted among those that an opening
leaves out. The word is of the caller's tenant.

id: Its id or title; of an id the first 8 digits are enough.
place: first, never, or null for its place by age and use.

NotPermitted: the call does not come from the command line or the page.
MemoryNotFound: no such memory is visible here.
$$;
select pgmem.declare_verb('place_in_opening', p_rights => 'writer', p_effect => 'write', p_answer => 'str');
