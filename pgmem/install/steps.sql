-- The SQL of an install and an upgrade beside the chapters: what schema.py runs before, between and after them.
-- A step begins with its name; words in braces are filled in, where a step has any.

-- step: may_create
select current_user::text, current_database()::text
where to_regnamespace('pgmem') is null and not has_database_privilege(current_database(), 'create')

-- step: left
select coalesce(sum(s.waiting), 0)::integer, (count(*) filter (where s.index_missing))::integer,
  (select count(*) from (select from pgmem.node n where n.instructs and pgmem.is_live(n.status, n.valid_from, n.valid_to)
                         and pgmem.waits_as_rule(n) limit 1000) r)::integer
from pgmem.embedding_status() s where s.active

-- step: hand_over
do $hand_over$
begin
  if current_user <> 'pgmem_owner' and exists (
       select from pg_namespace n where n.nspname = 'pgmem' and n.nspowner::regrole::text = 'pgmem_owner') then
    execute $function$
{function}
$function$;
    perform pgmem.give_to_owner('pgmem_owner');
  end if;
end $hand_over$;

-- step: table_of_vectors
-- A chapter makes this table where pgvector is. Release 0.1.0 had one more column, which its queue still has.
do $$
begin
  if not exists (select from pg_extension where extname = 'vector') then
    return;
  end if;
  create table pgmem.embedding (
    node_seq    bigint not null references pgmem.node on delete cascade,
    model_id    smallint not null references pgmem.embedding_model on delete cascade,
    kind        text not null default 'self',
    tenant      text not null,
    project_seq bigint not null,
    text_hash   text not null,
    indexed     boolean not null default false,
    vector      halfvec not null,
    primary key (node_seq, model_id, kind)
  );
  if not exists (
      select from pg_attribute
      where attrelid = 'pgmem.embedding_queue'::regclass and attname = 'kind' and not attisdropped) then
    alter table pgmem.embedding drop column kind;
    alter table pgmem.embedding add primary key (node_seq, model_id);
    create index embedding_scope on pgmem.embedding (model_id, tenant, project_seq);
    create index embedding_tail on pgmem.embedding (model_id, tenant) where not indexed;
  end if;
end $$;

-- step: empty_tables
do $$
begin
  execute (select 'truncate ' || string_agg(c.oid::regclass::text, ', ') from pg_class c
           where c.relnamespace = 'pgmem'::regnamespace and c.relkind = 'r');
end $$;

-- step: take_turns
do $$
begin
  if to_regclass('pgmem.schema_version') is not null then
    lock table pgmem.schema_version in exclusive mode;
  else
    create schema if not exists pgmem;
    create table pgmem.installing ();
  end if;
end $$

-- step: loosen_caller
-- A call that waits for an upgrade waits where it asks who calls, and goes on with the text that it began with: a row of
-- as many columns as the type had. Assigned and not cast, that row is one of the type with more attributes too.
do $$
declare
  v_cast constant text := 'return (row\([^;]*\))::pgmem\.caller;';
  v_text text := (select pg_get_functiondef(p.oid) from pg_proc p where p.oid = to_regprocedure('pgmem.caller()'));
begin
  if v_text ~ v_cast then
    execute regexp_replace(v_text, v_cast, 'declare v_caller pgmem.caller := \1; begin return v_caller; end;');
  end if;
end $$;

-- step: required
-- Functions that a default, constraint, trigger or policy calls, and those that they call.
select d.refobjid from pg_depend d
where d.refclassid = 'pg_proc'::regclass and d.classid not in ('pg_proc'::regclass, 'pg_rewrite'::regclass)
union
select d.refobjid from required r
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass

-- step: drop_projection
-- The functions of the triggers are those of the previous release and call its other functions. A body of the SQL standard
-- depends on the objects it names, so a function that takes the row of a table or reads its columns keeps migrations from
-- changing their types; the chapters make it again.
do $$
declare
  v_trigger   record;
  v_functions text[];
  v_name      text;
begin
  for v_trigger in
    select t.tgname, t.tgrelid::regclass as table_name from pg_trigger t
    where t.tgrelid in (to_regclass('pgmem.node'), to_regclass('pgmem.edge')) and starts_with(t.tgname, 'project_')
  loop
    execute format('drop trigger %I on %s', v_trigger.tgname, v_trigger.table_name);
  end loop;
  with recursive required(oid) as (
    {required}
  )
  select array_agg(p.oid::regprocedure::text) into v_functions from pg_proc p
  where p.pronamespace = to_regnamespace('pgmem') and p.prosqlbody is not null and p.oid not in (select oid from required)
    and (exists (select from unnest(p.proargtypes) a(type) join pg_type t on t.oid = a.type
                 join pg_class c on c.oid = t.typrelid where c.relkind = 'r')
      or exists (select from pg_depend d join pg_class c on c.oid = d.refobjid
                 where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
                   and d.refobjsubid > 0 and c.relkind = 'r'));
  foreach v_name in array coalesce(v_functions, array[]::text[]) loop
    execute format('drop function if exists %s cascade', v_name);
  end loop;
end $$

-- step: become_owner
-- Once the roles exist, objects that an upgrade creates must belong to pgmem_owner too: verbs run with its rights.
do $$
begin
  if current_user <> 'pgmem_owner'
     and exists (
       select from pg_namespace n where n.nspname = 'pgmem' and n.nspowner::regrole::text = 'pgmem_owner') then
    set local role pgmem_owner;
  end if;
end $$

-- step: drop_changed
do $$
declare
  v_heads_kept boolean := exists (select from pgmem.schema_function);
  v_dropped    oid[];
  v_view       text;
  v_functions  text;
begin
  with recursive required(oid) as (
    {required}
  ), changed(oid) as (
    select p.oid from pg_proc p
    left join pgmem.schema_function kept on kept.name = p.proname
    left join unnest({names}, {heads}) as new(name, head) on new.name = p.proname
    where p.pronamespace = 'pgmem'::regnamespace
      and case when kept.name is not null then kept.head is distinct from new.head
               else not v_heads_kept and p.prorettype <> 'trigger'::regtype and p.proname <> 'label_number'
                 and p.oid not in (select oid from required) end
    union
    select d.objid from changed c
    join pg_depend d on d.refclassid = 'pg_proc'::regclass and d.refobjid = c.oid and d.classid = 'pg_proc'::regclass
  )
  select array_agg(oid) into v_dropped from changed;
  if v_dropped is null then
    return;
  end if;
  for v_view in select viewname from pg_views where schemaname = 'pgmem' loop
    execute format('drop view if exists pgmem.%I cascade', v_view);
  end loop;
  -- Those that return rows of a view went with it.
  select string_agg(p.oid::regprocedure::text, ', ') into v_functions from pg_proc p where p.oid = any (v_dropped);
  if v_functions is not null then
    execute 'drop function ' || v_functions;
  end if;
end $$;

-- step: keep_heads
delete from pgmem.schema_function;
insert into pgmem.schema_function (name, head) select * from unnest({names}, {heads});

-- step: drop_views
do $$
declare
  v_view text;
begin
  for v_view in select viewname from pg_views where schemaname = 'pgmem' loop
    execute format('drop view if exists pgmem.%I cascade', v_view);
  end loop;
end $$

-- step: name_extension_schema
-- The chapters name pgvector's types and operators with the schema public; here they get the one that the extension is
-- in (Supabase: extensions). So no function has a schema in its path in which others may create: their functions would
-- run as the owner.
do $$
declare
  v_function   oid;
  v_definition text;
  v_named      text;
  v_schema     text := (select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                        where e.extname = 'vector');
begin
  for v_function in select p.oid from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and v_schema is not null
      and p.prokind = 'f' and p.prosqlbody is null
      and (strpos(p.prosrc, 'halfvec') > 0 or strpos(p.prosrc, '<=>') > 0) loop
    v_definition := pg_get_functiondef(v_function);
    v_named := regexp_replace(v_definition,
      '(?<![%$"[:alnum:]_])("[^"]+"|[a-z_][a-z0-9_]*)\.(halfvec\M|<=>)', v_schema || '.\2', 'g');
    if v_named <> v_definition then
      execute v_named;
    end if;
  end loop;
end $$;

-- step: writable_schemas
-- Whoever may create beside an extension may put functions there that its own functions and casts find first.
select n.nspname, e.extname, quote_ident(coalesce(r.rolname, 'public')) as grantee
from pg_extension e join pg_namespace n on n.oid = e.extnamespace
cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
left join pg_roles r on r.oid = a.grantee
where e.extname in ('vector', 'age') and a.privilege_type = 'CREATE' and (a.grantee = 0
  or r.rolname in ('pgmem_writer', 'pgmem_reader', 'pgmem_trusted', 'pgmem_reviewer')
  or not r.rolsuper and a.grantee <> n.nspowner and r.rolname <> 'pgmem_owner' and pg_has_role(a.grantee, (
       select w.oid from pg_roles w where w.rolname = 'pgmem_writer'), 'member'))
order by 1, 3

-- step: unusable_schemas
select n.nspname, e.extname, s.nspowner::regrole::text
from pg_extension e join pg_namespace n on n.oid = e.extnamespace join pg_namespace s on s.nspname = 'pgmem'
where e.extname in ('vector', 'age') and not has_schema_privilege(s.nspowner, n.oid, 'usage')
order by 1

-- step: script_known
-- The revisions by their order; an upgrade runs those after the store's.
create table pgmem.installing as
select revision, number from (values {known}) as known(revision, number);
do $$
begin
  if to_regclass('pgmem.schema_version') is not null then  -- a new store has no such table yet
    if exists (
        select from pgmem.schema_version v
        where string_to_array(substring(v.release from '^\d+(?:\.\d+)*'), '.')::integer[] > '{{{numbers}}}') then
      raise exception 'A newer release of pgmem wrote this store: use its script.';
    end if;
  end if;
  if exists (
      select from pgmem.alembic_version v where v.version_num not in (select revision from pgmem.installing)) then
    raise exception 'Another release of pgmem wrote this store: use its script, or that of a newer one.';
  end if;
end $$;

-- step: script_step
do $migration$
begin
  if not exists (
      select from pgmem.alembic_version v join pgmem.installing k on k.revision = v.version_num
      where k.number >= (select number from pgmem.installing where revision = '{revision}')) then
    execute $text$
{text}
$text$;
    delete from pgmem.alembic_version;
    insert into pgmem.alembic_version values ('{revision}');
  end if;
end $migration$;

-- step: script_renew
do $$
declare
  v_step text;
begin
  loop
    select step into v_step from pgmem.renew();
    exit when v_step is null;
    commit;
  end loop;
end $$;
