-- Reads what hangs on one node that its caller found. All of it goes into one line, so that an import takes a node whole or not at
-- all. The same bytes on every server, whatever its settings.
create or replace function pgmem.node_record(p_node pgmem.node, p_vectors boolean) returns jsonb
language plpgsql stable
set search_path = pgmem, public, pg_temp
set timezone = 'UTC'
set extra_float_digits = 1
as $$
#variable_conflict use_column
declare
  -- Worked out again by who takes it in.
  v_derived constant text[] := '{seq,place,tenant,scope_key,project_seq,focus_seq,tsv,text_length,node_seq}';
  v_record  jsonb;
  v_part    jsonb;
begin
  v_record := jsonb_strip_nulls(to_jsonb(p_node) - v_derived - '{props}'::text[]) || jsonb_build_object('type', 'node', 'props', p_node.props);
  if p_node.project_seq is not null then
    v_record := v_record || jsonb_build_object('project_id', (select n.id from pgmem.node n where n.seq = p_node.project_seq));
  end if;
  if p_node.focus_seq is not null then
    v_record := v_record || jsonb_build_object('focus_id', (select n.id from pgmem.node n where n.seq = p_node.focus_seq));
  end if;
  if p_node.version > 1 then
    select jsonb_agg(jsonb_strip_nulls(to_jsonb(v) - v_derived - '{props,label,org_id,user_id}'::text[])
        || jsonb_build_object('props', v.props)
        || case when v.project_seq is distinct from p_node.project_seq and v.project_seq is not null
             then jsonb_build_object('project_id', (select n.id from pgmem.node n where n.seq = v.project_seq)) else '{}' end
      order by v.version)
    into v_part from pgmem.node_version v where v.node_seq = p_node.seq;
    if v_part is not null then
      v_record := v_record || jsonb_build_object('versions', v_part);
    end if;
  end if;
  if p_node.label = 'Card' then
    v_record := v_record || jsonb_build_object(
      'subjects', coalesce((select jsonb_agg(jsonb_build_object('kind', s.kind, 'key', s.key, 'relation', s.relation, 'match', s.match)
                            order by s.kind, s.key) from pgmem.card_subject s where s.node_seq = p_node.seq), '[]'),
      'evidence', coalesce((select jsonb_agg(jsonb_strip_nulls(to_jsonb(e) - 'node_seq') order by e.kind, e.ref)
                            from pgmem.card_evidence e where e.node_seq = p_node.seq), '[]'),
      'revisions', coalesce((select jsonb_agg(jsonb_strip_nulls(to_jsonb(r) - '{seq,node_seq}'::text[]) order by r.seq)
                             from pgmem.card_revision r where r.node_seq = p_node.seq), '[]'));
  end if;
  if p_vectors and pgmem.has_vectors() then
    select jsonb_agg(jsonb_build_object('model', m.name, 'kind', e.kind, 'text_hash', e.text_hash, 'vector', to_jsonb(e.vector::real[]))
                     order by m.name, e.kind)
    into v_part from pgmem.embedding e join pgmem.embedding_model m on m.id = e.model_id where e.node_seq = p_node.seq;
    if v_part is not null then
      v_record := v_record || jsonb_build_object('vectors', v_part);
    end if;
  end if;
  return v_record;
end;
$$;
comment on function pgmem.node_record(pgmem.node, boolean) is
  'A node with its earlier states, what belongs to a card, and if wanted its vectors, as one line of an export.';
