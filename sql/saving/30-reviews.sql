-- Trust, reviews and tombstones
--
-- Trust decides who may undo whom: a caller of lower trust than a memory (outranked, 08-caller) neither supersedes, changes,
-- hides, reverts nor purges it. What it asked for becomes a save under review (hold_change): a row in save_attempt with
-- its arguments, which list_reviews shows and resolve_review makes or drops (59-save-status). A person, which is the
-- owner or a reviewer at the command line, on the page or in psql (decides, 08-caller), is outranked by nothing.
--
-- A purge leaves a tombstone: who purged which memory and when, with a hash of its content and no content. What is
-- shared in an organisation is purged by a person alone.
--
-- Locks: none.


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


-- What was said is stored all the same, for the time before the present state.
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
  return jsonb_build_object('conflict', 'open', 'action', 'review', 'since', p_present.begins_at,
    'save_id', v_held.save_id, 'message', v_message);
end;
$$;
comment on function pgmem.hold_contradiction is
  'Put under review that two open periods of a memory contradict each other; what the answer says of it.';


create or replace function pgmem.require_forgettable(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.is_memory(p_node.label)
      and (p_node.label <> 'Project' or exists (select from pgmem.node n where n.project_seq = p_node.seq)) then
    raise exception using errcode = 'PM011', message = format(
      'A %s holds memories together; forget those instead. erase_subject removes a whole tenant.', p_node.label);
  end if;
  -- Agents draft cards and people decide them: forgetting or reverting one would be a decision.
  if p_node.label = 'Card' then
    raise exception using errcode = 'PM011',
      message = 'A Card is decided by a person: approve_card, reject_card, archive_card (pgmem cards).';
  end if;
  perform pgmem.require_own(p_node, p_caller);
end;
$$;
comment on function pgmem.require_forgettable is
  'An error unless a node is a memory other than a card or an empty project, and the caller''s or its organisation''s.';


create or replace function pgmem.needs_review(p_node pgmem.node, p_caller pgmem.caller, p_purge boolean) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  if pgmem.decides(p_caller) then
    return false;
  end if;
  return p_caller.trust_level < p_node.trust_level
    -- What is shared belongs to all of the organisation.
    or p_purge and p_node.tenant <> p_caller.tenant
    or p_node.scope = 'global' and pgmem.setting_text('approval') <> 'self';
end;
$$;
comment on function pgmem.needs_review is
  'Whether a person decides over forgetting, purging or reverting a node, by its trust, its owner or its scope.';


create or replace function pgmem.propose_change(
  p_verb text,
  p_arguments jsonb,
  p_id uuid default null
) returns pgmem.save_result
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
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
    'Proposed by a change in a file.');
end;
$$;
comment on function pgmem.propose_change is $$
Ask a person to decide about a change; asked for again, it is the same review.

verb: forget or edit_memory, for a stored memory; or the verb that saves a kind, for a new one.
arguments: Of the verb, an object: purge of forget, properties and title of edit_memory, or those of the save.
id: The memory that would be forgotten or edited.

InvalidArgument: another verb, or arguments is not an object.
MemoryNotFound: no such memory is visible to the caller.
$$;
select pgmem.declare_verb('propose_change', p_rights => 'writer', p_effect => 'repeat', p_answer => 'SaveResult');


create or replace function pgmem.bury(p_seqs bigint[], p_caller pgmem.caller) returns void
language sql set search_path = pgmem, pg_temp as $$
  insert into pgmem.tombstone
    (id, label, org_id, user_id, trust_level, content_hash, purged_by, agent_id, source, purged_at)
  select b.id, n.label, n.org_id, n.user_id, n.trust_level,
         encode(sha256(convert_to(n.title || e'\x1e' || n.props::text, 'UTF8')), 'hex'),
         session_user, p_caller.agent_id, p_caller.source, pgmem.clock()
  from pgmem.node n
  -- Somebody may have taken the id that a turn has by its name, so that it has another one.
  cross join lateral (select n.id union select pgmem.turn_id(n.tenant, n.key) where n.label = 'Turn') as b(id)
  where n.seq = any (p_seqs)
  on conflict (id, tenant) do nothing;
  -- What was sent for it and not stored, and what a person was shown, go with it.
  update pgmem.save_attempt a set arguments = null, batch = null, message = 'The memory was purged.',
    status = case when a.status = 'saved' then a.status else 'dropped' end
  from pgmem.node n
  where n.seq = any (p_seqs) and a.tenant in (n.tenant, p_caller.tenant)
    and (a.artifact_id = n.id or a.candidate_id = n.id
         or jsonb_path_exists(a.arguments, 'strict $.** ? (@ == $title || @ == $key)',
                              jsonb_build_object('title', n.title, 'key', coalesce(n.key, n.title))));
  -- The reasons in the outcome of an extraction quote names and titles.
  update pgmem.extraction e set result = (
    select coalesce(jsonb_agg(r.value - 'reason' order by r.place), '[]')
    from jsonb_array_elements(e.result) with ordinality as r(value, place))
  from pgmem.node n
  where n.seq = any (p_seqs) and e.tenant in (n.tenant, p_caller.tenant) and e.result is not null
    and (n.id = any (e.turns) or e.result @> jsonb_build_array(jsonb_build_object('artifact_id', n.id))
         or e.result @> jsonb_build_array(jsonb_build_object('candidate_id', n.id)));
  update pgmem.governance_token t set preview = ''
  from pgmem.node n
  where n.seq = any (p_seqs) and t.tenant in (n.tenant, p_caller.tenant)
    and (strpos(t.preview, n.title) > 0
         or t.used_by in (
              select a.save_id from pgmem.save_attempt a where a.tenant = t.tenant and a.artifact_id = n.id));
$$;
comment on function pgmem.bury is
  'Leave the tombstones of nodes that are purged next, and remove what is kept of the saves that wrote them.';


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
