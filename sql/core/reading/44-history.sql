-- History
--
-- Every change of a node leaves its earlier state in node_version (17-nodes), so a memory can be read back to its
-- first version and put back to any of them. These verbs also reach hidden memories: a forgotten memory has a
-- history and can be brought back by revert.
--
-- The history shows the effective period of each state: from where it began to where it ended, or where the next one
-- took its place. A state that another one restated holds nowhere any more; it is shown with the period it was saved
-- with, and marked.
--
-- A revert is a change like any other, so the state before it becomes a version too. It brings the period of the
-- earlier state back as it was set; without a valid_from other content holds from now on. The content is as trustworthy
-- as the caller that wrote it, so trust and source come back with it; agent and session are those of the caller
-- that reverts.
--
-- Locks: the governance token, the scope of the node, the row of the node.


select pgmem.declare_answer('version', $$
A state a node was recorded in, with its effective period; the present one has no replaced_at.

A restated state holds nowhere any more: a later one took its whole period.

version integer, title text, status text, properties object, valid_from timestamptz?, valid_to timestamptz?
ingested_at timestamptz, replaced_at timestamptz?, source text, trust_level float8, restated boolean, agent_id text?
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('history', $$
The versions of a node, oldest first.

versions version[]
$$);

create or replace function pgmem.memory_history(
  p_label text,
  p_key text,
  p_project_id text default null
) returns setof pgmem.version
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node := pgmem.find_recorded(p_label, p_key, pgmem.find_project(p_project_id));
begin
  return query
  select s.version, s.title, s.status, s.props,
         case when r.region is null or isempty(r.region) then coalesce(s.valid_from, s.begins_at)::timestamptz else lower(r.region) end,
         case when r.region is null or isempty(r.region) then s.valid_to else upper(r.region) end,
         s.ingested_at::timestamptz, nullif(s.replaced_at, 'infinity')::timestamptz, s.source, s.trust_level,
         r.region is null or isempty(r.region), s.agent_id, pgmem.said_by(s.source, s.trust_level)
  from pgmem.recorded_state s left join pgmem.state_regions(v_node.seq) r on r.version = s.version
  where s.seq = v_node.seq order by s.version;
end;
$$;
comment on function pgmem.memory_history is $$
List every state a memory was recorded in, oldest first; a forgotten memory has a history too.

valid_from and valid_to are the effective period of a state: without a date it begins when it was saved and
ends where the next one begins. A `restated` state holds nowhere any more, as a later one took its whole period.

project_id: Where to look for the name; unset: everywhere.

MemoryNotFound: no such memory is visible to the caller.
AmbiguousName: a name fits several memories; the message lists their ids.
InvalidArgument: an unknown label, or an empty key.
$$;
select pgmem.declare_verb('memory_history', p_rights => 'reader', p_effect => 'read', p_answer => 'History',
  p_toolset => 'graph', p_description => 'Every state a memory was recorded in, oldest first, forgotten ones too.');


create or replace function pgmem.begin_change(
  p_verb text,
  p_caller pgmem.caller,
  p_label text,
  p_key text,
  p_project_id text,
  p_purge boolean,
  p_governance_token text,
  out node pgmem.node,
  out token_id uuid
)
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  node := pgmem.find_recorded(p_label, p_key, pgmem.find_project(p_project_id));
  perform pgmem.require_forgettable(node, p_caller);
  if node.scope = 'global' and not pgmem.needs_review(node, p_caller, p_purge) then
    token_id := pgmem.require_approval(p_governance_token, p_caller, p_verb, array[node.title::text]);
  end if;
  node := pgmem.locked(node);
  if node.seq is null then
    raise exception using errcode = 'PM002',
      message = format('No %s named %s found.', p_label, quote_literal(left(p_key, 80)));
  end if;
  node := pgmem.settled(node);
end;
$$;
comment on function pgmem.begin_change is
  'The memory that revert or forget names, its scope locked, and the approval of a global one for it to spend.';


create or replace function pgmem.put_back(
  p_node pgmem.node,
  p_version integer,
  p_caller pgmem.caller
) returns pgmem.node
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node     pgmem.node := p_node;
  v_reverted name;
  v_held     tstzmultirange := (select r.region from pgmem.state_regions(p_node.seq) r where r.version = p_node.version);
  v_earlier  pgmem.node_version;
begin
  select v.* into v_earlier from pgmem.visible_version v where v.node_seq = v_node.seq and v.version = p_version;
  if v_node.told is not null and p_version = v_node.version then
    -- As it was before any other state was saved.
    v_earlier := jsonb_populate_record(null::pgmem.node_version, to_jsonb(v_node) || jsonb_build_object('node_seq', v_node.seq));
    v_node.recorded_at := pgmem.recorded_next(v_node.seq, v_node.recorded_at);
    perform pgmem.keep_state(p_node, '-infinity', v_node.recorded_at);
    v_node.version := v_node.told + 1;
    v_node := pgmem.make_present(p_node, v_node);
  end if;
  if v_node.seq is null or v_earlier.node_seq is null then
    raise exception using errcode = 'PM002', message = format(
      '%s %s has no earlier version %s; %s.', v_node.label, quote_literal(left(v_node.title, 80)),
      coalesce(p_version::text, 'null'), coalesce((
        select 'it has ' || string_agg(v.version::text, ', ' order by v.version)
        from pgmem.visible_version v where v.node_seq = v_node.seq), 'it has none'));
  end if;
  select l.reverted_by into v_reverted from pgmem.label l where l.name = v_node.label;
  if v_reverted is null then
    v_node.title := v_earlier.title;
    v_node.props := v_earlier.props;
  else
    execute format('select * from pgmem.%I($1, $2)', v_reverted) into v_node using v_node, v_earlier.props;
  end if;
  v_node.content_hash := coalesce(pgmem.memory_hash(v_node.label, v_node.title, v_node.props), v_node.content_hash);
  if v_node.content_hash is not null and pgmem.is_live_status(v_earlier.status) then
    perform pgmem.require_no_twin(v_node);
  end if;
  v_node.status := v_earlier.status;
  v_node.valid_from := v_earlier.valid_from;
  v_node.valid_to := v_earlier.valid_to;
  v_node.begins_at := v_earlier.begins_at;
  v_node.initial_confidence := v_earlier.initial_confidence;
  v_node.trust_level := v_earlier.trust_level;
  v_node.source := v_earlier.source;
  -- Nobody gives a text back more trust than their own: a person's word that a person took back is not one again.
  if pgmem.outranked(v_earlier.trust_level, p_caller) then
    v_node.trust_level := p_caller.trust_level;
    v_node.source := p_caller.source;
  end if;
  v_node.agent_id := p_caller.agent_id;
  v_node.session_id := p_caller.session_id;
  v_node := pgmem.update_node(v_node);
  if v_node.version > p_node.version and (v_node.yields is not null or v_earlier.yields is not null) then
    -- It takes its whole period again, as it had it then, and that of the state in whose place it comes.
    update pgmem.node n set yields = nullif(v_earlier.yields - coalesce(v_held, '{}'), '{}') where n.seq = v_node.seq;
    perform pgmem.refresh_states(v_node.seq);
    select n.* into v_node from pgmem.node n where n.seq = v_node.seq;
  end if;
  perform pgmem.store_embedding(v_node);
  return v_node;
end;
$$;
comment on function pgmem.put_back is
  'Give a node the state of an earlier version, as a new one. The caller holds its scope lock.';


select pgmem.declare_answer('reverted', $$
A memory that was brought back to an earlier version, as a new one; failed: a person decides under save_id.

like keyed_memory
status text, version integer, reverted_to integer, dedup_outcome text?, next_step text?, save_id uuid?
by person|agent?: Who said it; agent: also a program or a file.
$$);

create or replace function pgmem.revert(
  p_label text,
  p_key text,
  p_version integer,
  p_project_id text default null,
  p_governance_token text default null
) returns pgmem.reverted
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.reverted;
  v_caller pgmem.caller := pgmem.require_writer();
  v_change record := pgmem.begin_change(
    'revert', v_caller, p_label, p_key, p_project_id, false, p_governance_token);
  v_node   pgmem.node := v_change.node;
begin
  if pgmem.needs_review(v_node, v_caller, false) then
    v_answer := jsonb_populate_record(v_answer, to_jsonb(pgmem.hold_change(v_caller, 'revert',
      jsonb_strip_nulls(jsonb_build_object('label', v_node.label, 'key', v_node.id, 'title', v_node.title,
        'version', p_version, 'project_id', v_node.project)), v_node)));
  else
    v_node := pgmem.put_back(v_node, p_version, v_caller);
    v_answer.status := v_node.status;
  end if;
  perform pgmem.spend_token(v_change.token_id, v_node.id);
  v_answer.id := v_node.id;
  v_answer.label := v_node.label;
  v_answer.key := v_node.key;
  v_answer.title := v_node.title;
  v_answer.version := v_node.version;
  v_answer.reverted_to := p_version;
  v_answer.by := pgmem.said_by(v_node.source, v_node.trust_level);
  return v_answer;
end;
$$;
comment on function pgmem.revert is $$
Put a memory back to an earlier version, as a new version; the history keeps all of them.

A forgotten memory is brought back in this way. A memory of more trust than the caller's stays as it is: the answer has
status `failed` and dedup_outcome `manual_review`, and a person decides under its save_id.

version: Its number; a wrong one is answered with those that exist.
project_id: Project name; unset: everywhere.
governance_token: For a global memory; a token of request_global_write_approval.

MemoryNotFound: no such memory exists, or it has no such version.
AmbiguousName: a name fits several memories; the message lists their ids.
InvalidArgument: an unknown label, an empty key, or the same content is live under another id.
NotPermitted: the memory belongs to all tenants, or it is global and the token is missing or spent.
RelationNotAllowed: the memory is a project, a focus area or a card.
$$;
select pgmem.declare_verb('revert', p_rights => 'writer', p_effect => 'write', p_answer => 'Reverted',
  p_toolset => 'core,graph', p_description => 'Call this to bring back an earlier version of a memory, as a new one.');


create or replace function pgmem.require_no_twin(p_node pgmem.node) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_twin record;
begin
  v_twin := pgmem.same_content(p_node.scope_key, p_node.tenant, p_node.content_hash);
  if v_twin.expired_seq is not null then
    perform pgmem.set_status(v_twin.expired_seq, 'expired');
  end if;
  if v_twin.seq <> p_node.seq then
    raise exception using errcode = 'PM001',
      message = format('The same content is live as %s; forget that one first.', v_twin.id);
  end if;
end;
$$;
comment on function pgmem.require_no_twin is
  'An error where another node of the scope holds the same content; one whose valid_to has passed is set to expired.';
