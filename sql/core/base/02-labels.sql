-- How labels behave
--
-- A label says once how its memories behave: declare_label, in its own chapter, writes it to the registry
-- (pgmem.label). Nothing else names the labels of a feature. A rule that every save or search asks for is a constant
-- function, which make_label_rules writes of the registry: it is merged into the statement that uses it, as a look-up would
-- cost each of them a join, and a partial index is used only for a query that has the same constant.
--
-- The functions are made here of the declarations of the release before, so that later chapters can name them, and at the end
-- of the install anew (96-policies).
--
-- Locks: none.


-- A seq has 48 bits.
create or replace function pgmem.scope_number(p_counts integer, p_project_seq bigint) returns bigint
language sql immutable parallel safe
begin atomic
  select case p_counts when 0 then coalesce(p_project_seq, 0)
    else -1 - 281474976710656 * (p_counts - 1) - coalesce(p_project_seq, 0) end;
end;
comment on function pgmem.scope_number is
  'Under which number a project counts the words of memories: of those that share its counts (0), or of a label that has its own.';


create or replace function pgmem.make_label_rules() returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
declare
  v_rule   record;
  v_labels text;
begin
  for v_rule in select * from (values
    ('named_only', 'l.named_only', false, 'Whether a search or a context holds memories of this label only where the label is named.'),
    ('is_derived', 'l.derived', false,
     'Whether memories of a label are mostly written by pgmem: cards of files, insights, turns. They are counted apart.'),
    ('is_of_store', 'l.of_store', false,
     'Whether nodes of a label are made by the store itself: they are neither exported, imported nor named.'),
    ('is_embedded', 'not l.embedded', true, 'Whether memories of a label have vectors.'),
    ('has_title', 'not l.titled', true, 'Whether the title of a label says more than the beginning of its text.'),
    ('is_exact', 'l.exact', false, 'Whether the texts of a label are kept byte for byte, and not composed.'),
    ('is_source_text', 'l.source_text', false, 'Whether memories of a label are source texts: captured, and found where the label is named.'),
    ('is_branched', 'l.branched', false, 'Whether the property branch of a label keeps a memory to a branch until it is merged.'),
    ('end_moves', 'l.end_moves', false, 'Whether reads postpone the end of a memory of this label, so that another end makes no version.'),
    ('reads_value', $$l.other_texts = 'value'$$, false, 'Whether a memory of this label is found by all texts of its property value.'),
    ('reads_fields', $$l.other_texts = 'none'$$, false, 'Whether a memory of this label is found by its text fields alone.')
  ) as rule(name, condition, is_negated, meaning) loop
    execute format('select case count(*) when 0 then ''false'' when 1 then ''p_label = '' || min(quote_literal(l.name))'
      ' else ''p_label in ('' || string_agg(quote_literal(l.name), '', '' order by l.name) || '')'' end from pgmem.label l where %s',
      v_rule.condition) into v_labels;
    execute format($sql$create or replace function pgmem.%I(p_label text) returns boolean
language sql immutable parallel safe
begin atomic
  select %s;
end $sql$, v_rule.name, case when v_rule.is_negated then format('not (%s)', v_labels) else v_labels end);
    execute format('comment on function pgmem.%I is %L', v_rule.name, v_rule.meaning);
  end loop;
  execute format($sql$create or replace function pgmem.name_source_texts(p_labels text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select p_labels && %L::text[];
end $sql$, array(select l.name from pgmem.label l where l.source_text order by 1));
  comment on function pgmem.name_source_texts is 'Whether a list of labels names one of source texts; null: no list.';
  execute format($sql$create or replace function pgmem.counts_apart(p_label text) returns integer
language sql immutable parallel safe
begin atomic
  select case p_label %s else 0 end;
end $sql$, (select coalesce(string_agg(format('when %L then %s', l.name, l.counted_apart), ' ' order by l.name), 'when '''' then 0')
            from pgmem.label l where l.counted_apart > 0));
  comment on function pgmem.counts_apart is
    'The number of the counts of words that memories of this label have for themselves; 0: they share those of all others.';
  execute format($sql$create or replace function pgmem.scopes_apart(p_labels text[], p_project_seq bigint) returns bigint[]
language sql immutable parallel safe
begin atomic
  select '{}'::bigint[]%s;
end $sql$, (select string_agg(format(' || case when %L = any (p_labels) then array[pgmem.scope_number(%s, p_project_seq)] end',
                                     l.name, l.counted_apart), '' order by l.name)
            from pgmem.label l where l.counted_apart > 0));
  comment on function pgmem.scopes_apart is 'Under which numbers a project counts the labels of a list that have counts for themselves.';
end;
$make$;
comment on function pgmem.make_label_rules is 'Make the constant functions that say how labels behave, of the registry.';
select pgmem.make_label_rules();


-- A label that a chapter declares behaves as it says there; every other one as a plain memory.
update pgmem.label l
set statuses = default, kept_as_sent = default, arrives_by = null, exported_by = null, imported_by = null, vouched_parts = default,
  decided_by = null, named_only = default, derived = default, of_store = default, embedded = default, titled = default,
  exact = default, source_text = default, branched = default, end_moves = default, other_texts = default, counted_apart = default,
  counted_in = null, removed_by = null, removed_as = null, read_by = null, sources_by = null, reverted_by = null
where l.vocabulary <> 'own';


create or replace function pgmem.declare_label(
  p_name text,
  p_statuses text[] default '{active,superseded,archived,expired,merged,stub}',
  p_kept_as_sent boolean default false,
  p_arrives_by name default null,
  p_exported_by name default null,
  p_imported_by name default null,
  p_vouched_parts text[] default '{}',
  p_decided_by text default null,
  p_named_only boolean default false,
  p_derived boolean default false,
  p_of_store boolean default false,
  p_embedded boolean default true,
  p_titled boolean default true,
  p_exact boolean default false,
  p_source_text boolean default false,
  p_branched boolean default false,
  p_end_moves boolean default false,
  p_other_texts text default 'all',
  p_counted_apart integer default 0,
  p_counted_in text default null,
  p_removed_by name default null,
  p_removed_as text default null,
  p_read_by text default null,
  p_sources_by name default null,
  p_reverted_by name default null
) returns void
language sql set search_path = pgmem, pg_temp as $$
  update pgmem.label l
  set statuses = p_statuses, kept_as_sent = p_kept_as_sent, arrives_by = p_arrives_by, exported_by = p_exported_by,
    imported_by = p_imported_by, vouched_parts = p_vouched_parts, decided_by = p_decided_by, named_only = p_named_only,
    derived = p_derived, of_store = p_of_store, embedded = p_embedded, titled = p_titled, exact = p_exact,
    source_text = p_source_text, branched = p_branched, end_moves = p_end_moves, other_texts = p_other_texts,
    counted_apart = p_counted_apart, counted_in = p_counted_in, removed_by = p_removed_by, removed_as = p_removed_as,
    read_by = p_read_by, sources_by = p_sources_by, reverted_by = p_reverted_by
  where l.name = p_name;
$$;
comment on function pgmem.declare_label is
  'Declare how the memories of a label behave; the comments on the columns of pgmem.label say it.';


-- Those that hold a store together belong to no chapter.
select pgmem.declare_label('Project', p_embedded => false, p_exact => true),
  pgmem.declare_label('FocusArea', p_embedded => false, p_exact => true),
  pgmem.declare_label('GlobalScope', p_embedded => false, p_of_store => true),
  pgmem.declare_label('GovernanceToken', p_embedded => false, p_of_store => true, p_other_texts => 'none');
