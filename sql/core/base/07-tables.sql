-- Tables
--
-- A table is declared once, in its own chapter: declare_table says whose its rows are. Whatever handles the
-- rows of tenants reads these declarations (pgmem.table_rule), and names no table itself:
--
--   secure_table      row security and policies (96-policies runs it for all tables)
--   subject_tables    the rows that an erasure removes and that belong to an organisation (35-tenants)
--   adopt_rows        the rows that get another tenant (35-tenants)
--   moved_tables      the rows that move between cells (36-cells)
--   row_records, import_row   the parts of an export that are rows of a table (80-export, 81-import-places)
--
-- A backup takes all tables. The types and constraints are those of the migrations; tests/core/schema/test_tables.py compares
-- the declarations with the catalog.
--
-- Locks: secure_table: the table, against readers too, only where its security differs from the declaration.


delete from pgmem.table_rule;


create or replace function pgmem.declare_table(
  p_name text,
  p_rows_of text,
  p_nodes text[] default '{}',
  p_shown_to text default 'nobody',
  p_moves text default 'no',
  p_adopted text default 'no',
  p_counts boolean default false,
  p_part text default null,
  p_ordered_by text[] default '{}',
  p_exported_by text default null,
  p_imported_by text default null,
  p_fed_by text[] default '{}'
) returns void
language sql set search_path = pgmem, pg_temp as $$
  insert into pgmem.table_rule (place, name, chapter, rows_of, nodes, shown_to, moves, adopted, counts, part, ordered_by,
                                exported_by, imported_by, fed_by)
  select coalesce(max(t.place), 0) + 1, p_name, current_setting('pgmem.chapter'), p_rows_of, p_nodes, p_shown_to, p_moves,
         p_adopted, p_counts, p_part, p_ordered_by, p_exported_by, p_imported_by, p_fed_by
  from pgmem.table_rule t;
$$;
comment on function pgmem.declare_table is
  'Declare a table: whose its rows are, and the rules that follow from that; the comments on pgmem.table_rule say how to read '
  'it.';


create or replace function pgmem.secure_table(p_name text) returns boolean
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rule    pgmem.table_rule;
  v_secured boolean;
  v_using   text;
  v_policy  name;
begin
  select t.* into v_rule from pgmem.table_rule t where t.name = p_name;
  select c.relrowsecurity into v_secured from pg_class c where c.oid = to_regclass('pgmem.' || p_name);
  if v_secured is null or v_rule.shown_to = 'all' then
    return false;
  end if;
  -- The subquery makes visible_tenants run once a query.
  v_using := case v_rule.shown_to
    when 'tenant' then '(tenant = any ((select pgmem.visible_tenants())::text[]))'
    when 'node' then '(' || (
      select string_agg(format('exists (select from pgmem.node n where n.seq = %I)', c.name), ' and ' order by c.place)
      from unnest(v_rule.nodes) with ordinality as c(name, place)) || ')' end;
  if not v_secured then
    execute format('alter table pgmem.%I enable row level security', p_name);
  elsif (select array_agg(obj_description(p.oid, 'pg_policy')) from pg_policy p
         where p.polrelid = ('pgmem.' || p_name)::regclass) is not distinct from (
           case when v_using is not null then array[v_using] end) then
    return false;
  end if;
  for v_policy in select p.polname from pg_policy p where p.polrelid = ('pgmem.' || p_name)::regclass loop
    execute format('drop policy %I on pgmem.%I', v_policy, p_name);
  end loop;
  if v_using is not null then
    execute format('create policy shown on pgmem.%I for select using %s', p_name, v_using);
    -- By it the next install knows the policy again.
    execute format('comment on policy shown on pgmem.%I is %L', p_name, v_using);
  end if;
  return true;
end;
$$;
comment on function pgmem.secure_table is
  'Give a table the row security that its declaration asks for; false where it has it, or needs none.';


-- The vocabulary and the state of the store.
select pgmem.declare_table(name, 'store', p_shown_to => 'all') from unnest(
  '{alembic_version,schema_version,schema_file,schema_function,verb,argument,field,label,relation,setting,table_rule,step,
    embedding_model,upkeep,held_lock}'::text[]) as name;
select pgmem.declare_table(name, 'store') from unnest('{store_secret,renewal,away,erasure}'::text[]) as name;

-- Memories, their states and relations. adopt gives them to another tenant itself, as their words name the tenant.
select pgmem.declare_table('node', 'owner', p_shown_to => 'tenant', p_moves => 'always',
  p_fed_by => '{node_made,node_gone,record_version}');
select pgmem.declare_table('node_version', 'owner', p_shown_to => 'tenant', p_moves => 'always');
select pgmem.declare_table('edge', 'node', '{src,dst}', p_shown_to => 'node', p_moves => 'always',
  p_fed_by => '{edge_made_or_gone}');
select pgmem.declare_table('imported', 'node', '{node_seq}', p_moves => 'always');
select pgmem.declare_table('tombstone', 'owner', p_moves => 'organisation', p_adopted => 'all');
select pgmem.declare_table('declined_rule', 'node', '{node_seq}', p_shown_to => 'node', p_moves => 'always');
select pgmem.declare_table('source_check', 'node', '{node_seq}', p_shown_to => 'node', p_moves => 'always');

-- Saves and their approvals, tokens and logins. The front keeps the logins of cells.
select pgmem.declare_table('save_attempt', 'owner', p_shown_to => 'tenant', p_moves => 'organisation', p_adopted => 'all',
  p_fed_by => '{review_held,review_decided}');
select pgmem.declare_table('governance_token', 'owner', p_shown_to => 'tenant', p_moves => 'organisation',
  p_adopted => 'all');
select pgmem.declare_table('api_token', 'owner', p_moves => 'organisation');
select pgmem.declare_table('tenant_role', 'owner');

-- Vectors.
select pgmem.declare_table('embedding', 'tenant', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all');
select pgmem.declare_table('embedding_queue', 'node', '{node_seq}', p_moves => 'always');
select pgmem.declare_table('archived_vector', 'node', '{node_seq}', p_moves => 'always');

-- Rows that each store makes of the others: the index of titles in the order of its words, the counts of words, the feed.
select pgmem.declare_table('dedup_token', 'node', '{node_seq}');
select pgmem.declare_table('token_frequency', 'tenant');
select pgmem.declare_table('title_order', 'tenant');
select pgmem.declare_table(name, 'tenant', p_adopted => 'missing', p_counts => true)
from unnest('{word_count,text_stat,lexeme_stat,source_stat}'::text[]) as name;
select pgmem.declare_table('change', 'tenant', p_shown_to => 'tenant', p_adopted => 'all');

-- Memories that were brought to agents, and their use.
select pgmem.declare_table('recall_event', 'tenant', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all');
select pgmem.declare_table('usefulness', 'tenant', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'missing');
