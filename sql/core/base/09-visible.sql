-- Views of the rows a caller sees
--
-- Verbs run with the rights of the owner, so these views keep tenants apart: visible_node, visible_edge,
-- visible_version and visible_attempt hold the rows of the tenants that the caller sees, and verbs read through them.
-- A function that reads node itself compares the tenant with those that it looked up once, and its head names them.
--
-- live_node adds the rule of live memories (07-truth). recorded_state puts the present and the earlier states of nodes
-- together; reads of the past take them from it through states_at (40-time-travel). memory_state has the columns that
-- verbs return. The last four are the input of hygiene and reflection.
--
-- Locks: none. An upgrade drops and makes these views again only where their text changed.


create or replace view pgmem.visible_node as
select n.* from pgmem.node n where n.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_node is 'Internal: the nodes of the tenants that the caller sees; verbs read through it.';


create or replace view pgmem.live_node as
select n.* from pgmem.visible_node n
where pgmem.is_live(n.status, n.valid_from, n.valid_to) and (n.turns_at is null or n.turns_at > pgmem.now())
union all
select n.* from pgmem.turned_nodes((select pgmem.visible_tenants())::text[]) n;
comment on view pgmem.live_node is
  'Internal: the visible nodes that are live: a live status, and true now by valid_from and valid_to.';


create or replace view pgmem.visible_edge as
select e.* from pgmem.edge e
join pgmem.visible_node s on s.seq = e.src
join pgmem.visible_node d on d.seq = e.dst;
comment on view pgmem.visible_edge is 'Internal: the edges whose two ends the caller sees.';


create or replace view pgmem.open_conflict as
select e.seq, e.src, e.dst, e.created_at, a.id, a.label, a.title, a.project, a.project_seq,
       b.id as with_id, b.label as with_label, b.title as with_title, b.project as with_project,
       b.project_seq as with_project_seq,
       pgmem.said_by(a.source, a.trust_level) as by, pgmem.said_by(b.source, b.trust_level) as with_by
from pgmem.edge e join pgmem.live_node a on a.seq = e.src join pgmem.live_node b on b.seq = e.dst
where e.rel = 'CONFLICTS_WITH';
comment on view pgmem.open_conflict is 'Internal: the pairs of live memories that contradict each other.';


create or replace view pgmem.open_replacement as
select e.seq, e.src, e.dst, e.created_at, e.props, a.id, a.title, a.project, a.project_seq, a.agent_id, a.source, a.trust_level,
       b.id as old_id, b.title as old_title, b.agent_id as old_agent_id, b.source as old_source,
       b.trust_level as old_trust_level, coalesce((b.props ->> 'date')::date, b.created_at::date) as old_date
from pgmem.edge e join pgmem.visible_node a on a.seq = e.src join pgmem.visible_node b on b.seq = e.dst
where e.rel = 'SUPERSEDES' and e.props ? 'likeness' and a.status = 'active' and b.status = 'superseded';
comment on view pgmem.open_replacement is
  'Internal: the decisions that took the place of another one by the likeness of the titles alone, until somebody has decided.';


create or replace view pgmem.visible_version as
select v.* from pgmem.node_version as v where v.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_version is 'Internal: the earlier states of nodes that the caller sees.';


create or replace view pgmem.visible_attempt as
select a.* from pgmem.save_attempt a where a.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_attempt is
  'Internal: the saves of the tenants that the caller sees, with their outcome and next step.';


-- A state that another one replaced ends at ends_at for those who know that, at valid_to for those who do not. The states
-- of other periods than the present have replaced_at infinity too.
-- status as a text, as the versions have it: a condition on it reaches the indexes of node only where the types agree.
create or replace view pgmem.recorded_state as
select n.seq, n.id, n.label, n.key, n.title, n.props, n.status::text, n.scope, n.project, n.project_seq, n.focus,
       n.place, n.tenant, n.source, n.trust_level, n.initial_confidence, n.valid_from, n.valid_to, n.tsv,
       n.version, n.created_at, n.updated_at, n.recorded_at as ingested_at, 'infinity'::timestamptz as replaced_at,
       n.begins_at, n.valid_to as ends_at, n.agent_id, n.session_id, n.instructs,
       n.yields, n.told is null as latest
from pgmem.visible_node n
union all
select v.node_seq, n.id, v.label, v.key, v.title, v.props, v.status, v.scope, v.project, v.project_seq, v.focus,
       v.place, v.tenant, v.source, v.trust_level, v.initial_confidence, v.valid_from, v.valid_to, v.tsv,
       v.version, v.created_at, v.ingested_at, v.ingested_at, v.replaced_at,
       v.begins_at, v.ends_at, v.agent_id, null, false, v.yields, false
from pgmem.visible_version v join pgmem.visible_node n on n.seq = v.node_seq;
comment on view pgmem.recorded_state is
  'Internal: every recorded state of visible nodes with its effective period; the present one ends at infinity.';


-- A state that a person or another agent wrote later does not change who saved the memory first.
create or replace function pgmem.author(p_seq bigint, p_version integer, p_agent_id text) returns text
language sql stable set search_path = pgmem, pg_temp
return case when p_version = 1 then p_agent_id else (
  select v.agent_id from pgmem.node_version v where v.node_seq = p_seq order by v.version limit 1) end;
comment on function pgmem.author is 'The agent that saved the first state of a memory that is kept; null: it named none.';


create or replace view pgmem.memory_state as
select s.id, s.label, s.key, s.title, s.status, s.props as properties, s.project, s.scope, s.focus,
       s.valid_from, s.valid_to, pgmem.confidence(s.initial_confidence, s.label, s.instructs, s.updated_at) as confidence, s.trust_level,
       s.source, s.version, s.created_at, s.updated_at, s.ingested_at, s.agent_id, s.session_id,
       case when s.status = 'archived' then s.ingested_at end as archived_at,
       pgmem.said_by(s.source, s.trust_level) as by, pgmem.author(s.seq, s.version, s.agent_id) as author
from pgmem.recorded_state s;
comment on view pgmem.memory_state is
  'Internal: the states of visible nodes as get_node and find_memory return them; a node has one of each version.';


create or replace view pgmem.told_memory as
select n.* from pgmem.visible_node n where pgmem.is_memory(n.label) and not pgmem.is_derived(n.label);
comment on view pgmem.told_memory is
  'Internal: memories that agents and people saved, of every status; cards, insights and turns are counted apart.';


create or replace view pgmem.hygiene_node as
select n.* from pgmem.live_node n where pgmem.is_memory(n.label) and not pgmem.is_derived(n.label);
comment on view pgmem.hygiene_node is 'Internal: the nodes that hygiene and health look at: saved memories that are live.';


create or replace view pgmem.reflected_node as
select n.* from pgmem.visible_node n
where (pgmem.is_live(n.status, n.valid_from, n.valid_to) or n.status = 'stub')
  and pgmem.is_memory(n.label) and not pgmem.is_derived(n.label);
comment on view pgmem.reflected_node is
  'Internal: the nodes that reflection looks at: live memories and stubs, without insights and engineering cards.';


create or replace view pgmem.reflected_own as
select n.* from pgmem.reflected_node n where n.status <> 'stub' and n.tenant = (select c.tenant from pgmem.caller() c);
comment on view pgmem.reflected_own is 'Internal: those of them that are the caller''s own and more than a name.';


-- Provenance (PRODUCED, SUPERSEDES, MERGES_INTO) says nothing about the things themselves.
create or replace view pgmem.reflected_link as
select e.src as seq, e.rel, e.dst as other from pgmem.edge e
join pgmem.reflected_node s on s.seq = e.src join pgmem.reflected_node d on d.seq = e.dst
where e.rel not in ('PRODUCED', 'SUPERSEDES', 'MERGES_INTO')
union all
select e.dst, e.rel, e.src from pgmem.edge e
join pgmem.reflected_node s on s.seq = e.src join pgmem.reflected_node d on d.seq = e.dst
where e.rel not in ('PRODUCED', 'SUPERSEDES', 'MERGES_INTO');
comment on view pgmem.reflected_link is
  'Internal: every relation between memories that reflection looks at, seen from both ends.';
