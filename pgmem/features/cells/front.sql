-- The front
--
-- A front is an ordinary PostgreSQL with PL/Proxy. It holds no memory: its functions have the names and the arguments of
-- the verbs, find the cell of the caller's organisation, and call the verb there, identity and verb in one statement and
-- so in one transaction. pgmem cells init runs this file, as a superuser, and then front.make, which writes the functions
-- from the signatures of a cell (sql/features/cells/36-cells).
--
-- Schemas: front, the directory, which stays; pgmem, the functions that clients call, and relay, the functions of PL/Proxy
-- below it, both written by front.make each time. A client can call nothing in front or relay, so it cannot send another's
-- identity.
--
-- Locks: none beyond rows of the directory, which no call of a verb writes, so a streaming replica is a front too.

create extension if not exists plproxy;

do $$
declare
  v_role text;
begin
  foreach v_role in array '{pgmem_owner,pgmem_writer,pgmem_reader,pgmem_trusted,pgmem_reviewer}'::text[] loop
    if to_regrole(v_role) is null then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
  execute 'grant pgmem_writer to pgmem_trusted';
  execute 'grant pgmem_writer, pgmem_reader to pgmem_reviewer';
  -- Objects that one login could fill so that the whole server stops, as pgmem.open_to_all names it for a store.
  execute format('revoke temporary on database %I from public', current_database());
  execute (select format('revoke execute on function %s from public', string_agg(p.oid::regprocedure::text, ', '))
           from pg_proc p
           where p.pronamespace = 'pg_catalog'::regnamespace
             and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock' or p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea')));
end $$;

-- The catalog has the addresses of the cells.
revoke select on pg_catalog.pg_foreign_server from public;

create schema if not exists front;
comment on schema front is 'The directory of the cells: which of them an organisation is in. Clients have no right to it.';
revoke all on schema front from public;


-- The directory


create table if not exists front.cell (
  number    smallint primary key check (number between 0 and 255),
  name      text not null unique,
  dsn       text not null,
  admin_dsn text not null,
  takes_new boolean not null default true
);
comment on table front.cell is 'The cells, by the number that each store has by pgmem init --cell.';
comment on column front.cell.dsn is 'How the front reaches it, through PgBouncer: without user and password.';
comment on column front.cell.admin_dsn is 'How pgmem cells reaches it, as its owner and without PgBouncer; no password.';
comment on column front.cell.takes_new is 'Whether organisations that are in no cell yet may come here.';

create table if not exists front.slot (
  slot smallint primary key check (slot between 0 and 1023),
  cell smallint not null references front.cell
);
comment on table front.slot is 'The cell of an organisation without a row in front.place: by the hash of its name.';

create table if not exists front.place (
  org_id  text primary key,
  cell    smallint not null references front.cell,
  state   text not null default 'here' check (state in ('here', 'moving')),
  version bigint not null default 1
);
comment on table front.place is 'The cell of an organisation that was placed or moved; moving: its writes wait.';

create table if not exists front.token (
  secret_hash bytea primary key,
  id          uuid not null unique,
  org_id      text not null,
  user_id     text not null
);
comment on table front.token is 'The organisation of each bearer token; the cell decides whether the token is valid.';

create table if not exists front.login (
  role_name name primary key,
  org_id    text not null,
  user_id   text not null
);
comment on table front.login is 'Logins of the front that are bound to a tenant (bind_role).';

create table if not exists front.move (
  org_id    text primary key,
  from_cell smallint not null references front.cell,
  to_cell   smallint not null references front.cell,
  phase     text not null check (phase in ('copying', 'frozen', 'gone', 'flipped', 'done', 'undone')),
  version   bigint not null,
  begun_at  timestamptz not null default now(),
  at        timestamptz not null default now()
);
comment on table front.move is 'The last move of each organisation and how far it is; pgmem cells move goes on with it.';


create table if not exists front.mover (org_id text primary key);
comment on table front.mover is 'Always empty: a mover holds a row that it does not commit, against a second one.';


-- Routing


-- Fields: 1 to 9 as pgmem.act_as takes them; 10 the cluster, 11 the effect of the verb, 12 its reach, 13 the key by
-- which it is routed, 14 its name.
create or replace function front.who(
  p_verb text,
  p_effect text,
  p_reach text,
  p_org_id text default null,
  p_user_id text default null
) returns text[]
language plpgsql stable set search_path = front, pg_temp as $$
declare
  v_login   front.login;
  v_owner   boolean := pg_has_role(session_user, 'pgmem_owner', 'member');
  v_cluster text := case when v_owner then 'pgmem_owner'
    when pg_has_role(session_user, 'pgmem_reviewer', 'member') then 'pgmem_reviewer' else 'pgmem_agent' end;
  v_who     text[] := array['', '', '', '', 'sql', '', coalesce(current_setting('pgmem.now', true), ''),
                            session_user, 'true', v_cluster, p_effect, p_reach, '', p_verb];
  v_org_id  text;
  v_user_id text;
begin
  select l.* into v_login from front.login l where l.role_name = session_user;
  if found then
    v_who[1] := v_login.org_id;
    v_who[2] := v_login.user_id;
  elsif v_owner or pg_has_role(session_user, 'pgmem_trusted', 'member') then
    v_who[1] := coalesce(current_setting('pgmem.org_id', true), '');
    v_who[2] := coalesce(current_setting('pgmem.user_id', true), '');
    v_who[3] := coalesce(current_setting('pgmem.agent_id', true), '');
    v_who[4] := coalesce(current_setting('pgmem.session_id', true), '');
    v_who[5] := coalesce(nullif(current_setting('pgmem.source', true), ''), 'sql');
    v_who[6] := coalesce(current_setting('pgmem.made_at', true), '');
    v_who[9] := '';
  end if;
  v_org_id := coalesce(p_org_id, v_who[1]);
  v_user_id := coalesce(p_user_id, v_who[2]);
  -- A user without an organisation is routed by its own name.
  v_who[13] := case when v_org_id <> '' then v_org_id when v_user_id <> '' then e'\x1f' || v_user_id else '' end;
  return v_who;
end;
$$;
comment on function front.who is 'The identity of the login, as the cell takes it, and the key of its route.';


create or replace function front.cluster_of(w text[]) returns text
language sql immutable
return w[10];
comment on function front.cluster_of is 'The cluster, which is the rights at the cells, of a call.';


-- In PL/pgSQL, which keeps its plans: one of a function of SQL would be made again for every call.
create or replace function front.home(p_key text, out cell integer, out moving boolean, out placed boolean)
language plpgsql stable set search_path = front, pg_temp as $$
begin
  select p.cell, p.state = 'moving', true into cell, moving, placed from front.place p where p.org_id = p_key;
  if not found then
    moving := false;
    placed := false;
    select s.cell into cell from front.slot s
    where p_key <> '' and s.slot = ('x' || substr(md5(p_key), 1, 8))::bit(32)::bigint & 1023;
    cell := coalesce(cell, 0);
  end if;
end;
$$;
comment on function front.home is 'The cell of an organisation, and whether it is on its way to another one.';


-- Volatile, because it looks again while an organisation is on its way.
create or replace function front.cells_of(w text[]) returns setof integer
language plpgsql volatile set search_path = front, pg_temp as $$
declare
  v_writes boolean := w[11] not in ('read', 'look');
  v_home   record;
begin
  if v_writes then
    -- The cell commits by itself, so a call that the caller's transaction forbids is refused here.
    if current_setting('transaction_isolation') <> 'read committed' then
      raise exception using errcode = 'PM005',
        message = format('Writing needs READ COMMITTED; this transaction is %s. Begin it by: %s.',
                         upper(current_setting('transaction_isolation')), 'begin isolation level read committed');
    elsif current_setting('transaction_read_only') = 'on' and not pg_is_in_recovery() then
      raise exception using errcode = '25006', message = format('cannot execute %s in a read-only transaction', w[14]);
    end if;
  end if;
  if w[12] = 'every' or w[12] in ('sum', 'union') and w[13] = '' then
    return query select c.number::integer from front.cell c order by 1;
    return;
  elsif w[13] = '' and w[12] <> 'argument' and (v_writes or w[12] = 'cell') and (select count(*) from front.cell) > 1 then
    raise exception using errcode = 'PM006', message = case when w[12] = 'cell'
      then format('%s works in one cell: connect to the cell itself.', w[14])
      else 'This store has tenants, and this call names none: set DEFAULT_ORG_ID or DEFAULT_USER_ID '
        '(in SQL pgmem.org_id or pgmem.user_id), or use a login or token bound to a tenant.' end;
  end if;
  for v_try in 1 .. 40 loop
    v_home := front.home(w[13]);
    exit when not (v_home.moving and v_writes);
    perform pg_sleep(0.05);
  end loop;
  if v_home.moving and v_writes then
    raise exception using errcode = '57P03',
      message = 'This organisation is moving to another cell; send what you save again in a moment.';
  end if;
  return next v_home.cell;
end;
$$;
comment on function front.cells_of is $$
The cells that a call goes to. A write of an organisation on its way waits up to two seconds.

WrongIsolation: the verb writes and the transaction is not READ COMMITTED.
IdentityRequired: the call names no tenant, and there are several cells.
$$;


create or replace function front.add_objects(p_objects jsonb) returns jsonb
language sql immutable
return (select coalesce(jsonb_object_agg(t.key, t.total), '{}')
        from (select f.key, sum(f.value::bigint) as total
              from jsonb_array_elements(p_objects) o cross join lateral jsonb_each_text(o.value) f group by 1) t);
comment on function front.add_objects is 'One object of objects of counts, added up by key.';


-- The errors of a cell as the cell raised them. The address of a cell is nobody's business.
-- A session that reads no backslashes in texts would read none in these patterns.
create or replace function front.raise_again(p_state text, p_message text) returns void
language plpgsql immutable set standard_conforming_strings = on as $$
declare
  v_message text := regexp_replace(p_message, '^\S+\(\d+\): \[[^]]*\] REMOTE [A-Z]+: ', '');
begin
  if p_state = 'XX000' and v_message like 'PL/Proxy function%' or p_state ~ '^(08|57P)' and p_state <> '57P03'
     or v_message <> p_message and p_state ~ '^(08|28|3D)' then
    raise exception using
      errcode = case when v_message ~ 'too many (clients|connections)|connection slots|no more connections'
        then '53300' else '57P03' end,
      message = 'The cell of this organisation does not answer.';
  end if;
  raise exception using errcode = p_state, message = v_message;
end;
$$;
comment on function front.raise_again is
  'Raise the error of a cell; one that cannot be reached is 57P03, as a server that is shutting down.';


-- Clusters


-- PL/Proxy wants as many partitions as a power of two; a number without a cell is never called.
create or replace function front.connect_cells() returns void
language plpgsql set search_path = front, pg_temp as $$
declare
  v_cluster record;
  v_options text;
begin
  for v_cluster in
    select * from (values ('pgmem_agent', 'pgmem_front_agent'), ('pgmem_reviewer', 'pgmem_front_reviewer'),
                          ('pgmem_owner', 'pgmem_front_owner')) as c(name, login)
  loop
    if not exists (select from pg_foreign_server s where s.srvname = v_cluster.name) then
      execute format('create server %I foreign data wrapper plproxy options (p0 %L)', v_cluster.name,
                     (select c.dsn from front.cell c order by c.number limit 1));
      execute format('create user mapping for public server %I options (user %L)', v_cluster.name, v_cluster.login);
      execute format('grant usage on foreign server %I to pgmem_owner', v_cluster.name);
    end if;
    with had as (
      select split_part(o, '=', 1) as name, substr(o, strpos(o, '=') + 1) as dsn
      from pg_foreign_server s, unnest(s.srvoptions) o where s.srvname = v_cluster.name and o ~ '^p\d+='
    ), wanted as (
      select 'p' || n as name,
        coalesce((select c.dsn from front.cell c where c.number = n),
                 (select c.dsn from front.cell c order by c.number limit 1)) as dsn
      from (select max(c.number) as most from front.cell c) top,
        generate_series(0, (2 ^ ceil(log(2, top.most + 1)))::integer - 1) n
    )
    select string_agg(case when w.name is null then format('drop %I', h.name)
                        when h.name is null then format('add %I %L', w.name, w.dsn)
                        else format('set %I %L', w.name, w.dsn) end, ', ') into v_options
    from had h full join wanted w using (name) where h.dsn is distinct from w.dsn;
    if v_options is not null then
      execute format('alter server %I options (%s)', v_cluster.name, v_options);
    end if;
  end loop;
end;
$$;
comment on function front.connect_cells is
  'Bring the clusters of PL/Proxy, one for each of the rights of a caller, to the rows of front.cell.';


-- The functions that clients call


create or replace function front.columns_of(p_columns jsonb, p_format text) returns text
language sql immutable
return (select string_agg(format(p_format, c.value ->> 'name', c.value ->> 'type'), ', ' order by c.ordinality)
        from jsonb_array_elements(p_columns) with ordinality c);
comment on function front.columns_of is 'A list of columns as SQL; %1$I in the format is the name, %2$s the type.';


-- One column of several cells.
create or replace function front.total_of(p_column jsonb, p_least boolean) returns text
language sql immutable
return format(case
  when p_least then case p_column ->> 'type' when 'boolean' then 'bool_and(f.%1$I)' else 'min(f.%1$I)' end
  when p_column ->> 'type' = 'boolean' then 'bool_or(f.%1$I)'
  when p_column ->> 'type' = 'jsonb' then 'front.add_objects(jsonb_agg(f.%1$I))'
  when p_column ->> 'type' = 'text' then $e$string_agg(f.%1$I, ' ')$e$
  when p_column ->> 'type' = 'text[]'
    then $e$array(select distinct u from jsonb_array_elements_text(jsonb_path_query_array(jsonb_agg(f.%1$I), '$[*][*]')) u where u <> '' order by u)$e$
  else 'sum(f.%1$I)::%2$s' end, p_column ->> 'name', p_column ->> 'type');
comment on function front.total_of is 'The expression that makes one value of those of all cells.';


-- Where the directory has a part, before the call of the cell, after it or instead of it. v_row is the answer. Limits of
-- a login are set by who may alter roles, which the owner of these functions may not.
create or replace function front.own_part(p_verb text, p_when text) returns text
language sql immutable
return case p_verb || ' ' || p_when
  when 'verify_token before' then $body$
  if v_who[9] <> '' then
    raise exception using errcode = 'PM004', message =
      'Tokens are verified by a login whose identity settings count: the owner, or a member of pgmem_trusted '
      'that is not bound to a tenant.';
  end if;
  select front.who('verify_token', 'look', 'token', t.org_id, t.user_id) into v_who
  from front.token t where t.secret_hash = sha256(convert_to(p_token, 'UTF8'));
  if not found then
    return;
  end if;$body$
  when 'issue_token after' then $body$
  insert into front.token (secret_hash, id, org_id, user_id)
  values (sha256(convert_to(v_row.token, 'UTF8')), v_row.id, v_row.org_id, v_row.user_id);$body$
  when 'revoke_token before' then $body$
  select front.who('revoke_token', 'remove', 'token', t.org_id, t.user_id) into v_who
  from front.token t where t.id = coalesce(p_token_id, p_id);
  if not found then
    raise exception using errcode = 'PM002', message = format('No token %s found.', coalesce(p_token_id, p_id));
  end if;$body$
  when 'erase_subject before' then $body$
  if exists (select from front.move m where m.org_id = p_org_id and m.phase not in ('done', 'undone')) then
    raise exception using errcode = '57P03', message = 'This organisation is moving to another cell; erase it afterwards.';
  end if;$body$
  when 'erase_subject after' then $body$
  if not p_dry_run then
    delete from front.token t where t.org_id = p_org_id and (p_user_id = '' or t.user_id = p_user_id);
    delete from front.login l where l.org_id = p_org_id and (p_user_id = '' or l.user_id = p_user_id);
    if p_org_id <> '' and p_user_id = '' then
      delete from front.move m where m.org_id = p_org_id;
      perform relay.forget_away(front.who('erase_subject', 'remove', 'every'), p_org_id);
      delete from front.place p where p.org_id = p_org_id;
    end if;
  end if;$body$
  when 'bind_role before' then $body$
  if to_regrole(quote_ident(p_role)) is null then
    raise exception using errcode = 'PM002',
      message = format('No database role %s found; create it first.', quote_literal(left(p_role, 80)));
  elsif pg_has_role(p_role, 'pgmem_owner', 'member') then
    raise exception using errcode = 'PM001', message = format('%s owns this store; bind a login that does not.', p_role);
  elsif coalesce(p_org_id, '') || coalesce(p_user_id, '') ~ '[[:cntrl:]]' then
    raise exception using errcode = 'PM001', message = 'A name holds a control character; send printable characters only.';
  end if;
  v_row.role_name := p_role;
  v_row.org_id := coalesce(p_org_id, '');
  v_row.user_id := coalesce(p_user_id, '');
  v_row.unlimited := case when v_row.org_id || v_row.user_id <> ''
    then '{statement_timeout,idle_in_transaction_session_timeout,temp_file_limit,connection limit}'::text[] else '{}' end;
  delete from front.login l where l.role_name = p_role;
  if v_row.org_id <> '' or v_row.user_id <> '' then
    insert into front.login values (p_role, v_row.org_id, v_row.user_id);
  end if;$body$
  when 'list_tenants instead' then $body$
  return query
  select coalesce(f.org_id, l.org_id), coalesce(f.user_id, l.user_id), coalesce(f.memories, 0), coalesce(f.projects, 0),
    coalesce(f.tokens, 0), coalesce(l.roles, '{}')
  from relay.list_tenants(front.who('list_tenants', 'look', 'union')) f
  full join (select l.org_id, l.user_id, array_agg(l.role_name::text order by l.role_name) as roles
             from front.login l group by 1, 2) l on (l.org_id, l.user_id) = (f.org_id, f.user_id)
  order by 1, 2;$body$
end;
comment on function front.own_part is
  'The work of the function of a verb with the directory, before, after or instead of the call of the cell; else null.';


-- A function that is replaced is still there for a session that has just found it; one that is made anew is not. Only
-- one with the same arguments and columns can be replaced.
create or replace function front.make_function(p_name text, p_arguments text, p_result text, p_rest text) returns void
language plpgsql set search_path = front, pg_temp as $$
declare
  v_other regprocedure;
begin
  for v_other in
    select p.oid from pg_proc p
    where format('%s.%I', p.pronamespace::regnamespace, p.proname) = p_name
      and (pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) <> (p_arguments, p_result)
  loop
    execute format('drop function %s cascade', v_other);
  end loop;
  execute format('create or replace function %s(%s) returns %s %s', p_name, p_arguments, p_result, p_rest);
  execute format('revoke all on function %s from public, pgmem_reader, pgmem_writer, pgmem_reviewer, pgmem_trusted', p_name);
end;
$$;
comment on function front.make_function is 'Make a function or replace it, without rights to it.';


create or replace function front.make_verb(p_verb jsonb) returns void
language plpgsql set search_path = front, pg_temp as $$
declare
  v_name    text := p_verb ->> 'name';
  v_reach   text := p_verb ->> 'reach';
  v_void    boolean := p_verb ->> 'result' = 'void';
  -- A scalar is a column too.
  v_scalar  boolean := p_verb -> 'gives' = '[]';
  v_gives   jsonb := case when p_verb -> 'gives' <> '[]' then p_verb -> 'gives' else jsonb_build_array(jsonb_build_object(
    'name', 'r', 'type', case when v_void then 'integer'
      else regexp_replace(p_verb ->> 'result', '^SETOF ', '') end)) end;
  v_taken   text := (select coalesce(string_agg(format('%I => x%s::%s', t.value ->> 'name', t.ordinality,
                                                       t.value ->> 'type'), ', ' order by t.ordinality), '')
                     from jsonb_array_elements(p_verb -> 'takes') with ordinality t);
  v_call    text := format('relay.%I(%s%s)', v_name,
    case v_reach when 'argument' then 'front.who(%1$L, %2$L, %3$L, p_org_id, p_user_id)' when 'token' then 'v_who'
      else 'front.who(%1$L, %2$L, %3$L)' end,
    (select coalesce(string_agg(format(', %I.%I', v_name, t.value ->> 'name'), '' order by t.ordinality), '')
     from jsonb_array_elements(p_verb -> 'takes') with ordinality t));
  v_least   text[] := array(select jsonb_array_elements_text(p_verb -> 'least'));
  v_into    text := case when p_verb ->> 'composite' = 'true' or v_scalar then 'v_row'
    else front.columns_of(v_gives, v_name || '.%1$I') end;
  v_body    text;
begin
  v_call := format(v_call, v_name, p_verb ->> 'effect', v_reach);
  perform front.make_function(format('relay.%I', v_name),
    concat('w text[]', (select string_agg(format(', x%s %s', t.ordinality, t.value ->> 'type'), '' order by t.ordinality)
                        from jsonb_array_elements(p_verb -> 'takes') with ordinality t)),
    format('TABLE(%s)', front.columns_of(v_gives, '%1$I %2$s')),
    format($make$language plproxy as $proxy$
      cluster front.cluster_of(w);
      run on front.cells_of(w);
      select %1$s from (select pgmem.act_as(w::text[]) as ok offset 0) e,
        lateral (select %2$s from pgmem.%3$I(%4$s) f where e.ok offset 0) v;
    $proxy$
    $make$, front.columns_of(v_gives, 'v.%1$I'),
      case when v_void then '1 as r' when v_scalar then 'f as r' else 'f.*' end, v_name, v_taken));
  v_body := coalesce(front.own_part(v_name, 'instead'), case
    when v_reach = 'front' then ''
    when v_void then format('perform %s;', v_call)
    when (p_verb ->> 'many')::boolean then format('return query select %s%s from %s f;',
      case when v_reach = 'every' then 'distinct ' end,
      (select string_agg(format('f.%I%s', c.value ->> 'name', '::' || nullif(c.value ->> 'declared', c.value ->> 'type')),
                         ', ' order by c.ordinality)
       from jsonb_array_elements(v_gives) with ordinality c), v_call)
    else format('select %s into %s from %s f%s;', case when v_reach = 'sum' then
        (select string_agg(front.total_of(c.value, c.value ->> 'name' = any (v_least)), ', ' order by c.ordinality)
         from jsonb_array_elements(v_gives) with ordinality c)
      else 'f.*' end, v_into, v_call, case when v_reach <> 'sum' then ' limit 1' end) end);
  v_body := concat(front.own_part(v_name, 'before'), v_body, front.own_part(v_name, 'after'),
    case when v_into = 'v_row' and not v_void and not (p_verb ->> 'many')::boolean then ' return v_row;' end);
  perform front.make_function(format('pgmem.%I', v_name), p_verb ->> 'arguments', p_verb ->> 'result',
    format($make$language plpgsql %1$s security definer
    set search_path = pgmem, pg_temp set datestyle = 'ISO, YMD' set intervalstyle = 'postgres'
    set extra_float_digits = 1 set client_min_messages = warning as $front$
    #variable_conflict use_column
    declare
      %2$s
    begin
      %3$s
    exception when others then
      perform front.raise_again(sqlstate, sqlerrm);
    end;
    $front$
    $make$,
      -- A function that calls one of PL/Proxy is volatile all the same; who asks for stable may call it in a replica.
      p_verb ->> 'volatility',
      case when v_into = 'v_row' and not v_void and not (p_verb ->> 'many')::boolean
        then 'v_row ' || (p_verb ->> 'result') || ';' else '' end
      || case when v_reach = 'token'
        then format('v_who text[] := front.who(%L, %L, %L);', v_name, p_verb ->> 'effect', v_reach) else '' end,
      v_body));
  execute format('comment on function pgmem.%I is %L', v_name, p_verb ->> 'comment');
  if p_verb ->> 'rights' <> 'owner' then
    execute format('grant execute on function pgmem.%I to %s', v_name, case p_verb ->> 'rights'
      when 'reader' then 'pgmem_reader, pgmem_writer' when 'writer' then 'pgmem_writer'
      when 'reviewer' then 'pgmem_reviewer' else 'pgmem_trusted, pgmem_reviewer' end);
  end if;
end;
$$;
comment on function front.make_verb is 'Make the two functions of a verb: the one of PL/Proxy, and the one that clients call.';


-- All rows that the caller may see come from the cell; no condition is sent there.
create or replace function front.make_view(p_view jsonb) returns void
language plpgsql set search_path = front, pg_temp as $$
declare
  v_name    text := p_view ->> 'name';
  v_rows    text := 'rows_of_' || v_name;
  v_table   text := format('TABLE(%s)', front.columns_of(p_view -> 'columns', '%1$I %2$s'));
  v_column  jsonb;
begin
  perform front.make_function(format('relay.%I', v_rows), 'w text[]', v_table, format($make$language plproxy as $proxy$
      cluster front.cluster_of(w);
      run on front.cells_of(w);
      select %1$s from (select pgmem.act_as(w::text[]) as ok offset 0) e,
        lateral (select * from pgmem.%2$I where e.ok offset 0) v;
    $proxy$
  $make$, front.columns_of(p_view -> 'columns', 'v.%1$I'), v_name));
  perform front.make_function(format('pgmem.%I', v_rows), '', v_table, format($make$language plpgsql stable security definer
    set search_path = pgmem, pg_temp set datestyle = 'ISO, YMD' set intervalstyle = 'postgres'
    set extra_float_digits = 1 set client_min_messages = warning as $front$
    #variable_conflict use_column
    begin
      return query select f.* from relay.%1$I(front.who(%2$L, 'read', 'caller')) f;
    exception when others then
      perform front.raise_again(sqlstate, sqlerrm);
    end;
    $front$
  $make$, v_rows, v_name));
  execute format('grant execute on function pgmem.%I to pgmem_reader', v_rows);
  -- It went with its function if that had other columns.
  if to_regclass(format('pgmem.%I', v_name)) is null then
    execute format('create view pgmem.%I as select * from pgmem.%I()', v_name, v_rows);
  end if;
  execute format('grant select on pgmem.%I to pgmem_reader', v_name);
  execute format('comment on view pgmem.%I is %L', v_name, p_view ->> 'comment');
  for v_column in select * from jsonb_array_elements(p_view -> 'columns') loop
    execute format('comment on column pgmem.%I.%I is %L', v_name, v_column ->> 'name', v_column ->> 'comment');
  end loop;
end;
$$;
comment on function front.make_view is 'Make a view that reads the view of the same name in the cell of the caller.';


create or replace function front.make(p_signatures jsonb) returns integer
language plpgsql set search_path = front, pg_temp as $$
declare
  v_item record;
  v_had  text;
begin
  if to_regclass('pgmem.node') is not null then
    raise exception using errcode = 'PM001',
      message = 'This database holds memories. A front needs a database without any; its cells hold them.';
  end if;
  set local client_min_messages = warning;
  create schema if not exists relay;
  revoke all on schema relay from public;
  create schema if not exists pgmem;
  grant usage on schema pgmem to public;
  -- Functions that the cells have no longer.
  for v_item in
    select format('drop function if exists %s cascade', p.oid::regprocedure) as run
    from pg_proc p
    where p.pronamespace in ('pgmem'::regnamespace, 'relay'::regnamespace) and p.proname not in ('forget_away', 'ping')
      and p.proname <> all (array(select v.value ->> 'name' from jsonb_array_elements(p_signatures -> 'verbs') v
                                  union all
                                  select 'rows_of_' || (v.value ->> 'name') from jsonb_array_elements(p_signatures -> 'views') v))
    union all
    select format('drop type if exists %s cascade', t.oid::regtype)
    from pg_type t left join pg_class c on c.oid = t.typrelid
    where t.typnamespace = 'pgmem'::regnamespace and (t.typtype = 'd' or c.relkind = 'c')
      and t.typname <> all (array(select v.value ->> 'name' from jsonb_array_elements(p_signatures -> 'types') v))
  loop
    execute v_item.run;
  end loop;
  for v_item in
    select t.value ->> 'name' as name, t.value ->> 'base' as base,
      front.columns_of(nullif(t.value -> 'columns', 'null'), '%1$I %2$s') as columns
    from jsonb_array_elements(p_signatures -> 'types') t
  loop
    select case t.typtype when 'd' then format_type(t.typbasetype, t.typtypmod)
           else (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, null)), ', ' order by a.attnum)
                 from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) end into v_had
    from pg_type t where t.typnamespace = 'pgmem'::regnamespace and t.typname = v_item.name;
    continue when v_had = coalesce(v_item.base, v_item.columns);
    execute format('drop type if exists pgmem.%I cascade', v_item.name);
    if v_item.base is not null then
      execute format('create domain pgmem.%I as %s', v_item.name, v_item.base);
    else
      execute format('create type pgmem.%I as (%s)', v_item.name, v_item.columns);
    end if;
  end loop;
  perform front.make_verb(v.value) from jsonb_array_elements(p_signatures -> 'verbs') v;
  perform front.make_view(v.value) from jsonb_array_elements(p_signatures -> 'views') v;
  create or replace function relay.forget_away(w text[], x1 text) returns table (r integer) language plproxy as $proxy$
    cluster front.cluster_of(w);
    run on front.cells_of(w);
    select pgmem.forget_away(x1::text) as r;
  $proxy$;
  create or replace function relay.ping(number integer) returns table (cell integer) language plproxy as $proxy$
    cluster 'pgmem_agent';
    run on number;
    select v.cell::integer as cell from pgmem.schema_version v;
  $proxy$;
  drop table if exists pgmem.schema_version, pgmem.verb, pgmem.argument;
  create table pgmem.schema_version (
    release text not null, digest text not null, front boolean primary key check (front));
  comment on table pgmem.schema_version is 'The release of the cells that this front was made from.';
  insert into pgmem.schema_version values (p_signatures ->> 'release', p_signatures ->> 'digest', true);
  create table pgmem.verb as
    select v.value ->> 'name' as name, (v.value ->> 'place')::integer as place, v.value ->> 'chapter' as chapter,
      v.value ->> 'rights' as rights, v.value ->> 'effect' as effect, v.value ->> 'toolset' as toolset,
      v.value ->> 'summary' as summary, v.value ->> 'description' as description, v.value ->> 'answer' as answer,
      v.value ->> 'reach' as reach
    from jsonb_array_elements(p_signatures -> 'verb') v;
  alter table pgmem.verb add primary key (name);
  comment on table pgmem.verb is 'The verbs: the functions that clients call, in the order of the chapters.';
  create table pgmem.argument as
    select a.value ->> 'name' as name, a.value ->> 'sent_by' as sent_by, a.value ->> 'meaning' as meaning
    from jsonb_array_elements(p_signatures -> 'argument') a;
  alter table pgmem.argument add primary key (name);
  comment on table pgmem.argument is 'The meanings of the arguments that several verbs take.';
  grant select on pgmem.schema_version, pgmem.verb, pgmem.argument to public;
  -- PL/Proxy is not a trusted language: a superuser makes the functions, then the owner of the front gets them.
  for v_item in
    select format('alter %s %s owner to pgmem_owner', case p.prokind when 'f' then 'function' end, p.oid::regprocedure) as run
    from pg_proc p where p.pronamespace in ('pgmem'::regnamespace, 'relay'::regnamespace, 'front'::regnamespace)
      and p.proowner <> 'pgmem_owner'::regrole
    union all
    select format('alter %s %s owner to pgmem_owner', case c.relkind when 'v' then 'view' when 'c' then 'type' else 'table' end,
                  c.oid::regclass)
    from pg_class c where c.relnamespace in ('pgmem'::regnamespace, 'front'::regnamespace) and c.relkind in ('r', 'v', 'c')
      and c.relowner <> 'pgmem_owner'::regrole
    union all
    select format('revoke all on function %s from public', p.oid::regprocedure)
    from pg_proc p where p.pronamespace in ('relay'::regnamespace, 'front'::regnamespace)
    union all
    select format('alter schema %I owner to pgmem_owner', s) from unnest('{pgmem,relay,front}'::text[]) s
  loop
    execute v_item.run;
  end loop;
  return jsonb_array_length(p_signatures -> 'verbs');
end;
$$;
comment on function front.make is $$
Write all functions, types and views of this front from the signatures of a cell; the number of verbs.

A function with the same arguments and columns stays, so that a session that is calling it meets no gap.

InvalidArgument: the database holds a store.
$$;
