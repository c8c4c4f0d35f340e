-- The state of the store
--
-- status counts the memories that the caller sees and names the server, the release and the tier. A server without AGE or
-- pgvector is a lower tier, not an error. isolation_layers is how many barriers separate tenants: 2
-- where the roles are made and row-level security holds (96-policies), else 1, the verbs alone.
--
-- wal_position is for a program with a replica: it compares where the primary and the replica are in the log.
--
-- Locks: none.


select pgmem.declare_answer('status', $$
The server, the tier, the release, and counts of what the caller can see.

server_version text, release text?, tier text, age_version text?, vector_version text?, isolation_layers integer
nodes bigint, edges bigint, projects bigint, memories {integer}, saves_open bigint, org_id text, user_id text
walls former_number
build text?: The state of pgmem within its release: the beginning of the digest of its SQL.
$$);

create or replace function pgmem.status() returns pgmem.status
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.status;
begin
  v_answer.server_version := current_setting('server_version');
  select v.release, left(v.digest, 8) into v_answer.release, v_answer.build from pgmem.schema_version v;
  select t.tier, t.isolation_layers, t.age_version, t.vector_version
  into v_answer.tier, v_answer.isolation_layers, v_answer.age_version, v_answer.vector_version
  from pgmem.server_tier() t;
  v_answer.walls := v_answer.isolation_layers;
  v_answer.nodes := (select count(*) from pgmem.visible_node);
  v_answer.edges := (select count(*) from pgmem.visible_edge);
  v_answer.projects := (select count(*) from pgmem.visible_node n where n.label = 'Project');
  v_answer.memories := (select coalesce(jsonb_object_agg(m.label, m.count), '{}') from (
    select n.label, count(*) from pgmem.live_node n where n.scope is not null group by n.label) m);
  v_answer.saves_open := (select count(*) from pgmem.visible_attempt a where a.status not in ('saved', 'dropped'));
  v_answer.org_id := (pgmem.caller()).org_id;
  v_answer.user_id := (pgmem.caller()).user_id;
  return v_answer;
end;
$$;
comment on function pgmem.status is $$
The server, the tier, the release and, the numbers of memories that the caller sees.
$$;
select pgmem.declare_verb('status', p_rights => 'reader', p_effect => 'read', p_answer => 'Status',
  p_reads_all => 'It counts all memories.');


create or replace function pgmem.server_tier(
  out tier text,
  out isolation_layers integer,
  out age_version text,
  out vector_version text
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  -- The extension alone does not count: enable_vector() makes no table for an older pgvector.
  v_vectors boolean := to_regclass('pgmem.embedding') is not null;
begin
  age_version := (select extversion from pg_extension where extname = 'age');
  vector_version := (select extversion from pg_extension where extname = 'vector');
  tier := case when age_version is not null and v_vectors then 'full'
               when age_version is not null then 'no pgvector'
               when v_vectors then 'no AGE' else 'full text only' end;
  isolation_layers := case (select n.nspowner from pg_namespace n where n.nspname = 'pgmem')
             when to_regrole('pgmem_owner') then 2 else 1 end;
end;
$$;
comment on function pgmem.server_tier is
  'The extensions that the server offers, and how many barriers separate tenants.';


select pgmem.declare_answer('wal_position_answer', $$
Which cluster and database this is, and how far its log is written or replayed.

system text, database text, recovering boolean, log_bytes bigint
$$);

-- A primary reports the last record inserted, so that no visible commit lies beyond it; a replica
-- reports the last record replayed.
create or replace function pgmem.wal_position() returns pgmem.wal_position_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.wal_position_answer;
begin
  v_answer.system := (select c.system_identifier::text from pg_control_system() c);
  v_answer.database := current_database();
  v_answer.recovering := pg_is_in_recovery();
  v_answer.log_bytes := case when v_answer.recovering then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end
    - '0/0'::pg_lsn;
  return v_answer;
end;
$$;
comment on function pgmem.wal_position is $$
The position of this server in the log, in bytes, and whether it is a replica.

Two positions can be compared where system (the cluster) and database are equal.
$$;
select pgmem.declare_verb('wal_position', p_rights => 'reader', p_effect => 'look', p_reach => 'cell');


-- A word of an agent takes effect at once: nobody need decide before the next agent is warned. A person's word keeps its
-- place, and is marked.
create or replace function pgmem.marked_wrong(p_items jsonb, p_tenants text[]) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  v_marks jsonb := (
    select jsonb_object_agg(n.id, (
      select max(e.at) from pgmem.recall_event e
      where e.memory_ids[1] = n.id and e.tenant = any (p_tenants) and e.act in ('wrong', 'outdated')))
    from jsonb_array_elements(p_items) as i(item)
    join pgmem.node n on n.id = (i.item ->> 'id')::uuid
    where (select sum(u.wrong + u.outdated - u.used) from pgmem.usefulness u
           where u.node_seq = n.seq and u.tenant = any (p_tenants)) > 0);
begin
  return case when v_marks is null then p_items else (
    select jsonb_agg(i.item || case when v_marks ? (i.item ->> 'id') then jsonb_build_object('wrong_at',
        coalesce(v_marks -> (i.item ->> 'id'), 'null')) else '{}' end
      order by v_marks ? (i.item ->> 'id') and i.item ->> 'by' is distinct from 'person', i.place)
    from jsonb_array_elements(p_items) with ordinality as i(item, place)) end;
end;
$$;
comment on function pgmem.marked_wrong is
  'Items with wrong_at, when an agent last named one wrong or outdated that it was not used more often since, after the others.';
