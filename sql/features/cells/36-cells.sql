-- Cells
--
-- A cell is one of several stores behind a front (pgmem cells). It has a number, and the numbers of its rows are that
-- number modulo 256, so that the rows of an organisation keep theirs in whatever cell they are. The verbs that a front asks are in
-- pgmem.verb.reach; this chapter has the tables and gates of a mover: tables by tenant (subject_tables in 35-tenants), gates, and
-- the indexes that follow from rows that have arrived.
--
-- A gate (pgmem.away) is read by caller() and require_writer(). A statement that began before a gate was committed does
-- not see it, so a mover waits until the last of them has ended (is_drained).
--
-- Locks: number_cell: the tables it numbers, against readers too, in the transaction of an install. settle: the scopes of
-- the titles that arrived. take_secret: the row refresh_dedup of upkeep, then the tables with keys, against writers.


create or replace function pgmem.numbered_columns() returns table (table_name regclass, sequence regclass)
language sql stable set search_path = pgmem, pg_temp as $$
  select a.attrelid::regclass, pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'pgmem'::regnamespace and a.attname = 'seq' and a.attidentity <> '' and not a.attisdropped
  order by 1;
$$;
comment on function pgmem.numbered_columns is 'The tables whose column seq numbers their rows, with its sequence.';


-- Rows of a store from before it had a number lie below 2^40, so that no later row of another cell meets one of them.
create or replace function pgmem.number_cell(p_cell integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_cell  integer := (select v.cell from pgmem.schema_version v);
  v_table record;
  v_start bigint;
begin
  perform pgmem.integer_between('cell', p_cell, 0, 255);
  if v_cell <> p_cell then
    raise exception using errcode = 'PM001',
      message = format('This store is cell %s: its rows carry that number, so it cannot become cell %s.', v_cell, p_cell);
  end if;
  for v_table in
    select n.table_name, n.sequence from pgmem.numbered_columns() n
    join pg_sequence s on s.seqrelid = n.sequence where s.seqincrement <> 256
  loop
    execute format('select (greatest(coalesce(max(t.seq), 0), 2^40::bigint) / 256 + 1) * 256 + $1 from %s t',
                   v_table.table_name) using p_cell into v_start;
    execute format('alter table %s alter column seq set increment by 256 set start %s restart %2$s',
                   v_table.table_name, v_start);
  end loop;
  update pgmem.schema_version v set cell = p_cell where v.cell is null;
  return p_cell;
end;
$$;
comment on function pgmem.number_cell is $$
Give the store its number among the cells behind a front, 0 to 255: new rows are numbered by it, modulo 256.

Rows that exist keep their numbers. Called again, it numbers the tables that are new.
$$;


create or replace function pgmem.set_away(p_org_id text, p_state text, p_version bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if exists (select from pgmem.away a where a.org_id = p_org_id and a.version > p_version) then
    raise exception using errcode = 'PM001',
      message = format('A later move of %s is on record in this cell.', quote_literal(left(p_org_id, 80)));
  end if;
  if p_state is null then
    delete from pgmem.away a where a.org_id = p_org_id;
  else
    insert into pgmem.away (org_id, state, version) values (p_org_id, p_state, p_version)
    on conflict (org_id) do update set state = excluded.state, version = excluded.version;
  end if;
  return pg_current_xact_id()::text::bigint;
end;
$$;
comment on function pgmem.set_away is $$
Set the gate of an organisation in this cell, or remove it (a null state); the transaction, for is_drained.

An error where the gate is of a later move.
$$;


-- A snapshot from before the gate does not see it; a transaction that has an id from before it may go on to write.
create or replace function pgmem.is_drained(p_transaction bigint) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_age integer := age((p_transaction & x'ffffffff'::bigint)::text::xid);
begin
  -- To any other login the transactions of others look as if there were none.
  if not pg_has_role('pg_read_all_stats', 'usage') then
    raise exception using errcode = 'PM004',
      message = format('%s may not see the transactions of other logins: grant pg_read_all_stats to it.', current_user);
  end if;
  return not exists (
      select from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and (age(a.backend_xmin) >= v_age or age(a.backend_xid) >= v_age))
    and not exists (select from pg_prepared_xacts x
                    where x.database = current_database() and age(x.transaction) >= v_age);
end;
$$;
comment on function pgmem.is_drained is $$
Whether every statement that may not have seen a gate has ended: none is older than the gate's transaction.

NotPermitted: the login may not see the transactions of others.
$$;


-- One expression, whose plan is kept: every call through a front begins here.
create or replace function pgmem.act_as(p_who text[]) returns boolean
language plpgsql volatile as $$
begin
  return (
    set_config('pgmem.org_id', coalesce(p_who[1], ''), true),
    set_config('pgmem.user_id', coalesce(p_who[2], ''), true),
    set_config('pgmem.agent_id', coalesce(p_who[3], ''), true),
    set_config('pgmem.session_id', coalesce(p_who[4], ''), true),
    set_config('pgmem.source', coalesce(p_who[5], ''), true),
    set_config('pgmem.made_at', coalesce(p_who[6], ''), true),
    set_config('pgmem.now', coalesce(p_who[7], ''), true),
    set_config('pgmem.login', coalesce(p_who[8], ''), true),
    set_config('pgmem.bound', coalesce(p_who[9], ''), true)) is not null;
end;
$$;
comment on function pgmem.act_as is $$
Take the identity that a front sends, until the transaction ends; true.

The settings pgmem.org_id, user_id, agent_id, session_id, source, made_at, now, login and bound, in this order.
$$;


-- The parts of a front. Names of types are written with their schema.
create or replace function pgmem.signatures() returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  with shapes as (
    select t.oid, t.typname, t.typtype, t.typrelid,
      case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) else format_type(t.oid, null) end as plain
    from pg_type t
  ), verbs as (
    select v.place, jsonb_build_object('name', v.name, 'effect', v.effect, 'rights', v.rights, 'reach', v.reach,
      'least', v.least, 'arguments', pg_get_function_arguments(p.oid), 'result', pg_get_function_result(p.oid),
      'many', p.proretset, 'composite', r.typtype = 'c', 'comment', obj_description(p.oid, 'pg_proc'),
      'volatility', case p.provolatile when 'v' then 'volatile' else 'stable' end,
      'takes', (select coalesce(jsonb_agg(jsonb_build_object('name', p.proargnames[a.n], 'type', s.plain) order by a.n),
                                '[]')
                from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a(type, n)
                join shapes s on s.oid = a.type
                where p.proargmodes is null or p.proargmodes[a.n] in ('i', 'b')),
      'gives', coalesce(
        (select jsonb_agg(jsonb_build_object('name', p.proargnames[a.n], 'type', s.plain,
                                             'declared', format_type(a.type, null)) order by a.n)
         from unnest(p.proallargtypes) with ordinality a(type, n) join shapes s on s.oid = a.type
         where p.proargmodes[a.n] in ('o', 't')),
        (select jsonb_agg(jsonb_build_object('name', c.attname, 'type', s.plain, 'declared', s.plain) order by c.attnum)
         from pg_attribute c join shapes s on s.oid = c.atttypid
         where c.attrelid = r.typrelid and c.attnum > 0 and not c.attisdropped), '[]')) as said
    from pgmem.verb v join pg_proc p on p.proname = v.name and p.pronamespace = 'pgmem'::regnamespace
    join pg_type r on r.oid = p.prorettype
  ), shown as (
    -- Objects that readers may read: the views, and the tables of the store.
    select c.relname, jsonb_build_object('name', c.relname, 'comment', obj_description(c.oid, 'pg_class'),
      'columns', (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', s.plain,
                                                      'comment', col_description(c.oid, a.attnum)) order by a.attnum)
                  from pg_attribute a join shapes s on s.oid = a.atttypid
                  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)) as said
    from pg_class c
    where c.relnamespace = 'pgmem'::regnamespace
      and (c.relkind = 'v' and c.reloptions @> '{security_invoker=true}'
           or c.relname in ('label', 'relation', 'setting'))
  ), types as (
    -- In the order in which they were made, as one may be a part of another.
    select t.oid, jsonb_build_object('name', t.typname, 'base', case when t.typtype = 'd' then t.plain end,
      'columns', (select jsonb_agg(jsonb_build_object('name', a.attname, 'type', s.plain) order by a.attnum)
                  from pg_attribute a join shapes s on s.oid = a.atttypid
                  where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped)) as said
    from shapes t join pg_type p on p.oid = t.oid left join pg_class c on c.oid = t.typrelid
    where p.typnamespace = 'pgmem'::regnamespace
      and (t.typtype = 'd' or c.relkind = 'c' or c.relname not in (select relname from shown) and t.oid in (
             select f.prorettype from pgmem.verb v
             join pg_proc f on f.proname = v.name and f.pronamespace = 'pgmem'::regnamespace))
  )
  select jsonb_build_object(
    'release', (select v.release from pgmem.schema_version v), 'digest', (select v.digest from pgmem.schema_version v),
    'types', (select jsonb_agg(t.said order by t.oid) from types t),
    'verbs', (select jsonb_agg(v.said order by v.place) from verbs v),
    'views', (select jsonb_agg(s.said order by s.relname) from shown s),
    'verb', (select jsonb_agg(to_jsonb(v) order by v.place) from pgmem.verb v),
    'argument', (select jsonb_agg(to_jsonb(a) order by a.name) from pgmem.argument a));
$$;
comment on function pgmem.signatures is
  'The verbs, the views and their types, as a front repeats them (pgmem cells init).';


create or replace function pgmem.make_front_logins() returns text[]
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_login record;
  v_made  text[] := '{}';
begin
  if to_regrole('pgmem_owner') is null then
    raise exception using errcode = 'PM004', message = 'A cell needs the roles: run pgmem init --roles on it first.';
  end if;
  for v_login in
    select * from (values ('pgmem_front_agent', 'pgmem_trusted, pgmem_reader'),
                          ('pgmem_front_reviewer', 'pgmem_trusted, pgmem_reviewer'),
                          ('pgmem_front_owner', 'pgmem_owner')) as l(name, roles)
  loop
    if to_regrole(v_login.name) is null then
      execute format('create role %I login', v_login.name);
      execute format('grant %s to %I', v_login.roles, v_login.name);
      v_made := v_made || v_login.name;
    end if;
  end loop;
  return v_made;
end;
$$;
comment on function pgmem.make_front_logins is $$
Make the three logins by which a front reaches this cell, without passwords; those that were made.

NotPermitted: the store has no roles.
$$;


create or replace function pgmem.forget_away(p_org_id text) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.require_reviewer('forget_away');
  delete from pgmem.away a where a.org_id = p_org_id and a.state = 'gone';
  return 1;
end;
$$;
comment on function pgmem.forget_away is
  'Remove the name of an organisation that was moved away, after it was erased in its cell; 1.';


-- Two cells in which one of these differs would answer the same organisation differently.
create or replace function pgmem.cell_profile() returns jsonb
language sql stable set search_path = pgmem, pg_temp as $$
  select jsonb_build_object(
    'cell', v.cell, 'release', v.release, 'digest', v.digest,
    'settings', (select jsonb_object_agg(s.name, s.value) from pgmem.setting s where s.name <> 'test_clock'),
    -- Under it the scope keys are made that move with their rows.
    'secret', (select encode(sha256(s.secret || 'profile'::bytea), 'hex') from pgmem.store_secret s),
    -- Its number is in rows that move.
    'global_scope', (select n.seq from pgmem.node n where n.label = 'GlobalScope' and n.tenant = pgmem.tenant_of()),
    'labels', (select jsonb_object_agg(l.name, to_jsonb(l) - 'name') from pgmem.label l),
    'relations', (select jsonb_object_agg(r.name, to_jsonb(r) - 'name') from pgmem.relation r),
    'models', (select coalesce(jsonb_object_agg(m.name, jsonb_build_object('dimensions', m.dimensions, 'active', m.active)),
                               '{}') from pgmem.embedding_model m))
  from pgmem.schema_version v;
$$;
comment on function pgmem.cell_profile is
  'The common properties of all cells of one front: release, settings, labels, relations and models; and the cell''s number.';


-- As a front routes them: a user without an organisation by its own name, behind the separator of a tenant.
create or replace function pgmem.residents() returns table (org_id text, memories bigint, away text)
language sql stable set search_path = pgmem, pg_temp as $$
  with named as (
    select case when n.org_id <> '' then n.org_id else pgmem.tenant_of() || n.user_id end as org_id,
           count(*) filter (where pgmem.is_memory(n.label)) as memories
    from pgmem.node n where n.tenant <> pgmem.tenant_of() group by 1
    union all
    select case when t.org_id <> '' then t.org_id else pgmem.tenant_of() || t.user_id end, 0
    from pgmem.api_token t where t.org_id || t.user_id <> '' group by 1
    union all
    select a.org_id, 0 from pgmem.save_attempt a where a.org_id <> '' group by 1
  )
  select n.org_id, sum(n.memories)::bigint, (select a.state from pgmem.away a where a.org_id = n.org_id)
  from named n group by 1 order by 1;
$$;
comment on function pgmem.residents is
  'The organisations that have rows in this cell, how many memories each has, and the state of its gate.';


-- Left out are rows that the arriving cell makes itself, such as counts of words (07-tables). A model has another number in each cell, so its name is sent; a vector is not in the index of the cell that it comes to.
create or replace function pgmem.moved_tables(p_org_id text) returns table (
  name text,
  columns text[],
  listed text,
  condition text
)
language sql stable set search_path = pgmem, pg_temp as $$
  select s.name,
    array(select a.attname::text from pg_attribute a
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
            and (s.name, a.attname) <> ('embedding', 'indexed') order by a.attnum),
    (select string_agg(case a.attname
        when 'model_id' then '(select m.name from pgmem.embedding_model m where m.id = t.model_id)'
        else format('t.%I', a.attname) end, ', ' order by a.attnum)
     from pg_attribute a
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       and (s.name, a.attname) <> ('embedding', 'indexed')),
    -- The user first: the name of an organisation may hold $2.
    case when p_org_id <> '' then replace(replace(s.condition, '$2', quote_literal('')), '$1', quote_literal(p_org_id))
      -- The public memories.
      when s.name = 'node' then 't.tenant = pgmem.tenant_of() and t.label <> ''GlobalScope'''
      when exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped)
        then 't.tenant = pgmem.tenant_of()'
      else replace(s.condition, 'n.org_id = $1 and ($2 = '''' or n.user_id = $2)',
                   'n.tenant = pgmem.tenant_of() and n.label <> ''GlobalScope''') end
  from pgmem.subject_tables() s join pg_class c on c.relnamespace = 'pgmem'::regnamespace and c.relname = s.name
  join pgmem.table_rule r on r.name = s.name
  where r.moves = 'always' or r.moves = 'organisation' and p_org_id <> ''
  order by r.place;
$$;
comment on function pgmem.moved_tables is $$
The tables whose rows move with an organisation (an empty name: those of the public memories), in the order of copying.

listed has the selected columns of a row t, condition which rows; a model is named instead of numbered.
$$;


create or replace function pgmem.settle(p_org_id text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_table record;
  v_top   bigint;
begin
  -- By the order that these scopes have here; the worker makes a new one if the titles are many.
  perform pgmem.lock_scopes(array(select n.scope_key from pgmem.node n
                                  where n.org_id = p_org_id and n.title_tokens is not null));
  perform pgmem.index_titles(array(
    select n.seq from pgmem.node n
    where n.org_id = p_org_id and n.status = 'active' and n.title_tokens is not null
      and n.seq <> all (array(
        select d.node_seq from pgmem.dedup_token d
        where d.scope_key in (select m.scope_key from pgmem.node m
                              where m.org_id = p_org_id and m.title_tokens is not null)))));
  -- New rows are numbered after those that have arrived: counts and orders read it so.
  for v_table in select * from pgmem.numbered_columns() loop
    execute format('select coalesce(max(t.seq), 0) from %s t', v_table.table_name) into v_top;
    if v_top > (select s.last_value from pg_sequences s
                where format('%I.%I', s.schemaname, s.sequencename)::regclass = v_table.sequence) is not false then
      perform setval(v_table.sequence, (v_top / 256 + 1) * 256 + v.cell) from pgmem.schema_version v;
    end if;
  end loop;
end;
$$;
comment on function pgmem.settle is
  'Make the derived rows of an organisation that has arrived: the index of their titles, and later numbers for new rows.';


create or replace function pgmem.forget_counts(p_org_id text) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_table record;
begin
  for v_table in
    select s.name, s.condition from pgmem.subject_tables() s join pgmem.table_rule r on r.name = s.name where r.counts
  loop
    execute format('delete from pgmem.%I t where %s', v_table.name, v_table.condition) using p_org_id, '';
  end loop;
end;
$$;
comment on function pgmem.forget_counts is
  'Remove the word counts of an organisation, which a worker began while its rows were still arriving.';


create or replace function pgmem.remove_moved(p_org_id text) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_table record;
  v_rows  bigint;
  v_all   bigint := 0;
begin
  for v_table in select * from pgmem.subject_tables() where own and name <> 'tenant_role' order by name = 'node' desc loop
    execute format('delete from pgmem.%I t where %s', v_table.name, v_table.condition) using p_org_id, '';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
  end loop;
  return v_all;
end;
$$;
comment on function pgmem.remove_moved is
  'Delete the rows of an organisation from this cell, because they are in another one; how many.';


-- The triggers of history, graph and feed have nothing to do with a key, which is not part of a memory.
create or replace function pgmem.take_secret(p_secret bytea) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rows bigint;
begin
  perform from pgmem.upkeep u where u.task = 'refresh_dedup' for update;
  lock table pgmem.node, pgmem.card_subject, pgmem.dedup_token in share row exclusive mode;
  update pgmem.store_secret s set secret = p_secret where s.secret <> p_secret;
  if not found then
    return 0;
  end if;
  alter table pgmem.node disable trigger user;
  alter table pgmem.card_subject disable trigger user;
  update pgmem.node n set scope_key = pgmem.scope_key(n.tenant, n.place, n.label);
  get diagnostics v_rows = row_count;
  update pgmem.card_subject s set scope_key = n.scope_key from pgmem.node n where n.seq = s.node_seq;
  -- The entries still have the former keys: by them the orders of words get the new ones.
  create temporary table rekeyed on commit drop as
    select distinct t.scope_key as old, n.scope_key as new from pgmem.dedup_token t join pgmem.node n on n.seq = t.node_seq;
  update pgmem.token_frequency f set scope_key = k.new from rekeyed k where k.old = f.scope_key;
  update pgmem.title_order o set scope_key = k.new from rekeyed k where k.old = o.scope_key;
  update pgmem.dedup_token t set scope_key = n.scope_key from pgmem.node n where n.seq = t.node_seq;
  alter table pgmem.node enable trigger user;
  alter table pgmem.card_subject enable trigger user;
  return v_rows;
end;
$$;
comment on function pgmem.take_secret is $$
Make the scope keys of this cell again, under the secret that all cells of a front share; how many nodes.

Writers wait until it is done: one pass over all nodes, once, when the store becomes a cell.
$$;


select pgmem.declare_step('trusted', 'act_as');
select pgmem.declare_step('reviewer', 'forget_away');


create or replace function pgmem.number_new_tables(p_given jsonb) returns integer
language sql set search_path = pgmem, pg_temp as $$
  select pgmem.number_cell(n.cell)
  from (select coalesce((p_given ->> 'cell')::integer, v.cell) as cell from pgmem.schema_version v) n where n.cell is not null;
$$;
comment on function pgmem.number_new_tables is 'Number the tables that a release brings as the others are, in a store that is a cell.';
select pgmem.declare_step('installed', 'number_new_tables');
