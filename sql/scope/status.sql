-- security definer: counts what the caller may see.
create or replace function pgmem.status(out server_version text, out release text, out tier text, out age_version text,
  out vector_version text, out walls integer, out nodes bigint, out edges bigint, out projects bigint, out memories jsonb,
  out saves_open bigint, out org_id text, out user_id text)
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  server_version := current_setting('server_version');
  release := (select v.release from pgmem.schema_version v);
  select t.tier, t.walls, t.age_version, t.vector_version into tier, walls, age_version, vector_version from pgmem.server_tier() t;
  nodes := (select count(*) from pgmem.visible_node);
  edges := (select count(*) from pgmem.visible_edge);
  projects := (select count(*) from pgmem.visible_node n where n.label = 'Project');
  memories := (select coalesce(jsonb_object_agg(m.label, m.count), '{}') from (
    select n.label, count(*) from pgmem.live_node n where n.scope is not null group by n.label) m);
  saves_open := (select count(*) from pgmem.visible_attempt a where a.status not in ('saved', 'dropped'));
  org_id := (pgmem.caller()).org_id;
  user_id := (pgmem.caller()).user_id;
end;
$$;
comment on function pgmem.status() is 'The server, the tier, the release and what the caller can see, in numbers.';
