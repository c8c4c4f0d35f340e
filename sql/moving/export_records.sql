-- A page at a time: a client asks for the parts in order inside one REPEATABLE READ transaction, so that memory stays flat on both
-- sides and all pages are of one moment. Projects and focus areas come before what lies in them, edges after both their ends.
-- Left out: tokens and logins, which are secrets and rights of a server; settings, which are its owner's; and what is worked out
-- from the rest (search texts, near-duplicate entries, word counts, the graph).
-- security definer: clients hold no rights on tables.
create or replace function pgmem.export_records(p_part text, p_after text[] default null, p_limit integer default 500,
  p_vectors boolean default false, p_all_tenants boolean default false)
returns table (place text[], record text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
set timezone = 'UTC'
set extra_float_digits = 1
set bytea_output = 'hex'
as $$
#variable_conflict use_column
declare
  v_tenants text[] := pgmem.export_tenants(p_all_tenants);
  v_seq     bigint := case when p_part <> 'save' then coalesce(p_after[1], '0')::bigint end;
begin
  case p_part
  when 'vocabulary' then
    return query
    select array[v.number::text], v.told::text from (
      select row_number() over (order by w.is_relation, w.told ->> 'name') as number, w.told from (
        select false as is_relation, jsonb_strip_nulls(to_jsonb(l) - '{vocabulary}'::text[]) || '{"type": "label"}' as told from pgmem.label l where l.vocabulary = 'own'
        union all
        select true, jsonb_strip_nulls(to_jsonb(r) - '{vocabulary}'::text[]) || '{"type": "relation"}' from pgmem.relation r where r.vocabulary = 'own'
        union all
        select true, jsonb_build_object('type', 'model', 'name', m.name, 'dimensions', m.dimensions)
        from pgmem.embedding_model m where p_vectors) w) v
    where v.number > v_seq order by v.number limit p_limit;
  when 'project', 'focus', 'node' then
    return query
    select array[n.seq::text], pgmem.node_record(n, p_vectors)::text
    from pgmem.node n
    where n.seq > v_seq and n.tenant = any (v_tenants)
      and case p_part when 'project' then n.label = 'Project' when 'focus' then n.label = 'FocusArea'
            else n.label not in ('Project', 'FocusArea', 'GlobalScope', 'GovernanceToken') end
    order by n.seq limit p_limit;
  when 'edge' then
    return query
    select array[e.seq::text], jsonb_build_object('type', 'edge', 'src', s.id, 'rel', e.rel, 'dst', d.id, 'props', e.props, 'created_at', e.created_at)::text
    from pgmem.edge e join pgmem.node s on s.seq = e.src join pgmem.node d on d.seq = e.dst
    where e.seq > v_seq and s.tenant = any (v_tenants) and d.tenant = any (v_tenants) and 'GovernanceToken' not in (s.label, d.label)
    order by e.seq limit p_limit;
  when 'run' then
    return query
    select array[v.number::text], v.told::text from (
      select row_number() over (order by r.created_at, r.id) as number, jsonb_strip_nulls(to_jsonb(r) - '{tenant,project_seq}'::text[])
        || jsonb_build_object('type', 'run', 'project_id', p.id, 'counts', r.counts) as told
      from pgmem.card_run r join pgmem.node p on p.seq = r.project_seq where r.tenant = any (v_tenants)
        and p.tenant = any (v_tenants)) v
    where v.number > v_seq order by v.number limit p_limit;
  when 'files' then
    return query
    select array[v.number::text], v.told::text from (
      select row_number() over (order by f.tenant, p.id) as number, jsonb_build_object('type', 'files', 'project_id', p.id,
        'org_id', f.org_id, 'user_id', f.user_id, 'files', jsonb_agg(jsonb_strip_nulls(jsonb_build_object('path', f.path,
          'digest', f.digest, 'module', f.module, 'last_commit', f.last_commit)) order by f.path)) as told
      from pgmem.card_file f join pgmem.node p on p.seq = f.project_seq where f.tenant = any (v_tenants) and p.tenant = any (v_tenants)
      group by f.tenant, f.org_id, f.user_id, p.id) v
    where v.number > v_seq order by v.number limit p_limit;
  when 'intent' then
    return query
    select array[v.number::text], v.told::text from (
      select row_number() over (order by i.declared_at, i.id) as number, jsonb_strip_nulls(to_jsonb(i) - '{tenant,project_seq}'::text[])
        || jsonb_build_object('type', 'intent', 'project_id', p.id) as told
      from pgmem.card_intent i join pgmem.node p on p.seq = i.project_seq where i.tenant = any (v_tenants)
        and p.tenant = any (v_tenants)) v
    where v.number > v_seq order by v.number limit p_limit;
  when 'save' then
    return query
    select array[a.tenant, a.save_id::text], (jsonb_strip_nulls(to_jsonb(a) - '{tenant,arguments,batch}'::text[])
      || jsonb_build_object('type', 'save', 'arguments', a.arguments, 'batch', a.batch))::text
    from pgmem.save_attempt a
    where a.tenant = any (v_tenants) and (p_after is null or (a.tenant, a.save_id) > (p_after[1], p_after[2]::uuid))
    order by a.tenant, a.save_id limit p_limit;
  else
    raise exception using errcode = 'PM001',
      message = format('Unknown part %s of an export. Known: vocabulary, project, focus, node, edge, run, files, intent, save.', quote_literal(p_part));
  end case;
end;
$$;
comment on function pgmem.export_records is
  'A page of one part of an export: each record as JSON, with the place to go on after. Only what the caller sees, or all for who keeps the store.';
