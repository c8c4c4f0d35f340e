-- Tenants
--
-- A tenant is a pair of organisation and user; either may be empty, and rows without both belong to everybody.
-- bind_role makes a database login a tenant whatever it sets, adopt gives the rows without a tenant to one, and
-- erase_subject removes a tenant from every table.
--
-- erase_subject and adopt read the declarations of the tables (07-tables): a table is covered on the day it is made. The receipt of an erasure holds the hash of the tenant's name
-- and the counts, and nothing else.
--
-- The owner alone calls bind_role and adopt, so these two need no rights but those of their caller.
--
-- Locks: adopt locks the row refresh_dedup of upkeep, then node against writers, because scope keys change: a save beside
-- it would look for its duplicates under the old ones.


-- Each limit by itself: a managed server allows its users to set some of them. statement_timeout is a default, which the
-- login may change; the rows that a verb reads are bounded in the verbs.
create or replace function pgmem.limit_role(p_role name, p_bound boolean) returns text[]
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_limit record;
  v_set   text[] := '{}';
begin
  for v_limit in
    select l.name, format(case
        when l.name = 'connection limit' then format('alter role %%I connection limit %s',
          case when p_bound and l.value > 0 then l.value else -1 end)
        when p_bound and l.value > 0
          then format('alter role %%I in database %%I set %s = %L', l.name, l.value || l.unit)
        else format('alter role %%I in database %%I reset %s', l.name) end, p_role, current_database()) as command
    from (values
      ('statement_timeout', pgmem.setting_int('role_statement_timeout_s'), 's'),
      ('idle_in_transaction_session_timeout', pgmem.setting_int('role_idle_in_transaction_s'), 's'),
      ('temp_file_limit', pgmem.setting_int('role_temp_file_limit'), 'MB'),
      ('connection limit', pgmem.setting_int('role_connection_limit'), '')) as l(name, value, unit)
  loop
    begin
      execute v_limit.command;
    exception when insufficient_privilege then
      v_set := v_set || v_limit.name;
    end;
  end loop;
  return v_set;
end;
$$;
comment on function pgmem.limit_role is
  'Give a login the limits of the settings role_*, or take them away; the names of those that the caller may not set.';


select pgmem.declare_answer('tenant_role_answer', $$
A database login that is a tenant; `unlimited` names the limits that the caller may not set for it.

class TenantRole
role_name text, org_id text, user_id text, unlimited text[] = {}
$$);

create or replace function pgmem.bind_role(
  p_role text,
  p_org_id text default '',
  p_user_id text default ''
) returns pgmem.tenant_role_answer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.tenant_role_answer;
begin
  v_answer.role_name := p_role;
  v_answer.org_id := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_answer.user_id := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  if not exists (select from pg_roles r where r.rolname = p_role) then
    raise exception using errcode = 'PM002',
      message = format('No database role %s found; create it first.', quote_literal(left(p_role, 80)));
  end if;
  if pg_has_role(p_role, (select nspowner from pg_namespace where nspname = 'pgmem'), 'member') then
    raise exception using errcode = 'PM001',
      message = format('%s owns this store; bind a login that does not.', p_role);
  end if;
  if v_answer.org_id = '' and v_answer.user_id = '' then
    delete from pgmem.tenant_role r where r.role_name = p_role;
    v_answer.unlimited := pgmem.limit_role(p_role, false);
    return v_answer;
  end if;
  insert into pgmem.tenant_role (role_name, org_id, user_id) values (p_role, v_answer.org_id, v_answer.user_id)
  on conflict (role_name) do update set org_id = excluded.org_id, user_id = excluded.user_id;
  v_answer.unlimited := pgmem.limit_role(p_role, true);
  return v_answer;
end;
$$;
comment on function pgmem.bind_role is $$
Bind a database login to a tenant, whatever it sets; with neither name the binding ends.

A bound login gets limits from the settings role_*: statement_timeout, idle_in_transaction_session_timeout and
temp_file_limit in this database, and a number of connections. `unlimited` names those that the caller may not set; a
superuser, or the role's administrator, sets them.

role: The name of the login.
org_id: The organisation of the tenant; empty: none.
user_id: The user of the tenant; empty: the organisation as a whole.

MemoryNotFound: the server has no such role.
InvalidArgument: the login owns the store, or a name cannot be taken.
$$;
select pgmem.declare_verb('bind_role', p_rights => 'owner', p_effect => 'repeat', p_answer => 'TenantRole',
  p_reach => 'front');


select pgmem.declare_answer('tenant', $$
A tenant of the store; with empty names, the public memories.

org_id text, user_id text, memories bigint, projects bigint, tokens bigint, roles text[]
$$);

create or replace function pgmem.list_tenants() returns setof pgmem.tenant
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_reviewer('list_tenants');
  return query
  with known as (
    select n.org_id, n.user_id from pgmem.node n where n.label <> 'GlobalScope' group by 1, 2
    union select t.org_id, t.user_id from pgmem.api_token t
    union select r.org_id, r.user_id from pgmem.tenant_role r
  )
  select k.org_id, k.user_id,
    (select count(*) from pgmem.node n
     where pgmem.is_memory(n.label) and n.tenant = pgmem.tenant_of(k.org_id, k.user_id)
       and pgmem.is_live_status(n.status)),
    (select count(*) from pgmem.node n where n.tenant = pgmem.tenant_of(k.org_id, k.user_id) and n.label = 'Project'),
    (select count(*) from pgmem.api_token t
     where t.org_id = k.org_id and t.user_id = k.user_id and t.revoked_at is null
       and (t.expires_at is null or t.expires_at > pgmem.now())),
    array(select r.role_name::text from pgmem.tenant_role r
          where r.org_id = k.org_id and r.user_id = k.user_id order by 1)
  from known k order by 1, 2;
end;
$$;
comment on function pgmem.list_tenants is $$
List the tenants with their memories and projects, and the tokens and logins bound to them.
$$;
select pgmem.declare_verb('list_tenants', p_rights => 'reviewer', p_effect => 'look', p_answer => 'list[Tenant]',
  p_reach => 'union',
  p_reads_all => 'It counts the memories of each tenant.');


select pgmem.declare_answer('name_collision', $$
A name that the tenant already has.

label text, name text, project text?
$$);

select pgmem.declare_answer('adoption', $$
How many nodes and saves without a tenant got one; collisions are names that the tenant already had.

nodes bigint, saves bigint, collisions name_collision[]
$$);

create or replace function pgmem.adopt(
  p_org_id text,
  p_user_id text default '',
  p_dry_run boolean default false,
  p_back boolean default false
) returns pgmem.adoption
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.adoption;
  v_org    text := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_user   text := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  v_from   text := case when p_back then pgmem.tenant_of(v_org, v_user) else pgmem.tenant_of() end;
  v_tenant text := case when p_back then pgmem.tenant_of() else pgmem.tenant_of(v_org, v_user) end;
  v_name   text := concat_ws('/', nullif(v_org, ''), nullif(v_user, ''));
  v_titles bigint;
begin
  if v_org = '' and v_user = '' then
    raise exception using errcode = 'PM001', message = 'Name the tenant: org_id, user_id or both.';
  end if;
  perform pgmem.require_org_here(v_org);
  if p_back and pgmem.has_tenants() then
    raise exception using errcode = 'PM001', message =
      'A memory of no tenant is for all of them: revoke the tokens and unbind the logins of tenants first.';
  end if;
  perform from pgmem.upkeep u where u.task = 'refresh_dedup' for update;
  lock table pgmem.node in share row exclusive mode;
  select count(*) into v_answer.nodes from pgmem.node n where n.tenant = v_from and n.label <> 'GlobalScope';
  select count(*) into v_answer.saves from pgmem.save_attempt a where a.tenant = v_from;
  v_answer.collisions := pgmem.adoption_collisions(v_from, v_tenant);
  if p_dry_run then
    return v_answer;
  end if;
  if v_answer.collisions <> '[]' then
    raise exception using errcode = 'PM001', message = format(
      '%s already holds %s of these names or contents, such as %s %s: rename or forget one of each pair first.',
      case when p_back then 'The store without a tenant' else v_name end, jsonb_array_length(v_answer.collisions),
      v_answer.collisions -> 0 ->> 'label', quote_literal(v_answer.collisions -> 0 ->> 'name'));
  end if;
  if p_back then
    v_org := '';
    v_user := '';
  end if;
  update pgmem.node n
  set org_id = v_org, user_id = v_user, scope_key = pgmem.scope_key(v_tenant, n.place, n.label),
      tsv = ts_delete(n.tsv, pgmem.scope_lexemes(v_from, n.project_seq, n.label))
            || array_to_tsvector(pgmem.scope_lexemes(v_tenant, n.project_seq, n.label))
  where n.tenant = v_from and n.label <> 'GlobalScope';
  -- In its new scope a title is entered by the order of that scope. Writers wait for the lock of node above.
  with gone as (
    delete from pgmem.dedup_token t using pgmem.node n
    where n.seq = t.node_seq and n.tenant = v_tenant and t.scope_key <> n.scope_key returning t.node_seq
  )
  select pgmem.index_titles(array(select distinct g.node_seq from gone g)) into v_titles;
  update pgmem.node_version v
  set org_id = v_org, user_id = v_user, tenant = v_tenant,
      tsv = ts_delete(v.tsv, pgmem.scope_lexemes(v_from, v.project_seq, v.label))
            || array_to_tsvector(pgmem.scope_lexemes(v_tenant, v.project_seq, v.label))
  where v.tenant = v_from and v.label <> 'GlobalScope';
  perform pgmem.adopt_rows(v_from, v_org, v_user);
  return v_answer;
end;
$$;
comment on function pgmem.adopt is $$
Give all rows that belong to no tenant to one tenant, in one transaction.

For a store that gets its first tenant. Writers wait until it is done. With back the rows of the tenant belong
to no tenant any more, which is the way back to a store with one user.

org_id: The organisation of the tenant; empty: none.
user_id: The user of the tenant; empty: the organisation as a whole.
back: The other way: from the tenant to no tenant.

InvalidArgument: no tenant is named, some of the names or contents are there already, or the way back is asked for while
  a token or a login is bound to a tenant.
$$;
select pgmem.declare_verb('adopt', p_rights => 'owner', p_effect => 'repeat', p_answer => 'Adoption',
  p_patience => 'rebuild', p_reach => 'argument',
  p_reads_all => 'It moves all memories without a tenant.');


create or replace function pgmem.adoption_collisions(p_from text, p_tenant text) returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object('label', n.label, 'name', coalesce(n.key, n.title),
                                               'project', n.project) order by n.seq), '[]')
  from pgmem.node n
  where n.tenant = p_from and n.label <> 'GlobalScope' and exists (
    select from pgmem.node o
    where o.scope_key = pgmem.scope_key(p_tenant, n.place, n.label) and o.tenant || '' = p_tenant
      and (pgmem.folded(o.key) = pgmem.folded(n.key) or o.content_hash = n.content_hash
                            and pgmem.keeps_content(n.status) and pgmem.keeps_content(o.status)));
$$;
comment on function pgmem.adoption_collisions is
  'The nodes of a tenant that share a name or live content with a node of another one, in the same scope.';


create or replace function pgmem.adopt_rows(p_from text, p_org_id text, p_user_id text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_tenant text := pgmem.tenant_of(p_org_id, p_user_id);
  v_table  record;
begin
  for v_table in
    select t.name, t.rows_of, t.counts, t.adopted = 'missing' as missing,
           exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and a.attgenerated = '') as plain,
           -- The other columns of a key with the tenant, where rows that the tenant has already stay.
           case when t.adopted = 'missing' then (
             select string_agg(format(' and own.%1$I = t.%1$I', a.attname), '' order by a.attnum)
             from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey)
             where k.conrelid = c.oid and k.contype = 'p' and a.attname <> 'tenant') end as key
    from pgmem.table_rule t join pg_class c on c.oid = to_regclass('pgmem.' || t.name)
    where t.adopted <> 'no' order by t.place
  loop
    -- Where both tenants have a count of the same scope, neither is right: the worker counts again.
    if v_table.counts and v_table.key is not null then
      execute format('delete from pgmem.%I t where t.tenant in ($1, $2) and t.project_seq = 0', v_table.name)
      using v_tenant, p_from;
    end if;
    if v_table.missing then
      execute format('delete from pgmem.%1$I t where t.tenant = $1 and exists ('
                     'select from pgmem.%1$I own where own.tenant = $2%2$s)', v_table.name, coalesce(v_table.key, ''))
      using p_from, v_tenant;
    end if;
    execute format('update pgmem.%I t set %s where t.tenant = $1', v_table.name, concat_ws(', ',
      case when v_table.rows_of = 'owner' then 'org_id = $2, user_id = $3' end, case when v_table.plain then 'tenant = $4' end))
    using p_from, p_org_id, p_user_id, v_tenant;
  end loop;
end;
$$;
comment on function pgmem.adopt_rows is
  'Give a tenant the rows of another one in all tables but those of memories; part of adopt.';


create or replace function pgmem.subject_tables() returns table (
  name text,
  own boolean,
  condition text
)
language sql stable set search_path = pgmem, pg_temp as $$
  -- In a condition $1 is the organisation and $2 the user; an empty user means all of the organisation.
  with subject(nodes) as (
    values ('(select n.seq from pgmem.node n where n.org_id = $1 and ($2 = '''' or n.user_id = $2))')
  )
  select t.name, t.rows_of <> 'node', case t.rows_of
    when 'owner' then 't.org_id = $1 and ($2 = '''' or t.user_id = $2)'
    when 'tenant' then 't.tenant = pgmem.tenant_of($1, $2) or $2 = '''' and starts_with(t.tenant, pgmem.tenant_of($1))'
    else (select string_agg(format('t.%I in %s', c.name, s.nodes), ' or ' order by c.name) from unnest(t.nodes) as c(name)) end
  from pgmem.table_rule t cross join subject s
  where t.rows_of <> 'store' and to_regclass('pgmem.' || t.name) is not null
  order by 1;
$$;
comment on function pgmem.subject_tables is
  'The tables that hold rows of a tenant, with a condition: by tenant columns (own), or by the node they depend on.';


select pgmem.declare_answer('erasure_answer', $$
The receipt of an erasure, or the preview of one (dry_run).

class Erasure
receipt_id uuid?, subject_hash text, dry_run boolean, total bigint, counts {integer}, erased_at timestamptz
$$);

create or replace function pgmem.erase_subject(
  p_org_id text,
  p_user_id text default '',
  p_dry_run boolean default true,
  p_by text default null
) returns pgmem.erasure_answer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.erasure_answer;
  v_org   text := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_user  text := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  v_by    text;
  v_orgs  text;
  v_table record;
  v_count bigint;
begin
  perform pgmem.require_reviewer('erase_subject');
  if v_org = '' and v_user = '' then
    raise exception using errcode = 'PM001', message = 'Name the subject: org_id, user_id or both.';
  end if;
  perform pgmem.require_org_here(v_org);
  v_answer.dry_run := p_dry_run;
  v_answer.subject_hash := encode(sha256(convert_to(pgmem.tenant_of(v_org, v_user), 'UTF8')), 'hex');
  v_answer.erased_at := pgmem.now();
  v_answer.counts := '{}';
  v_answer.total := 0;
  -- All counts come first: deleting a node deletes the rows that depend on it.
  for v_table in select * from pgmem.subject_tables() loop
    execute format('select count(*) from pgmem.%I t where %s', v_table.name, v_table.condition)
    using v_org, v_user into v_count;
    v_answer.counts := v_answer.counts || jsonb_build_object(v_table.name, v_count);
    v_answer.total := v_answer.total + v_count;
  end loop;
  -- A name without its organisation is another subject: bob is not bob of acme.
  if v_org = '' and not exists (
      select from pgmem.node n where n.org_id = '' and n.user_id = v_user) then
    select string_agg(distinct quote_literal(n.org_id), ', ') into v_orgs
    from pgmem.node n where n.user_id = v_user and n.org_id <> '';
    if v_orgs is not null then
      raise exception using errcode = 'PM001', message = format(
        'User %s belongs to the organisation %s: send org_id too.', quote_literal(v_user), v_orgs);
    end if;
  end if;
  v_by := pgmem.clean_key(p_by, 'by');
  if v_by is null and not p_dry_run then
    raise exception using errcode = 'PM001', message = 'by must not be empty; send the name of the person who erases.';
  end if;
  if p_dry_run or v_answer.total = 0 then
    return v_answer;
  end if;
  perform pgmem.note_erased();
  for v_table in select * from pgmem.subject_tables() where own order by name = 'node' desc loop
    execute format('delete from pgmem.%I t where %s', v_table.name, v_table.condition) using v_org, v_user;
  end loop;
  insert into pgmem.erasure (subject_hash, erased_by, counts, erased_at)
  values (v_answer.subject_hash, v_by, v_answer.counts, v_answer.erased_at) returning id into v_answer.receipt_id;
  return v_answer;
end;
$$;
comment on function pgmem.erase_subject is $$
Remove a user, or an organisation with its users, from every table and from the graph.

In Python the saves of the subject in the outbox of this machine are removed too. `counts` has the number of rows by
table. Where nothing was stored receipt_id is null.

org_id: The organisation to remove; empty: a user without an organisation.
user_id: The user to remove; empty: the organisation with all its users.
dry_run: True (the default): only count; false: remove.
by: The name of the person who erases; required unless dry_run.

InvalidArgument: no subject is named, `by` is empty, or a user is named without the organisation it belongs to.
$$;
select pgmem.declare_verb('erase_subject', p_rights => 'reviewer', p_effect => 'remove', p_answer => 'Erasure',
  p_patience => 'rebuild', p_reach => 'argument',
  p_reads_all => 'It finds and deletes all that a subject has.');
