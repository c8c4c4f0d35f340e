-- Governance tokens
--
-- A memory that holds globally reaches every project of its tenant, so a person approves each global write. The
-- agent requests a token with a preview, shows the preview, and sends the token with the write. A token is good for
-- one write (one batch counts as one) and for the seconds of governance_token_ttl_s.
--
-- A token is good for the texts of its preview and no others (shows). The setting approval says who gives it. self:
-- the agent that asks. client: the server asked the agent's person through the MCP client, and records it; only a trusted
-- login can. person: no token is good. A write without approval is kept as a review, and a person makes or drops it
-- (59-save-status).
--
-- The store keeps the hash of a token, not the token. Its row is locked when the write checks it and spent in the
-- same transaction, so two writes cannot share it, and a write that rolls back gives it back.
--
-- Locks: check_token locks the row of the token, after the save_id and before any scope.


select pgmem.declare_answer('governance_token_answer', $$
The approval of one call that writes global memories.

class GovernanceToken
token text, expires_at timestamptz, ttl_seconds integer, instructions text
$$);

create or replace function pgmem.request_global_write_approval(
  p_content_preview text,
  p_asked boolean default false
) returns pgmem.governance_token_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer  pgmem.governance_token_answer;
  v_caller  pgmem.caller := pgmem.require_writer();
  v_preview text := pgmem.clean_text(p_content_preview, 'content_preview', true);
  v_node    pgmem.node := pgmem.new_node('GovernanceToken', v_caller);
begin
  -- Two random UUIDs: 244 random bits from the server's strong source.
  v_answer.token := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  v_answer.ttl_seconds := pgmem.setting_int('governance_token_ttl_s');
  v_answer.expires_at := pgmem.clock() + make_interval(secs => v_answer.ttl_seconds);
  v_node.key := gen_random_uuid()::text;
  v_node.title := 'Approval of one global write';
  v_node.props := jsonb_build_object('name', v_node.key, 'expires_at', v_answer.expires_at, 'used', false);
  v_node := pgmem.insert_node(v_node);
  insert into pgmem.governance_token
    (id, secret_hash, preview, org_id, user_id, node_seq, issued_to, issued_at, expires_at, asked)
  values (v_node.key::uuid, sha256(convert_to(v_answer.token, 'UTF8')), v_preview, v_caller.org_id,
          v_caller.user_id, v_node.seq, v_caller.agent_id, pgmem.clock(), v_answer.expires_at,
          p_asked and pgmem.is_trusted());
  v_answer.instructions := format('Show the preview to the person you work for. If it is approved, send this token as '
    'governance_token within %s seconds; it is good for one call.', v_answer.ttl_seconds);
  return v_answer;
end;
$$;
comment on function pgmem.request_global_write_approval is $$
Request a token for one global write; the person sees the preview before the token is sent.

The token expires after ttl_seconds. Only this answer holds it; the store keeps its hash.

content_preview: All texts that would be written; for the person to approve, such as title and rationale. The token
  is good for these texts alone; to forget or revert a memory it is "Forget: " or "Revert: " and the title.
asked: The client has shown the preview to its person, who said yes. It counts from the owner and trusted logins, which
  the server uses, and not from agents.

InvalidArgument: the preview is empty or too long.
$$;
select pgmem.declare_verb('request_global_write_approval', p_rights => 'writer', p_effect => 'write',
  p_answer => 'GovernanceToken', p_toolset => 'core', p_hidden => '{asked}',
  p_description =>
    'Call this before a save with scope global: show the person the preview, then send the token within 60 seconds.');


create or replace function pgmem.preview_global_write(p_arguments jsonb) returns text
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_scope pgmem.scope_state := pgmem.resolve_scope(pgmem.caller(), p_arguments ->> 'project_id', null);
begin
  if jsonb_typeof(p_arguments) is distinct from 'object' then
    raise exception using errcode = 'PM001', message = 'arguments must be an object; send those of the save.';
  end if;
  -- A session, which is known by its required field, makes the project.
  if pgmem.setting_text('approval') = 'person'
      or not (v_scope.write_permitted or v_scope.scope_state = 'uncertain' and exists (
        select from pgmem.label l join pgmem.field f on f.label = l.name
        where l.opens_project and f.required and p_arguments ? f.name)) then
    return '';
  end if;
  return (
    select coalesce(string_agg(text, e'\n' order by part.place, text.place), '')
    from (select 0 as place, p_arguments - array(select i.list from pgmem.batch_items(p_arguments) i) as arguments
          union all
          select i.place, i.arguments from pgmem.batch_items(p_arguments) i) as part
    cross join unnest(pgmem.approved_texts(part.arguments - array['save_id', 'governance_token', 'label']))
      with ordinality as text (text, place)
    where pgmem.is_global(part.arguments));
end;
$$;
comment on function pgmem.preview_global_write is $$
Return the texts of a global save, for a person to approve; empty where asking would not help.

That is where nothing in it is global, the project does not exist, or the write waits for a reviewer in any case.

arguments: The arguments of the save, an object.
$$;
select pgmem.declare_verb('preview_global_write', p_rights => 'reader', p_effect => 'look', p_answer => 'str');


-- Blanks are equal, and so are the ways in which Unicode writes a letter; all else counts, because a case or a sign can
-- turn a command round.
create or replace function pgmem.shows(p_preview text, p_verb text, p_texts text[]) returns boolean
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_rest  text := btrim(regexp_replace(normalize(p_preview), '\s+', ' ', 'g'));
  v_text  text;
  v_place integer;
begin
  if p_verb in ('forget', 'revert') then
    -- The command comes first, and a title such as t is also inside its name.
    if v_rest !~* ('^\W*' || p_verb || '\M') then
      return false;
    end if;
    v_rest := regexp_replace(v_rest, '^\W*' || p_verb || '\M', '', 'i');
  end if;
  foreach v_text in array array(select t from unnest(p_texts) t order by length(t) desc) loop
    v_text := btrim(regexp_replace(normalize(v_text), '\s+', ' ', 'g'));
    continue when v_text = '';
    v_place := strpos(v_rest, v_text);
    if v_place = 0 then
      return false;
    end if;
    v_rest := overlay(v_rest placing e'\n' from v_place for length(v_text));
  end loop;
  if v_rest ~* '\m(forget|revert)\M' then
    return false;
  end if;
  -- The characters left between the texts: signs, numbers of a list, and the names of their fields.
  return regexp_replace(v_rest, '\m(' || pgmem.kind_words() || '|\d+[.)])(\M|(?=\s|$))', '', 'gi') !~ '[[:alnum:]]';
end;
$$;
comment on function pgmem.shows is
  'Whether a preview is the texts of a write and nothing else: signs and the names of fields may be between them.';


create or replace function pgmem.check_token(
  p_token text,
  p_caller pgmem.caller,
  p_verb text,
  p_texts text[]
) returns uuid
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_approval text := pgmem.setting_text('approval');
  v_id       uuid;
  v_preview  text;
  v_asked    boolean;
begin
  select t.id, t.preview, t.asked into v_id, v_preview, v_asked from pgmem.governance_token t
  where t.secret_hash = sha256(convert_to(btrim(p_token), 'UTF8')) and t.tenant = p_caller.tenant
    and t.used_at is null and t.expires_at > pgmem.clock() for update;
  if not pgmem.decides(p_caller)
      and (v_approval = 'person' or v_approval = 'client' and v_asked is not true) then
    -- A batch is not decided as a whole.
    perform pgmem.refuse('failed', 'A person approves what holds globally in this store.',
      case p_verb
        when 'store_session_with_learnings' then 'Save the global parts by themselves: each waits for a person.'
        else 'It is kept until a person decides: pgmem review (new | drop).' end,
      case when p_verb <> 'store_session_with_learnings' then 'manual_review' end);
  end if;
  if coalesce(btrim(p_token), '') = '' then
    perform pgmem.refuse('failed',
      'Global writes require a governance token. Call request_global_write_approval first.',
      'Call request_global_write_approval, then send its token as governance_token.');
  end if;
  if v_id is null then
    perform pgmem.refuse('failed', 'Governance token is invalid, expired, or already used.',
      'Call request_global_write_approval, then send its token as governance_token.');
  elsif not pgmem.shows(v_preview, p_verb, p_texts) then
    perform pgmem.refuse('failed', 'Governance token was given for another text than this one.',
      format('Call request_global_write_approval with content_preview %s and show it to the person.', quote_literal(
        case when p_verb in ('forget', 'revert') then initcap(p_verb) || ': ' else '' end
        || array_to_string(p_texts, e'\n'))));
  end if;
  return v_id;
end;
$$;
comment on function pgmem.check_token is
  'Lock an unused and unexpired token of the caller''s tenant for these texts; any other refuses the save.';


-- A refused save has a status (24-saving); any other verb raises an error instead.
create or replace function pgmem.require_approval(
  p_token text,
  p_caller pgmem.caller,
  p_verb text,
  p_texts text[]
) returns uuid
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  return pgmem.check_token(p_token, p_caller, p_verb, p_texts);
exception when sqlstate 'PM099' then
  raise exception using errcode = 'PM004', message = sqlerrm;
end;
$$;
comment on function pgmem.require_approval is
  'The id of an unused governance token of the caller for these texts, locked; else an error.';


create or replace function pgmem.spend_token(p_token_id uuid, p_save_id uuid) returns void
language plpgsql as $$
declare
  v_seq bigint;
begin
  if p_token_id is null then
    return;
  end if;
  update pgmem.governance_token t
  set used_at = pgmem.clock(), used_by = p_save_id, spent_by = (pgmem.caller()).agent_id
  where t.id = p_token_id
  returning t.node_seq into v_seq;
  update pgmem.node n set status = 'archived', props = n.props || '{"used": true}', updated_at = pgmem.now()
  where n.seq = v_seq;
end;
$$;
comment on function pgmem.spend_token is
  'Mark a token, if there is one, as used by a save or by a node that is reverted or forgotten; a rollback undoes it.';
