-- Owner only: gives what has no tenant to one. Locks node against writers for the length of it: scope keys change, and a save that
-- runs beside it would look for its duplicates under the old ones. security definer is not needed, the owner holds the rights.
create or replace function pgmem.adopt(p_org_id text, p_user_id text default '', p_dry_run boolean default false,
  out nodes bigint, out saves bigint, out collisions jsonb)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_org    text := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_user   text := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  v_tenant text := v_org || e'\x1f' || v_user;
  v_dead   text[] := '{superseded,archived,expired,merged,dismissed,historical,rejected}';
  v_table  text;
begin
  if v_org = '' and v_user = '' then
    raise exception using errcode = 'PM001', message = 'Name the tenant: org_id, user_id or both.';
  end if;
  lock table pgmem.node in share row exclusive mode;
  select count(*) into nodes from pgmem.node n where n.tenant = e'\x1f' and n.label <> 'GlobalScope';
  select count(*) into saves from pgmem.save_attempt a where a.tenant = e'\x1f';
  select coalesce(jsonb_agg(jsonb_build_object('label', n.label, 'name', coalesce(n.key, n.title), 'project', n.project) order by n.seq), '[]')
  into collisions
  from pgmem.node n
  where n.tenant = e'\x1f' and n.label <> 'GlobalScope' and exists (
    select from pgmem.node o where o.scope_key = pgmem.scope_key(v_tenant, n.place, n.label)
      and (o.key = n.key or o.content_hash = n.content_hash and n.status not in (select unnest(v_dead)) and o.status not in (select unnest(v_dead))));
  if p_dry_run then
    return;
  end if;
  if collisions <> '[]' then
    raise exception using errcode = 'PM001', message = format('%s already holds %s of these names or contents, such as %s %s: rename or forget one of each pair first.',
      concat_ws('/', nullif(v_org, ''), nullif(v_user, '')), jsonb_array_length(collisions), collisions -> 0 ->> 'label',
      quote_literal(collisions -> 0 ->> 'name'));
  end if;
  update pgmem.node n set org_id = v_org, user_id = v_user, scope_key = pgmem.scope_key(v_tenant, n.place, n.label),
    tsv = ts_delete(n.tsv, pgmem.scope_lexemes(e'\x1f', n.project_seq)) || array_to_tsvector(pgmem.scope_lexemes(v_tenant, n.project_seq))
  where n.tenant = e'\x1f' and n.label <> 'GlobalScope';
  update pgmem.dedup_token t set scope_key = n.scope_key from pgmem.node n where n.seq = t.node_seq and n.tenant = v_tenant and t.scope_key <> n.scope_key;
  update pgmem.node_version v set org_id = v_org, user_id = v_user, tenant = v_tenant,
    tsv = ts_delete(v.tsv, pgmem.scope_lexemes(e'\x1f', v.project_seq)) || array_to_tsvector(pgmem.scope_lexemes(v_tenant, v.project_seq))
  where v.tenant = e'\x1f' and v.label <> 'GlobalScope';
  update pgmem.save_attempt a set org_id = v_org, user_id = v_user, tenant = v_tenant where a.tenant = e'\x1f';
  update pgmem.governance_token t set org_id = v_org, user_id = v_user where t.tenant = e'\x1f';
  perform pgmem.adopt_cards(v_org, v_user);
  -- What repeats the tenant of a node: vectors, and figures that the worker counts again where both tenants had one.
  for v_table in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant' and a.attgenerated = ''
    where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r' and c.relname not in ('node', 'node_version', 'save_attempt')
      and not exists (select from pg_attribute b where b.attrelid = c.oid and b.attname = 'org_id')
  loop
    if v_table like '%\_stat' then
      execute format('delete from pgmem.%1$I t where t.tenant in ($1, e''\x1f'') and t.project_seq = 0', v_table) using v_tenant;
    end if;
    execute format('update pgmem.%I t set tenant = $1 where t.tenant = e''\x1f''', v_table) using v_tenant;
  end loop;
end;
$$;
comment on function pgmem.adopt(text, text, boolean) is
  'Give what belongs to nobody to a tenant; refused while that tenant holds the same names. With dry_run, only count.';
