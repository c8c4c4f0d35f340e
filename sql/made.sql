-- Functions that chapters make
--
-- Written by scripts/generate; do not edit, and no install runs it. It shows the functions that the chapters write with
-- format: of each declared kind of memory its save verb and its constructor, of all of them store and what an approval
-- compares (25-kinds), constants of the registry of labels, and the rows that a view reads (90-views). Left out are the
-- triggers of the graph (91-projection), which a server without AGE has not.


-- The texts of a save that a person must have been shown.
create or replace function pgmem.approved_texts(p_arguments jsonb)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT ARRAY( SELECT text.value
            FROM jsonb_array_elements_text(jsonb_path_query_array((approved_texts.p_arguments - '{about,beside,confidence,date,focus,last_validated_at,owner,project_id,relevance_score,scope,share,supersedes,valid_from,valid_to}'::text[]), 'strict $.**?(@.type() == "string")'::jsonpath)) WITH ORDINALITY text(value, place)
           ORDER BY text.place) AS "array";
END;


-- A new Context with the arguments of a save, each checked and cleaned.
create or replace function pgmem.context_of(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
 RETURNS pgmem.node
 LANGUAGE plpgsql
AS $function$
declare
  v_node  pgmem.node;
  v_title text;
  v_key   text;
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    'content', pgmem.clean_text(p_arguments ->> 'content', 'content', true),
    'topic', case when p_arguments ? 'topic' then pgmem.clean_text(p_arguments ->> 'topic', 'topic', false) end,
    'relevance_score', pgmem.argument_number(p_arguments, 'relevance_score', 1.0),
    'citation', case when p_arguments ? 'citation' then nullif(pgmem.clean_texts(p_arguments -> 'citation', 'citation', false), '[]') end));
begin
  v_node := pgmem.place_node('Context', p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := pgmem.excerpt(coalesce(v_props ->> 'topic', v_props ->> 'content'));
  v_node.props := v_props || pgmem.source_of(p_arguments);
  v_node.valid_from := case when p_arguments ? 'valid_from' then pgmem.argument_time(p_arguments, 'valid_from') end;
  v_node.valid_to := case when p_arguments ? 'valid_to' then pgmem.argument_time(p_arguments, 'valid_to') end;
  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash('Context', v_node.title, v_node.props);
  return v_node;
end;
$function$;


-- The number of the counts of words that memories of this label have for themselves; 0: they share those of all others.
create or replace function pgmem.counts_apart(p_label text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT
         CASE p_label
             WHEN 'Card'::text THEN 1
             WHEN 'Turn'::text THEN 2
             ELSE 0
         END AS "case";
END;


-- A new Decision with the arguments of a save, each checked and cleaned.
create or replace function pgmem.decision_of(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
 RETURNS pgmem.node
 LANGUAGE plpgsql
AS $function$
declare
  v_node  pgmem.node;
  v_title text := pgmem.clean_title(p_arguments ->> 'title', 'title');
  v_key   text;
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    'rationale', pgmem.clean_text(p_arguments ->> 'rationale', 'rationale', true),
    'owner', case when p_arguments ? 'owner' then pgmem.clean_text(p_arguments ->> 'owner', 'owner', false) end,
    'date', coalesce(pgmem.argument_time(p_arguments, 'date'), p_caller.made_at, pgmem.now())::date,
    'citation', case when p_arguments ? 'citation' then nullif(pgmem.clean_texts(p_arguments -> 'citation', 'citation', false), '[]') end));
begin
  v_node := pgmem.place_node('Decision', p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := v_title;
  v_node.props := v_props || pgmem.source_of(p_arguments);
  v_node.initial_confidence := pgmem.argument_number(p_arguments, 'confidence', 1.0);
  v_node.valid_from := case when p_arguments ? 'valid_from' then pgmem.argument_time(p_arguments, 'valid_from') end;
  v_node.valid_to := case when p_arguments ? 'valid_to' then pgmem.argument_time(p_arguments, 'valid_to') end;
  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash('Decision', v_node.title, v_node.props);
  return v_node;
end;
$function$;


-- Whether reads postpone the end of a memory of this label, so that another end makes no version.
create or replace function pgmem.end_moves(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = 'Item'::text);
END;


-- A new EntityFact with the arguments of a save, each checked and cleaned.
create or replace function pgmem.entity_fact_of(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
 RETURNS pgmem.node
 LANGUAGE plpgsql
AS $function$
declare
  v_node  pgmem.node;
  v_title text;
  v_key   text := pgmem.require_key(p_arguments ->> 'entity_name', 'entity_name');
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    'fact', pgmem.clean_text(p_arguments ->> 'fact', 'fact', true),
    'about', case when p_arguments ? 'about' then pgmem.clean_text(p_arguments ->> 'about', 'about', false) end,
    'aliases', pgmem.clean_texts(p_arguments -> 'aliases', 'aliases', false),
    'citation', case when p_arguments ? 'citation' then nullif(pgmem.clean_texts(p_arguments -> 'citation', 'citation', false), '[]') end));
begin
  v_node := pgmem.place_node('EntityFact', p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := v_node.key;
  v_node.props := v_props || jsonb_build_object('entity_name', v_key) || pgmem.source_of(p_arguments);
  v_node.valid_from := case when p_arguments ? 'valid_from' then pgmem.argument_time(p_arguments, 'valid_from') end;
  v_node.valid_to := case when p_arguments ? 'valid_to' then pgmem.argument_time(p_arguments, 'valid_to') end;
  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash('EntityFact', v_node.title, v_node.props);
  return v_node;
end;
$function$;


-- Whether the title of a label says more than the beginning of its text.
create or replace function pgmem.has_title(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (NOT (p_label = ANY (ARRAY['Card'::text, 'Turn'::text])));
END;


-- Whether the property branch of a label keeps a memory to a branch until it is merged.
create or replace function pgmem.is_branched(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = 'Card'::text);
END;


-- Whether memories of a label are mostly written by pgmem: cards of files, insights, turns. They are counted apart.
create or replace function pgmem.is_derived(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = ANY (ARRAY['Card'::text, 'Insight'::text, 'Turn'::text]));
END;


-- Whether memories of a label have vectors.
create or replace function pgmem.is_embedded(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (NOT (p_label = ANY (ARRAY['FocusArea'::text, 'GlobalScope'::text, 'GovernanceToken'::text, 'Project'::text, 'Turn'::text])));
END;


-- Whether the texts of a label are kept byte for byte, and not composed.
create or replace function pgmem.is_exact(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = ANY (ARRAY['Card'::text, 'File'::text, 'FocusArea'::text, 'Item'::text, 'Message'::text, 'Project'::text, 'Trajectory'::text]));
END;


-- Whether nodes of a label are made by the store itself: they are neither exported, imported nor named.
create or replace function pgmem.is_of_store(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = ANY (ARRAY['GlobalScope'::text, 'GovernanceToken'::text, 'Trajectory'::text]));
END;


-- Whether memories of a label are source texts: captured, and found where the label is named.
create or replace function pgmem.is_source_text(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = 'Turn'::text);
END;


-- The words of kinds and their fields, which a preview may show beside the texts.
create or replace function pgmem.kind_words()
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT 'actions?|aliases?|citation|content|context|decision|decisions?|entities?|entity|exclusions?|fact|global|items?|made|name|next|objective|open|pattern|rationale|related|repeatable|save|scope|session|steps?|taken|title|topic|trigger'::text AS text;
END;


-- The content hash of a memory whose kind knows repeats by it; null for one that is known by its name or its anchor.
create or replace function pgmem.memory_hash(p_label text, p_title text, p_props jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT
         CASE p_label
             WHEN ''::text THEN pgmem.content_hash(NULL::text[])
             WHEN 'Decision'::text THEN pgmem.content_hash(ARRAY[((p_title || ' '::text) || (p_props ->> 'rationale'::text))])
             WHEN 'Pattern'::text THEN pgmem.content_hash((ARRAY[(p_props ->> 'trigger'::text)] || ARRAY( SELECT jsonb_array_elements_text((p_props -> 'repeatable_steps'::text)) AS jsonb_array_elements_text)))
             ELSE NULL::text
         END AS "case";
END;


-- Whether a list of labels names one of source texts; null: no list.
create or replace function pgmem.name_source_texts(p_labels text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_labels && '{Turn}'::text[]);
END;


-- Whether a search or a context holds memories of this label only where the label is named.
create or replace function pgmem.named_only(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = 'Card'::text);
END;


-- A new Pattern with the arguments of a save, each checked and cleaned.
create or replace function pgmem.pattern_of(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
 RETURNS pgmem.node
 LANGUAGE plpgsql
AS $function$
declare
  v_node  pgmem.node;
  v_title text;
  v_key   text;
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    'trigger', pgmem.clean_text(p_arguments ->> 'trigger', 'trigger', true),
    'repeatable_steps', pgmem.clean_texts(p_arguments -> 'repeatable_steps', 'repeatable_steps', true),
    'exclusions', pgmem.clean_texts(p_arguments -> 'exclusions', 'exclusions', false),
    'last_validated_at', coalesce(pgmem.argument_time(p_arguments, 'last_validated_at'), p_caller.made_at, pgmem.now()),
    'citation', case when p_arguments ? 'citation' then nullif(pgmem.clean_texts(p_arguments -> 'citation', 'citation', false), '[]') end));
begin
  v_node := pgmem.place_node('Pattern', p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := pgmem.excerpt(coalesce(v_props ->> 'trigger'));
  v_node.props := v_props || pgmem.source_of(p_arguments);
  v_node.valid_from := case when p_arguments ? 'valid_from' then pgmem.argument_time(p_arguments, 'valid_from') end;
  v_node.valid_to := case when p_arguments ? 'valid_to' then pgmem.argument_time(p_arguments, 'valid_to') end;
  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash('Pattern', v_node.title, v_node.props);
  return v_node;
end;
$function$;


-- Whether a memory of this label is found by its text fields alone.
create or replace function pgmem.reads_fields(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = ANY (ARRAY['Card'::text, 'GovernanceToken'::text, 'Insight'::text, 'Trajectory'::text, 'Turn'::text]));
END;


-- Whether a memory of this label is found by all texts of its property value.
create or replace function pgmem.reads_value(p_label text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (p_label = ANY (ARRAY['Item'::text, 'Message'::text]));
END;


-- The rows of the view act.
create or replace function pgmem.rows_of_act()
 RETURNS TABLE(at timestamp with time zone, act text, key text, project text, session_id text, memory_ids uuid[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select a.at, a.act, a.key, a.project, a.session_id, a.memory_ids
  from pgmem.act_event a where a.tenant = any ((select pgmem.visible_tenants())::text[])
$function$;


-- The rows of the view approval.
create or replace function pgmem.rows_of_approval()
 RETURNS TABLE(id uuid, preview text, org_id text, user_id text, issued_to text, issued_at timestamp with time zone, expires_at timestamp with time zone, used_at timestamp with time zone, used_by uuid, spent_by text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select t.id, t.preview, t.org_id, t.user_id, t.issued_to, t.issued_at, t.expires_at, t.used_at, t.used_by, t.spent_by
  from pgmem.governance_token t
  where t.tenant = any ((select pgmem.visible_tenants())::text[])
$function$;


-- The rows of the view card.
create or replace function pgmem.rows_of_card()
 RETURNS TABLE(id uuid, record_type text, statement text, status text, confidence text, origin text, ingest_source text, path text, project text, stale_reason text, approved_by text, approved_at timestamp with time zone, evidence_count bigint, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select n.id, n.props ->> 'record_type' as record_type, n.props ->> 'statement' as statement, n.status,
         n.props ->> 'confidence' as confidence, n.props ->> 'origin' as origin,
         n.props ->> 'ingest_source' as ingest_source, n.props ->> 'path' as path, n.project,
         n.props ->> 'stale_reason' as stale_reason, n.props ->> 'approved_by' as approved_by,
         (n.props ->> 'approved_at')::timestamptz as approved_at,
         (select count(*) from pgmem.card_evidence e where e.node_seq = n.seq) as evidence_count,
         n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at
  from pgmem.visible_node n where n.label = 'Card'
$function$;


-- The rows of the view conflict.
create or replace function pgmem.rows_of_conflict()
 RETURNS TABLE(id uuid, label text, title text, with_id uuid, with_label text, with_title text, project text, with_project text, status text, with_status text, created_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select a.id, a.label, a.title, b.id as with_id, b.label as with_label, b.title as with_title,
         a.project, b.project as with_project, a.status, b.status as with_status, e.created_at
  from pgmem.edge e join pgmem.visible_node a on a.seq = e.src join pgmem.visible_node b on b.seq = e.dst
  where e.rel = 'CONFLICTS_WITH'
$function$;


-- The rows of the view context.
create or replace function pgmem.rows_of_context()
 RETURNS TABLE(id uuid, content text, topic text, relevance_score double precision, citation text[], project text, scope text, focus text, status text, valid_from timestamp with time zone, valid_to timestamp with time zone, source text, trust_level double precision, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$select n.id, n.props ->> 'content' as content, n.props ->> 'topic' as topic, (n.props ->> 'relevance_score')::float8 as relevance_score, array(select jsonb_array_elements_text(n.props -> 'citation')) as citation, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author from pgmem.visible_node n where n.label = 'Context'$function$;


-- The rows of the view decision.
create or replace function pgmem.rows_of_decision()
 RETURNS TABLE(id uuid, title text, rationale text, owner text, date date, confidence double precision, superseded_by uuid, citation text[], project text, scope text, focus text, status text, valid_from timestamp with time zone, valid_to timestamp with time zone, source text, trust_level double precision, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$select n.id, n.title as title, n.props ->> 'rationale' as rationale, n.props ->> 'owner' as owner, (n.props ->> 'date')::date as date, n.initial_confidence::float8 as confidence, (select newer.id from pgmem.edge e join pgmem.visible_node newer on newer.seq = e.src
        where e.dst = n.seq and e.rel = 'SUPERSEDES' order by e.seq desc limit 1) as superseded_by, array(select jsonb_array_elements_text(n.props -> 'citation')) as citation, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author from pgmem.visible_node n where n.label = 'Decision'$function$;


-- The rows of the view entity_fact.
create or replace function pgmem.rows_of_entity_fact()
 RETURNS TABLE(id uuid, entity_name text, fact text, about text, aliases text[], version integer, citation text[], project text, scope text, focus text, status text, valid_from timestamp with time zone, valid_to timestamp with time zone, source text, trust_level double precision, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$select n.id, n.key as entity_name, n.props ->> 'fact' as fact, n.props ->> 'about' as about, array(select jsonb_array_elements_text(n.props -> 'aliases')) as aliases, n.version as version, array(select jsonb_array_elements_text(n.props -> 'citation')) as citation, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author from pgmem.visible_node n where n.label = 'EntityFact'$function$;


-- The rows of the view graph_edge.
create or replace function pgmem.rows_of_graph_edge()
 RETURNS TABLE(from_id uuid, from_label text, from_title text, rel text, to_id uuid, to_label text, to_title text, created_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select s.id as from_id, s.label as from_label, s.title as from_title, e.rel,
         d.id as to_id, d.label as to_label, d.title as to_title, e.created_at
  from pgmem.edge e join pgmem.visible_node s on s.seq = e.src join pgmem.visible_node d on d.seq = e.dst
  union all
  select n.id, n.label, n.title, 'BELONGS_TO', p.id, p.label, p.title, n.created_at
  from pgmem.visible_node n
  join pgmem.visible_node p on p.seq = case n.scope when 'global' then 1 else n.project_seq end
  union all
  select n.id, n.label, n.title, 'HAS_FOCUS', f.id, f.label, f.title, n.created_at
  from pgmem.visible_node n join pgmem.visible_node f on f.seq = n.focus_seq
$function$;


-- The rows of the view lineage.
create or replace function pgmem.rows_of_lineage()
 RETURNS TABLE(newest_id uuid, newest_title text, age integer, id uuid, title text, rationale text, status text, project text, created_at timestamp with time zone, valid_to timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  with recursive line as (
    select n.seq as newest, n.seq, 0 as age from pgmem.visible_node n
    where n.label = 'Decision'
      and not exists (select from pgmem.visible_edge e where e.dst = n.seq and e.rel = 'SUPERSEDES')
      and exists (select from pgmem.visible_edge e where e.src = n.seq and e.rel = 'SUPERSEDES')
    union all
    select line.newest, e.dst, line.age + 1
    from line join pgmem.visible_edge e on e.src = line.seq and e.rel = 'SUPERSEDES'
  )
  select newest.id as newest_id, newest.title as newest_title, line.age, n.id, n.title,
         n.props ->> 'rationale' as rationale, n.status, n.project, n.created_at, n.valid_to
  from line join pgmem.visible_node newest on newest.seq = line.newest join pgmem.visible_node n on n.seq = line.seq
$function$;


-- The rows of the view memory.
create or replace function pgmem.rows_of_memory()
 RETURNS TABLE(id uuid, label text, name text, title text, summary text, properties jsonb, project text, scope text, focus text, status text, live boolean, confidence double precision, trust_level double precision, source text, agent_id text, session_id text, valid_from timestamp with time zone, valid_to timestamp with time zone, version integer, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select n.id, n.label, n.key as name, n.title,
         pgmem.excerpt(pgmem.search_text(n.label, n.title, n.props)) as summary, n.props as properties,
         n.project, n.scope, n.focus, n.status, pgmem.is_live(n.status, n.valid_from, n.valid_to)
           and (n.turns_at is null or n.turns_at > pgmem.now()
                or (select p.version = n.version and p.turns_at is null
                    from pgmem.present(row(n.*)::pgmem.node) p)) as live,
         pgmem.confidence(n.initial_confidence, n.label, n.instructs, n.updated_at) as confidence, n.trust_level, n.source, n.agent_id,
         n.session_id, n.valid_from, n.valid_to, n.version, n.org_id, n.user_id, n.created_at, n.updated_at,
         pgmem.author(n.seq, n.version, n.agent_id) as author
  from pgmem.visible_node n where pgmem.is_memory(n.label)
$function$;


-- The rows of the view memory_by_day.
create or replace function pgmem.rows_of_memory_by_day()
 RETURNS TABLE(day date, project text, label text, saved bigint, changed bigint, total bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  with memory as materialized (
    select n.seq, coalesce(n.project, '') as project, n.label::text, n.created_at::date as day
    from pgmem.told_memory n
    where n.status not in ('stub', 'draft', 'pending', 'captured', 'dismissed')
  ), event as (
    select m.project, m.label, m.day, 1 as saved, 0 as changed from memory m
    union all
    select m.project, m.label, v.replaced_at::date, 0, 1
    from memory m join pgmem.visible_version v on v.node_seq = m.seq
  ), sum as (
    select e.project, e.label, e.day, sum(e.saved) as saved, sum(e.changed) as changed
    from event e group by e.project, e.label, e.day
  ), span as (
    select s.project, s.label, min(s.day) as first from sum s group by s.project, s.label
  )
  select d.day::date, nullif(p.project, '') as project, p.label, coalesce(s.saved, 0)::bigint as saved,
         coalesce(s.changed, 0)::bigint as changed,
         (sum(coalesce(s.saved, 0)) over (partition by p.project, p.label order by d.day))::bigint as total
  from span p
  cross join lateral generate_series(p.first, pgmem.now()::date, interval '1 day') as d(day)
  left join sum s on s.project = p.project and s.label = p.label and s.day = d.day::date
$function$;


-- The rows of the view memory_change.
create or replace function pgmem.rows_of_memory_change()
 RETURNS TABLE(at timestamp with time zone, kind text, id uuid, label text, title text, version integer, status text, project text, source text, agent_id text, session_id text, changed_from jsonb)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select s.ingested_at as at, case when s.version = 1 then 'saved' else 'changed' end as kind, s.id, s.label, s.title,
         s.version, s.status, s.project, s.source, s.agent_id, s.session_id,
         pgmem.changed_from(s.seq, s.version, pgmem.state_parts(s.title, s.status, s.props)) as changed_from
  from pgmem.recorded_state s where pgmem.is_memory(s.label) and not pgmem.is_source_text(s.label)
$function$;


-- The rows of the view most_used.
create or replace function pgmem.rows_of_most_used()
 RETURNS TABLE(id uuid, label text, title text, project text, used integer, wrong integer, outdated integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select n.id, n.label, n.title, n.project, sum(u.used)::integer as used, sum(u.wrong)::integer as wrong,
         sum(u.outdated)::integer as outdated
  from pgmem.usefulness u join pgmem.visible_node n on n.seq = u.node_seq
  where u.tenant = any ((select pgmem.visible_tenants())::text[])
  group by n.seq, n.id, n.label, n.title, n.project
  order by 5 desc, n.seq desc
$function$;


-- The rows of the view never_used.
create or replace function pgmem.rows_of_never_used()
 RETURNS TABLE(id uuid, label text, title text, project text, created_at timestamp with time zone, updated_at timestamp with time zone, watched_since timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  with recalled as materialized (
    select distinct m.id from pgmem.recall_event r cross join lateral unnest(r.memory_ids) as m(id)
    where r.tenant = any ((select pgmem.visible_tenants())::text[])
  )
  select n.id, n.label, n.title, n.project, n.created_at, n.updated_at,
         greatest(n.created_at, coalesce((
           select min(r.at) from pgmem.recall_event r where r.tenant = any ((select pgmem.visible_tenants())::text[])),
           pgmem.now())) as watched_since
  from pgmem.hygiene_node n
  where not exists (select from recalled r where r.id = n.id)
    and not exists (select from pgmem.usefulness u where u.node_seq = n.seq and u.used > 0
                    and u.tenant = any ((select pgmem.visible_tenants())::text[]))
  order by n.created_at, n.seq
$function$;


-- The rows of the view pattern.
create or replace function pgmem.rows_of_pattern()
 RETURNS TABLE(id uuid, trigger text, repeatable_steps text[], exclusions text[], last_validated_at timestamp with time zone, citation text[], project text, scope text, focus text, status text, valid_from timestamp with time zone, valid_to timestamp with time zone, source text, trust_level double precision, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$select n.id, n.props ->> 'trigger' as trigger, array(select jsonb_array_elements_text(n.props -> 'repeatable_steps')) as repeatable_steps, array(select jsonb_array_elements_text(n.props -> 'exclusions')) as exclusions, pgmem.validated_at((n.props ->> 'last_validated_at')::timestamptz, n.created_at, n.updated_at) as last_validated_at, array(select jsonb_array_elements_text(n.props -> 'citation')) as citation, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author from pgmem.visible_node n where n.label = 'Pattern'$function$;


-- The rows of the view project.
create or replace function pgmem.rows_of_project()
 RETURNS TABLE(id uuid, name text, last_hygiene_at timestamp with time zone, memories bigint, focus_areas text[], org_id text, user_id text, created_at timestamp with time zone, cards bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select p.id, p.key as name, (p.props ->> 'last_hygiene_at')::timestamptz as last_hygiene_at,
         (select count(*) from pgmem.told_memory n where n.project_seq = p.seq and n.status = 'active') as memories,
         array(select f.key::text from pgmem.visible_node f
               where f.project_seq = p.seq and f.label = 'FocusArea' order by f.key) as focus_areas,
         p.org_id, p.user_id, p.created_at,
         (select count(*) from pgmem.visible_node n
          where n.project_seq = p.seq and n.status = 'active'
            and n.label = any (array(select l.name from pgmem.label l where l.counted_in = 'cards'))) as cards
  from pgmem.visible_node p where p.label = 'Project' and p.status = 'active'
$function$;


-- The rows of the view recall.
create or replace function pgmem.rows_of_recall()
 RETURNS TABLE(at timestamp with time zone, session_id text, agent_id text, act text, by text, project text, memory_ids uuid[], tokens integer, user_id text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select r.at, r.session_id, r.agent_id, r.act, r.by, r.project, r.memory_ids, r.tokens,
         split_part(r.tenant, pgmem.tenant_of(), 2) as user_id
  from pgmem.recall_event r where r.tenant = any ((select pgmem.visible_tenants())::text[])
$function$;


-- The rows of the view save.
create or replace function pgmem.rows_of_save()
 RETURNS TABLE(save_id uuid, verb text, project text, status text, dedup_outcome text, artifact_id uuid, candidate_id uuid, message text, attempts integer, resolved_by text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select a.save_id, a.verb, a.project, a.status, a.dedup_outcome, a.artifact_id, a.candidate_id, a.message, a.attempts,
         a.resolved_by, a.org_id, a.user_id, a.created_at, a.updated_at
  from pgmem.visible_attempt a
$function$;


-- The rows of the view session.
create or replace function pgmem.rows_of_session()
 RETURNS TABLE(id uuid, objective text, actions_taken text[], decisions_made text[], open_items text[], next_actions text[], produced bigint, citation text[], project text, scope text, focus text, status text, valid_from timestamp with time zone, valid_to timestamp with time zone, source text, trust_level double precision, agent_id text, org_id text, user_id text, created_at timestamp with time zone, updated_at timestamp with time zone, author text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$select n.id, n.props ->> 'objective' as objective, array(select jsonb_array_elements_text(n.props -> 'actions_taken')) as actions_taken, array(select jsonb_array_elements_text(n.props -> 'decisions_made')) as decisions_made, array(select jsonb_array_elements_text(n.props -> 'open_items')) as open_items, array(select jsonb_array_elements_text(n.props -> 'next_actions')) as next_actions, (select count(*) from pgmem.visible_edge e where e.src = n.seq and e.rel = 'PRODUCED') as produced, array(select jsonb_array_elements_text(n.props -> 'citation')) as citation, n.project, n.scope, n.focus, n.status, n.valid_from, n.valid_to, n.source, n.trust_level, n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at, pgmem.author(n.seq, n.version, n.agent_id) as author from pgmem.visible_node n where n.label = 'Session'$function$;


-- The rows of the view trial.
create or replace function pgmem.rows_of_trial()
 RETURNS TABLE(session_id text, project text, arm text, begun_at timestamp with time zone, prompts integer, tokens bigint, failed integer, repeated integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select t.session_id, t.project, t.arm, t.begun_at, t.prompts, t.tokens, t.failed, t.repeated
  from pgmem.trial_session t where t.tenant = any ((select pgmem.visible_tenants())::text[])
$function$;


-- The rows of the view turn.
create or replace function pgmem.rows_of_turn()
 RETURNS TABLE(id uuid, session_id text, place integer, role text, content text, said_at timestamp with time zone, client text, agent text, project text, trust_level double precision, org_id text, user_id text, captured_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET client_min_messages TO 'notice'
AS $function$
  select n.id, n.session_id, n.session_place as place, n.props ->> 'role' as role, n.props ->> 'content' as content,
         n.valid_from as said_at, n.props ->> 'client' as client, n.props ->> 'agent' as agent, n.project,
         n.trust_level, n.org_id, n.user_id, n.created_at as captured_at
  from pgmem.visible_node n where pgmem.is_source_text(n.label) and n.status = 'captured'
$function$;


-- Save a free piece of context under a topic; every call stores a new memory.
create or replace function pgmem.save_context(p_content text, p_project_id text, p_topic text DEFAULT NULL::text, p_scope pgmem.scope_name DEFAULT 'project'::text, p_focus text DEFAULT NULL::text, p_relevance_score pgmem.relevance DEFAULT 1.0, p_governance_token text DEFAULT NULL::text, p_save_id uuid DEFAULT NULL::uuid, p_share pgmem.sharing DEFAULT NULL::text, p_citation text[] DEFAULT NULL::text[], p_valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_valid_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_embedding real[] DEFAULT NULL::real[], p_embedding_model text DEFAULT NULL::text, p_embedding_text_hash text DEFAULT NULL::text)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, YMD'
 SET "IntervalStyle" TO 'postgres'
 SET extra_float_digits TO '1'
 SET bytea_output TO 'hex'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET row_security TO 'on'
 SET client_min_messages TO 'notice'
AS $function$
begin
  return pgmem.run_save('save_context', jsonb_strip_nulls(jsonb_build_object(
    'content', p_content, 'project_id', p_project_id, 'topic', p_topic, 'scope', p_scope, 'focus', p_focus, 'relevance_score', p_relevance_score, 'share', p_share, 'citation', p_citation, 'valid_from', p_valid_from, 'valid_to', p_valid_to)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$function$;


-- Save a decision: skip a repeat, supersede a near title, or hand a doubtful one to a reviewer.
create or replace function pgmem.save_decision(p_title text, p_rationale text, p_project_id text, p_owner text DEFAULT NULL::text, p_date date DEFAULT NULL::date, p_scope pgmem.scope_name DEFAULT 'project'::text, p_focus text DEFAULT NULL::text, p_confidence pgmem.confidence DEFAULT 1.0, p_supersedes text DEFAULT NULL::text, p_beside text DEFAULT NULL::text, p_citation text[] DEFAULT NULL::text[], p_valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_valid_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_governance_token text DEFAULT NULL::text, p_save_id uuid DEFAULT NULL::uuid, p_share pgmem.sharing DEFAULT NULL::text, p_embedding real[] DEFAULT NULL::real[], p_embedding_model text DEFAULT NULL::text, p_embedding_text_hash text DEFAULT NULL::text)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, YMD'
 SET "IntervalStyle" TO 'postgres'
 SET extra_float_digits TO '1'
 SET bytea_output TO 'hex'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET row_security TO 'on'
 SET client_min_messages TO 'notice'
AS $function$
begin
  return pgmem.run_save('save_decision', jsonb_strip_nulls(jsonb_build_object(
    'title', p_title, 'rationale', p_rationale, 'project_id', p_project_id, 'owner', p_owner, 'date', p_date, 'scope', p_scope, 'focus', p_focus, 'confidence', p_confidence, 'supersedes', p_supersedes, 'beside', p_beside, 'citation', p_citation, 'valid_from', p_valid_from, 'valid_to', p_valid_to, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$function$;


-- Save a repeatable way of working: when it applies and its steps.
create or replace function pgmem.save_pattern(p_trigger text, p_repeatable_steps text[], p_project_id text, p_exclusions text[] DEFAULT '{}'::text[], p_scope pgmem.scope_name DEFAULT 'project'::text, p_last_validated_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_governance_token text DEFAULT NULL::text, p_save_id uuid DEFAULT NULL::uuid, p_focus text DEFAULT NULL::text, p_citation text[] DEFAULT NULL::text[], p_valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_valid_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_share pgmem.sharing DEFAULT NULL::text, p_embedding real[] DEFAULT NULL::real[], p_embedding_model text DEFAULT NULL::text, p_embedding_text_hash text DEFAULT NULL::text)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, YMD'
 SET "IntervalStyle" TO 'postgres'
 SET extra_float_digits TO '1'
 SET bytea_output TO 'hex'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET row_security TO 'on'
 SET client_min_messages TO 'notice'
AS $function$
begin
  return pgmem.run_save('save_pattern', jsonb_strip_nulls(jsonb_build_object(
    'trigger', p_trigger, 'repeatable_steps', p_repeatable_steps, 'project_id', p_project_id, 'exclusions', p_exclusions, 'scope', p_scope, 'last_validated_at', p_last_validated_at, 'focus', p_focus, 'citation', p_citation, 'valid_from', p_valid_from, 'valid_to', p_valid_to, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$function$;


-- Save what a session did and what is open; this save alone creates its project.
create or replace function pgmem.save_session(p_objective text, p_project_id text, p_actions_taken text[] DEFAULT '{}'::text[], p_decisions_made text[] DEFAULT '{}'::text[], p_open_items text[] DEFAULT '{}'::text[], p_next_actions text[] DEFAULT '{}'::text[], p_focus text DEFAULT NULL::text, p_scope pgmem.scope_name DEFAULT 'project'::text, p_citation text[] DEFAULT NULL::text[], p_valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_valid_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_governance_token text DEFAULT NULL::text, p_save_id uuid DEFAULT NULL::uuid, p_share pgmem.sharing DEFAULT NULL::text, p_embedding real[] DEFAULT NULL::real[], p_embedding_model text DEFAULT NULL::text, p_embedding_text_hash text DEFAULT NULL::text)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, YMD'
 SET "IntervalStyle" TO 'postgres'
 SET extra_float_digits TO '1'
 SET bytea_output TO 'hex'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET row_security TO 'on'
 SET client_min_messages TO 'notice'
AS $function$
begin
  return pgmem.run_save('save_session', jsonb_strip_nulls(jsonb_build_object(
    'objective', p_objective, 'project_id', p_project_id, 'actions_taken', p_actions_taken, 'decisions_made', p_decisions_made, 'open_items', p_open_items, 'next_actions', p_next_actions, 'focus', p_focus, 'scope', p_scope, 'citation', p_citation, 'valid_from', p_valid_from, 'valid_to', p_valid_to, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$function$;


-- Under which numbers a project counts the labels of a list that have counts for themselves.
create or replace function pgmem.scopes_apart(p_labels text[], p_project_seq bigint)
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (('{}'::bigint[] ||
         CASE
             WHEN ('Card'::text = ANY (p_labels)) THEN ARRAY[pgmem.scope_number(1, p_project_seq)]
             ELSE NULL::bigint[]
         END) ||
         CASE
             WHEN ('Turn'::text = ANY (p_labels)) THEN ARRAY[pgmem.scope_number(2, p_project_seq)]
             ELSE NULL::bigint[]
         END);
END;


-- A new Session with the arguments of a save, each checked and cleaned.
create or replace function pgmem.session_of(p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller)
 RETURNS pgmem.node
 LANGUAGE plpgsql
AS $function$
declare
  v_node  pgmem.node;
  v_title text;
  v_key   text;
  v_props jsonb := jsonb_strip_nulls(jsonb_build_object(
    'objective', pgmem.clean_text(p_arguments ->> 'objective', 'objective', true),
    'actions_taken', pgmem.clean_texts(p_arguments -> 'actions_taken', 'actions_taken', false),
    'decisions_made', pgmem.clean_texts(p_arguments -> 'decisions_made', 'decisions_made', false),
    'open_items', pgmem.clean_texts(p_arguments -> 'open_items', 'open_items', false),
    'next_actions', pgmem.clean_texts(p_arguments -> 'next_actions', 'next_actions', false),
    'citation', case when p_arguments ? 'citation' then nullif(pgmem.clean_texts(p_arguments -> 'citation', 'citation', false), '[]') end));
begin
  v_node := pgmem.place_node('Session', p_arguments, p_scope, p_caller);
  v_node.key := v_key;
  v_node.title := pgmem.excerpt(coalesce(v_props ->> 'objective'));
  v_node.props := v_props || pgmem.source_of(p_arguments);
  v_node.valid_from := case when p_arguments ? 'valid_from' then pgmem.argument_time(p_arguments, 'valid_from') end;
  v_node.valid_to := case when p_arguments ? 'valid_to' then pgmem.argument_time(p_arguments, 'valid_to') end;
  if v_node.valid_to is not null then
    perform pgmem.require_period(v_node.valid_from, v_node.valid_to);
  end if;
  v_node.content_hash := pgmem.memory_hash('Session', v_node.title, v_node.props);
  return v_node;
end;
$function$;


-- Store one memory behind the scope gate. Called inside a savepoint: a refusal is an error until save_error reads it.
create or replace function pgmem.store(p_verb text, p_arguments jsonb, p_scope pgmem.scope_state, p_caller pgmem.caller, p_embedding pgmem.given_embedding DEFAULT NULL::pgmem.given_embedding, p_review text DEFAULT NULL::text, p_superseded_id uuid DEFAULT NULL::uuid)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
AS $function$
declare
  v_steers text;
  v_result pgmem.save_result;
begin
  if not p_scope.write_permitted then
    perform pgmem.refuse('blocked_scope', pgmem.scope_trouble(p_scope), pgmem.blocked_step(p_scope));
  end if;
  v_steers := case when p_review is null then pgmem.steers(p_arguments, p_caller) end;
  if v_steers is not null then
    perform pgmem.refuse('failed', format('The text steers agents (%s): a person decides whether it is stored.', v_steers),
      pgmem.review_step(), 'manual_review');
  end if;
  case p_verb
    when 'save_context' then v_result := pgmem.store_node(pgmem.context_of(p_arguments, p_scope, p_caller), p_embedding, 'new');
    when 'save_decision' then v_result := pgmem.store_decision(pgmem.decision_of(p_arguments, p_scope, p_caller), p_arguments, p_scope, p_caller, p_embedding, p_review, p_superseded_id);
    when 'upsert_entity' then v_result := pgmem.store_entity(pgmem.entity_fact_of(p_arguments, p_scope, p_caller), p_arguments, p_scope, p_caller, p_embedding, p_review, p_superseded_id);
    when 'save_pattern' then v_result := pgmem.store_node(pgmem.pattern_of(p_arguments, p_scope, p_caller), p_embedding, 'new');
    when 'save_session' then v_result := pgmem.store_node(pgmem.session_of(p_arguments, p_scope, p_caller), p_embedding, null);
  end case;
  if p_caller.session_id is not null then
    perform pgmem.link_session(p_caller, v_result.artifact_id);
  end if;
  return v_result;
end;
$function$;


-- Save the present fact about a named entity; the earlier fact stays in its history.
create or replace function pgmem.upsert_entity(p_entity_name text, p_fact text, p_project_id text, p_related_entities pgmem.related_entities DEFAULT '[]'::jsonb, p_scope pgmem.scope_name DEFAULT 'project'::text, p_focus text DEFAULT NULL::text, p_about text DEFAULT NULL::text, p_aliases text[] DEFAULT '{}'::text[], p_citation text[] DEFAULT NULL::text[], p_valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_valid_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_governance_token text DEFAULT NULL::text, p_save_id uuid DEFAULT NULL::uuid, p_share pgmem.sharing DEFAULT NULL::text, p_embedding real[] DEFAULT NULL::real[], p_embedding_model text DEFAULT NULL::text, p_embedding_text_hash text DEFAULT NULL::text)
 RETURNS pgmem.save_result
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pgmem', 'pg_temp'
 SET standard_conforming_strings TO 'on'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, YMD'
 SET "IntervalStyle" TO 'postgres'
 SET extra_float_digits TO '1'
 SET bytea_output TO 'hex'
 SET array_nulls TO 'on'
 SET transform_null_equals TO 'off'
 SET quote_all_identifiers TO 'off'
 SET row_security TO 'on'
 SET client_min_messages TO 'notice'
AS $function$
begin
  return pgmem.run_save('upsert_entity', jsonb_strip_nulls(jsonb_build_object(
    'entity_name', p_entity_name, 'fact', p_fact, 'project_id', p_project_id, 'related_entities', p_related_entities, 'scope', p_scope, 'focus', p_focus, 'about', p_about, 'aliases', p_aliases, 'citation', p_citation, 'valid_from', p_valid_from, 'valid_to', p_valid_to, 'share', p_share)),
    p_save_id, p_governance_token, (p_embedding, p_embedding_model, p_embedding_text_hash)::pgmem.given_embedding);
end;
$function$;
