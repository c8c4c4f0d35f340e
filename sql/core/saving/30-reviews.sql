-- Trust, reviews and tombstones
--
-- Trust decides who may undo whom: a caller of lower trust than a memory (outranked, 08-caller) neither supersedes, changes,
-- hides, reverts nor purges it. Its request becomes a save under review (hold_change): a row in save_attempt with
-- its arguments, which list_reviews shows and resolve_review makes or drops (59-save-status). A person, which is the
-- owner or a reviewer at the command line, on the page or in psql (decides, 08-caller), is outranked by nothing.
--
-- A purge leaves a tombstone: who purged which memory and when, with a hash of its content and no content. A shared
-- memory of an organisation is purged by a person alone. With the memory go the open saves that concern it or would
-- store it, of no more trust than who purges.
--
-- Locks: the rows of the saves and previews of a memory that is purged.


-- Asked for again, the same change is the same review.
create or replace function pgmem.hold_change(
  p_caller pgmem.caller,
  p_verb text,
  p_arguments jsonb,
  p_node pgmem.node,
  p_message text default null
) returns pgmem.save_result
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_hash    bytea := sha256(convert_to(p_verb || p_arguments::text, 'UTF8'));
  v_save_id uuid;
begin
  select a.save_id into v_save_id from pgmem.save_attempt a
  where a.tenant = p_caller.tenant and a.verb = p_verb and a.arguments_hash = v_hash and a.status = 'failed'
    and a.dedup_outcome = 'manual_review' order by a.created_at limit 1;
  return pgmem.record_attempt(p_caller, p_verb, p_arguments, v_hash, pgmem.make_result('failed',
    p_dedup_outcome => 'manual_review', p_candidate_id => p_node.id,
    p_message => coalesce(p_message, pgmem.review_message(p_node, p_caller)),
    p_next_step => pgmem.review_step(), p_save_id => coalesce(v_save_id, gen_random_uuid())));
end;
$$;
comment on function pgmem.hold_change is
  'Put a change of a memory under review; its arguments are kept until a person makes or drops it.';


-- The fact is stored all the same, for the time before the present state.
create or replace function pgmem.hold_contradiction(
  p_caller pgmem.caller,
  p_verb text,
  p_arguments jsonb,
  p_present pgmem.node,
  p_from timestamptz
) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_message text := format('%s is on record as present since %s, and this says another since %s, both without an end. '
    'It is stored for the time before; a person decides which is true now.', pgmem.short_name(p_present.title),
    to_char(p_present.begins_at at time zone 'UTC', 'YYYY-MM-DD'), to_char(p_from at time zone 'UTC', 'YYYY-MM-DD'));
  v_held pgmem.save_result := pgmem.hold_change(p_caller, p_verb, p_arguments, p_present, v_message);
begin
  if v_held.dedup_outcome is null then
    v_message := concat_ws(' ', v_message, v_held.message);
  end if;
  return jsonb_build_object('conflict', 'open', 'action', 'review', 'since', p_present.begins_at,
    'save_id', v_held.save_id, 'message', v_message);
end;
$$;
comment on function pgmem.hold_contradiction is
  'Put under review that two open periods of a memory contradict each other; returns the sentence of the answer.';


-- The write is made all the same; supersede puts the end back, by the version that had it.
create or replace function pgmem.hold_revival(p_caller pgmem.caller, p_before pgmem.node) returns jsonb
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_message text := format('%s had ended on %s and is true again by this write, which names no period. '
    'A person decides: supersede puts the end back, drop leaves it open.', pgmem.short_name(p_before.title),
    to_char(p_before.valid_to at time zone 'UTC', 'YYYY-MM-DD'));
begin
  if p_caller.source in ('cli', 'ui') then
    return '{}';  -- the person who would be asked
  end if;
  return jsonb_build_object('message', v_message, 'save_id', (pgmem.hold_change(p_caller, 'revert',
    jsonb_strip_nulls(jsonb_build_object('label', p_before.label, 'key', p_before.id, 'title', p_before.title,
      'version', p_before.version, 'project_id', p_before.project)), p_before, v_message)).save_id);
end;
$$;
comment on function pgmem.hold_revival is
  'Put under review that a memory whose period had ended is true again; what the answer says of it.';


create or replace function pgmem.require_forgettable(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_decided text;
begin
  if not pgmem.is_memory(p_node.label)
      and (p_node.label <> 'Project' or exists (select from pgmem.node n where n.project_seq = p_node.seq)) then
    raise exception using errcode = 'PM011', message = format(
      'A %s holds memories together; forget those instead. A person removes a whole tenant: pgmem erase-subject.', p_node.label);
  end if;
  select l.decided_by into v_decided from pgmem.label l where l.name = p_node.label;
  if v_decided is not null then
    raise exception using errcode = 'PM011', message = v_decided;
  end if;
  perform pgmem.require_own(p_node, p_caller);
end;
$$;
comment on function pgmem.require_forgettable is
  'An error unless a node is an empty project or a memory that no separate decision needs, and the caller''s or its organisation''s.';


create or replace function pgmem.needs_review(p_node pgmem.node, p_caller pgmem.caller, p_purge boolean) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if pgmem.decides(p_caller) then
    return false;
  end if;
  return p_caller.trust_level < p_node.trust_level
    -- A shared memory belongs to all of the organisation.
    or p_purge and p_node.tenant <> p_caller.tenant
    or p_node.scope = 'global' and pgmem.setting_text('approval') <> 'self';
end;
$$;
comment on function pgmem.needs_review is
  'Whether a person decides over forgetting, purging or reverting a node, by its trust, its owner or its scope.';


create or replace function pgmem.propose_change(
  p_verb text,
  p_arguments jsonb,
  p_id uuid default null,
  p_origin text default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_origin  text := pgmem.clean_text(p_origin, 'origin');
  v_node    pgmem.node;
begin
  if jsonb_typeof(p_arguments) is distinct from 'object' then
    raise exception using errcode = 'PM001', message = 'arguments must be an object; send those of the verb.';
  elsif p_verb in ('forget', 'edit_memory') then
    v_node := pgmem.require_memory(p_id);
    perform pgmem.require_forgettable(v_node, v_caller);
    p_arguments := p_arguments || jsonb_build_object('label', v_node.label, 'key', coalesce(v_node.key, v_node.id::text));
  elsif not exists (select from pgmem.field f join pgmem.label l on l.name = f.label where l.verb = p_verb) then
    raise exception using errcode = 'PM001', message = 'verb must be forget, edit_memory or a verb that saves a kind.';
  end if;
  return pgmem.hold_change(v_caller, p_verb, pgmem.require_length(p_arguments), v_node,
    format('Proposed by %s (%s)%s.', coalesce(v_caller.agent_id, pgmem.login()), v_caller.source, ', in ' || v_origin));
end;
$$;
comment on function pgmem.propose_change is $$
Ask a person to decide about a change; asked for again, it is the same review.

The review says who proposed it, and where they found it.

verb: forget or edit_memory, for a stored memory; or the verb that saves a kind, for a new one.
arguments: Those of the verb, an object: purge of forget, properties and title of edit_memory, or those of the save.
id: The memory that would be forgotten or edited.
origin: Where the change was found, such as a file; a person is shown it.

InvalidArgument: another verb, or arguments is not an object.
MemoryNotFound: no such memory is visible to the caller.
$$;
select pgmem.declare_verb('propose_change', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult');


-- A save that would store the memory under its name, where it is stored; elsewhere only one of the same words.
create or replace function pgmem.would_store(p_attempt pgmem.save_attempt, p_node pgmem.node) returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select pgmem.folded(sent.texts ->> name.field) = pgmem.folded(coalesce(name.kept, p_node.title)) and (
    coalesce(p_attempt.arguments ->> 'scope', 'project') = p_node.scope
      and pgmem.tenant_of(p_attempt.org_id, case p_attempt.arguments ->> 'share' when 'org' then '' else p_attempt.user_id end)
          = p_node.tenant
      and (p_node.scope = 'global' or pgmem.folded(p_attempt.project) is not distinct from pgmem.folded(p_node.project))
      and (p_node.scope <> 'focus'
           or pgmem.folded(p_attempt.arguments ->> 'focus') is not distinct from pgmem.folded(p_node.focus))
    or exists (select from unnest(l.text_fields) as f(name)
               where f.name <> name.field and p_node.props -> f.name = sent.texts -> f.name
                 and p_node.props -> f.name not in ('""', '[]')))
  from pgmem.label l
  cross join lateral (select case p_attempt.verb when 'remember' then p_attempt.arguments -> 'properties'
                               else p_attempt.arguments end) as sent(texts)
  cross join lateral (select coalesce(l.key_field, l.title_field), p_node.props ->> coalesce(l.key_field, l.title_field)) as name(field, kept)
  where l.name = p_node.label and l.verb = p_attempt.verb
    and (p_attempt.verb <> 'remember' or p_attempt.arguments ->> 'label' = l.name);
$$;
comment on function pgmem.would_store is
  'Whether an open save is one of a memory''s own kind that names it, in its place or with its words.';


-- Between the title and the texts nothing is left but signs and names of fields, or a line is the title alone.
create or replace function pgmem.previews(p_preview text, p_node pgmem.node) returns boolean
language sql stable set search_path = pgmem, pg_temp as $$
  select exists (
      select from regexp_split_to_table(p_preview, '\s*\n\s*') as line(text)
      where btrim(regexp_replace(line.text, '^\W*(forget|revert)\M\W*', '', 'i')) = btrim(p_node.title))
    or strpos(p_preview, p_node.title) > 0 and pgmem.shows(p_preview, 'save', p_node.title || array(
      select t from unnest(pgmem.approved_texts(p_node.props)) t
      where t <> p_node.title and strpos(p_preview, t) > 0));
$$;
comment on function pgmem.previews is 'Whether the preview of an approval is the text of a memory, or has its title as a line.';


-- The parts of a batch have separate rows; its answer says which of them were stored, and no more.
create or replace function pgmem.without_words(p_batch jsonb) returns jsonb
language sql immutable set search_path = pgmem, pg_temp as $$
  select jsonb_object_agg(part.name, case jsonb_typeof(part.value)
    when 'object' then part.value || bare.fields
    when 'array' then (
      select coalesce(jsonb_agg(case jsonb_typeof(r.value) when 'object' then r.value || bare.fields else r.value end
                                order by r.place), '[]')
      from jsonb_array_elements(part.value) with ordinality as r(value, place))
    else part.value end)
  from jsonb_each(p_batch) as part(name, value)
  cross join (select '{"message": null, "near_names": [], "conflicts": []}'::jsonb) as bare(fields);
$$;
comment on function pgmem.without_words is 'The answer of a batch without its quotes of memories.';


-- A save that waits for a person and outranks the purging caller stays: only the words about the memory go.
create or replace function pgmem.bury_saves(p_node pgmem.node, p_caller pgmem.caller) returns void
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.save_attempt a set arguments = null, batch = pgmem.without_words(a.batch),
    message = 'A memory that it stored was purged.', updated_at = pgmem.now()
  where a.tenant in (p_node.tenant, p_caller.tenant) and a.batch is not null and a.status in ('saved', 'partial')
    and jsonb_path_exists(a.batch, '$.**.artifact_id ? (@ == $id)', jsonb_build_object('id', p_node.id));
  with found as (
    select a.tenant, a.save_id, a.status in ('saved', 'dropped') as done,
           pgmem.outranked(coalesce(a.trust_level, pgmem.setting_float('trust_mcp')), p_caller) as stays
    from pgmem.save_attempt a
    where a.tenant in (p_node.tenant, p_caller.tenant) and a.status <> 'partial'
      and (p_node.id in (a.artifact_id, a.candidate_id)
           or a.status not in ('saved', 'dropped') and pgmem.would_store(row(a.*)::pgmem.save_attempt, p_node))
  )
  update pgmem.save_attempt a set
    status = case when found.done or found.stays or a.batch is not null then a.status else 'dropped' end,
    arguments = case when not found.done and (found.stays or a.batch is not null) then a.arguments end,
    batch = pgmem.without_words(a.batch),
    message = case when found.done then 'The memory was purged.'
      when found.stays then 'A memory that it names was purged; it waits for a person as before.'
      else 'The memory that it names was purged, and this save with it: it is not stored.' end,
    next_step = case when found.done or found.stays or a.batch is not null then a.next_step
      else 'Save it again if it is still to be stored.' end,
    updated_at = case when found.done then a.updated_at else pgmem.now() end
  from found where a.tenant = found.tenant and a.save_id = found.save_id;
$$;
comment on function pgmem.bury_saves is
  'Drop the open saves of a memory that is purged next, of no more trust than who purges, and the quotes of it in others.';


create or replace function pgmem.bury(p_seqs bigint[], p_caller pgmem.caller) returns void
language sql set search_path = pgmem, pg_temp as $$
  insert into pgmem.tombstone
    (id, label, org_id, user_id, trust_level, content_hash, purged_by, agent_id, source, purged_at)
  select b.id, n.label, n.org_id, n.user_id,
         greatest(n.trust_level, case when pgmem.decides(p_caller) then 1.0 else p_caller.trust_level end),
         encode(sha256(convert_to(n.title || e'\x1e' || n.props::text, 'UTF8')), 'hex'),
         session_user, p_caller.agent_id, p_caller.source, pgmem.clock()
  from pgmem.node n
  -- Somebody may have taken the id that a turn has by its name, so that it has another one.
  cross join lateral (select n.id union select pgmem.id_by_name(n.tenant, n.key) where pgmem.is_source_text(n.label)) as b(id)
  where n.seq = any (p_seqs)
  on conflict (id, tenant) do nothing;
  update pgmem.governance_token t set preview = ''
  from pgmem.node n
  where n.seq = any (p_seqs) and t.tenant in (n.tenant, p_caller.tenant) and t.preview <> ''
    and (pgmem.previews(t.preview, row(n.*)::pgmem.node)
         or t.used_by in (
              select a.save_id from pgmem.save_attempt a where a.tenant = t.tenant
                and (a.artifact_id = n.id or jsonb_path_exists(a.batch, '$.**.artifact_id ? (@ == $id)',
                                                                jsonb_build_object('id', n.id)))));
  select pgmem.bury_saves(row(n.*)::pgmem.node, p_caller) from pgmem.node n where n.seq = any (p_seqs);
  -- The reasons in the outcome of an extraction quote names and titles.
  update pgmem.extraction e set result = (
    select coalesce(jsonb_agg(case when n.id = any (e.turns) or n.id::text in (r.value ->> 'artifact_id', r.value ->> 'candidate_id')
                                then r.value - 'reason' else r.value end order by r.place), '[]')
    from jsonb_array_elements(e.result) with ordinality as r(value, place))
  from pgmem.node n
  where n.seq = any (p_seqs) and e.tenant in (n.tenant, p_caller.tenant) and e.result is not null
    and (n.id = any (e.turns) or e.result @> jsonb_build_array(jsonb_build_object('artifact_id', n.id))
         or e.result @> jsonb_build_array(jsonb_build_object('candidate_id', n.id)));
$$;
comment on function pgmem.bury is
  'Leave the tombstones of nodes that are purged next, and remove the arguments of the saves that wrote them.';


comment on column pgmem.tombstone.trust_level is
  'How far the memory was trusted, or who purged it where that is more, 0 to 1: a memory of more trust may come back.';


select pgmem.declare_answer('tombstone_answer', $$
A memory that was purged: what is left of it.

id uuid, label text, trust_level float8, content_hash text, purged_by text, agent_id text, source text
purged_at timestamptz
$$);

create or replace function pgmem.list_tombstones(p_limit pgmem.row_limit default 100)
returns setof pgmem.tombstone_answer
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select t.id, t.label, t.trust_level, t.content_hash, t.purged_by::text, t.agent_id, t.source, t.purged_at
  from pgmem.tombstone t where t.tenant = any (pgmem.visible_tenants())
  order by t.purged_at desc, t.id limit p_limit;
$$;
comment on function pgmem.list_tombstones is $$
List the memories that were purged, latest first: which, when and by whom; their content is deleted.

content_hash is SHA-256 of title, the separator U+001E and the properties as jsonb writes them.
$$;
select pgmem.declare_verb('list_tombstones', p_rights => 'reader', p_effect => 'look');
