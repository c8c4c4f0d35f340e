-- Locks: the scopes of the node and of the stubs it may need, sorted, in one statement before all reads that they guard.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.remember(p_label text, p_properties jsonb, p_relations jsonb default '{}',
  p_valid_from timestamptz default null, p_valid_to timestamptz default null, p_project_id text default null,
  p_share text default null, p_embedding real[] default null, p_embedding_model text default null,
  p_embedding_text_hash text default null,
  out id uuid, out label text, out key text, out title text, out status text, out version integer, out created boolean,
  out relations_made jsonb, out stubs_made jsonb, out did_you_mean jsonb, out conflict jsonb, out embedded boolean,
  out proactive_hint text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller   pgmem.caller := pgmem.require_writer();
  v_label    pgmem.label := pgmem.require_memory_label(p_label);
  v_scope    pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_props    jsonb;
  v_node     pgmem.node;
  v_old      pgmem.node;
  v_relation record;
  v_linked   record;
begin
  if jsonb_typeof(p_properties) is distinct from 'object' then
    raise exception using errcode = 'PM001', message = format('properties must be an object; send {"%s": "…"}.', v_label.key_field);
  end if;
  if v_scope.scope_state = 'uncertain' then
    raise exception using errcode = 'PM002', message = format('No project %s is here. %s', quote_literal(left(p_project_id, 80)),
      pgmem.next_step('blocked_scope'));
  end if;
  v_props := pgmem.clean_properties(p_properties);
  if v_scope.project_exists then
    v_node := pgmem.place_node(v_label.name, jsonb_build_object('share', p_share), v_scope, v_caller);
  else
    v_node := pgmem.new_node(v_label.name, v_caller, p_share);
    v_node.scope_key := pgmem.scope_key(v_node.tenant, null, v_node.label);
  end if;
  -- From what was sent: in a name a control character is refused, not stripped.
  v_node.key := pgmem.clean_key(p_properties ->> v_label.key_field, v_label.key_field);
  if v_node.key is null or jsonb_typeof(v_props -> v_label.key_field) <> 'string' then
    raise exception using errcode = 'PM001', message = format('A %s is named by its %s; send it in properties.', v_label.name, v_label.key_field);
  end if;
  v_node.title := v_node.key;
  v_node.valid_from := coalesce(p_valid_from, pgmem.argument_time(v_props, 'valid_from'));
  v_node.valid_to := coalesce(p_valid_to, pgmem.argument_time(v_props, 'valid_to'));
  v_node.initial_confidence := pgmem.argument_number(v_props, 'confidence', null);
  v_node.props := v_props - '{valid_from,valid_to,confidence}'::text[] || jsonb_build_object(v_label.key_field, v_node.key);

  for v_relation in
    select distinct scope_key from (
      select v_node.scope_key
      union all
      select pgmem.scope_key(v_node.tenant, v_node.place, r.stub_label) from pgmem.named_relations(p_relations) r
    ) needed order by scope_key
  loop
    perform pgmem.lock_scope(v_relation.scope_key);
  end loop;

  select n.* into v_old from pgmem.visible_node n where n.scope_key = v_node.scope_key and n.key = v_node.key;
  created := v_old.seq is null;
  if created then
    v_node.initial_confidence := coalesce(v_node.initial_confidence, 1.0);
    v_node.props := jsonb_strip_nulls(v_node.props);
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
    v_node := pgmem.insert_node(v_node);
  else
    if v_old.valid_to is not null then
      conflict := jsonb_build_object('conflict', 'revived', 'previous_valid_to', v_old.valid_to, 'action',
        case when v_node.valid_to is null then 'cleared' when v_node.valid_to = v_old.valid_to then 'kept' else 'replaced' end);
    end if;
    -- What stays of the earlier state was told by somebody else: the whole is trusted as its least trusted part.
    if exists (select from jsonb_object_keys(v_old.props - v_label.key_field) as kept(name) where not v_node.props ? kept.name) then
      v_node.trust_level := least(v_node.trust_level, v_old.trust_level);
    end if;
    v_old.props := jsonb_strip_nulls(v_old.props || v_node.props);
    v_old.valid_from := coalesce(v_node.valid_from, v_old.valid_from);
    v_old.valid_to := v_node.valid_to;
    perform pgmem.require_period(v_old.valid_from, v_old.valid_to);
    v_old.status := case when v_old.status = 'stub' and v_old.props - v_label.key_field = '{}' then 'stub' else 'active' end;
    v_old.initial_confidence := coalesce(v_node.initial_confidence, v_old.initial_confidence);
    v_old.source := v_node.source;
    v_old.trust_level := v_node.trust_level;
    v_old.agent_id := v_node.agent_id;
    v_old.session_id := v_node.session_id;
    v_node := pgmem.update_node(v_old);
  end if;
  select * into v_linked from pgmem.link_named(v_node, p_relations, v_caller);
  relations_made := v_linked.relations_made;
  stubs_made := v_linked.stubs_made;
  did_you_mean := v_linked.did_you_mean;
  embedded := pgmem.store_embedding(v_node, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
  if v_caller.session_id is not null then
    perform pgmem.link_session(v_caller.session_id, v_node.id);
  end if;
  id := v_node.id;
  label := v_node.label;
  key := v_node.key;
  title := v_node.title;
  status := v_node.status;
  version := v_node.version;
  proactive_hint := pgmem.reflection_hint(v_caller.tenant);
end;
$$;
comment on function pgmem.remember is
  'Create or update a node by its name, with relations: a target that exists gets an edge, a missing one becomes a stub, an ambiguous '
  'one comes back in did_you_mean. A write onto a node whose valid_to was set is flagged in conflict.';
