create or replace function pgmem.link_named(p_node pgmem.node, p_relations jsonb, p_caller pgmem.caller,
  out relations_made jsonb, out stubs_made jsonb, out did_you_mean jsonb)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_wanted record;
  v_found  pgmem.node[];
  v_target pgmem.node;
  v_label  pgmem.label;
  v_new    boolean;
begin
  relations_made := '[]';
  stubs_made := '[]';
  did_you_mean := '[]';
  for v_wanted in select * from pgmem.named_relations(p_relations) order by place loop
    v_found := pgmem.resolve_target(v_wanted.name, v_wanted.label, p_node.project_seq);
    v_found := coalesce((select array_agg(n) from unnest(v_found) n where n.seq <> p_node.seq), '{}');
    if cardinality(v_found) > 1 then
      did_you_mean := did_you_mean || jsonb_build_object('relation', v_wanted.rel, 'name', v_wanted.name, 'candidates',
        (select jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'name', coalesce(n.key, n.title), 'project', n.project)
                          order by n.seq) from unnest(v_found) n));
      continue;
    end if;
    v_target := v_found[1];
    if v_target.seq is null then
      select * into v_label from pgmem.label l where l.name = v_wanted.stub_label;
      -- A label that a verb writes is not made by naming it, and a forgotten node is not brought back by that either.
      if v_label.verb is not null or v_label.key_field is null
          or exists (select from pgmem.visible_node n where n.scope_key = pgmem.scope_key(p_node.tenant, p_node.place, v_label.name)
                     and n.key = v_wanted.name) then
        did_you_mean := did_you_mean || jsonb_build_object('relation', v_wanted.rel, 'name', v_wanted.name, 'candidates', '[]'::jsonb);
        continue;
      end if;
      v_target := p_node;
      v_target.id := gen_random_uuid();
      v_target.label := v_label.name;
      v_target.key := v_wanted.name;
      v_target.title := v_wanted.name;
      v_target.props := jsonb_build_object(v_label.key_field, v_wanted.name);
      v_target.status := 'stub';
      v_target.source := p_caller.source;
      v_target.trust_level := p_caller.trust_level;
      v_target.agent_id := p_caller.agent_id;
      v_target.session_id := p_caller.session_id;
      v_target.initial_confidence := 1.0;
      v_target.valid_from := null;
      v_target.valid_to := null;
      v_target.content_hash := null;
      v_target.title_tokens := null;
      v_target.created_at := coalesce(p_caller.made_at, pgmem.now());
      v_target := pgmem.insert_node(v_target);
      stubs_made := stubs_made || jsonb_build_object('id', v_target.id, 'label', v_target.label, 'name', v_target.key);
    end if;
    v_new := pgmem.join_nodes(p_node, v_wanted.rel, v_target);
    relations_made := relations_made || jsonb_build_object('relation', v_wanted.rel, 'id', v_target.id, 'label', v_target.label,
      'name', coalesce(v_target.key, v_target.title), 'created', v_new);
  end loop;
end;
$$;
comment on function pgmem.link_named(pgmem.node, jsonb, pgmem.caller) is
  'Join a node with what its relations name: edges made, stubs made, and names that fit several or cannot become a stub.';
