-- Sources: the grounds of a memory
--
-- The turn that an extraction proved it by (quote and turn, 78-extraction-proof), the evidence of a card, and the list
-- in its property citation: a turn or another memory by id, a URL, a file (path, path:3-9, path@commit), a ticket.
--
-- FRESH, the source still says the same; STALE, it has changed; GONE, it is no more; UNCHECKABLE, it cannot be
-- determined. Turns and memories are compared where get_sources is called and, for the ranking of a search, once a day
-- by sweep; files by a process that has the repository (pgmem/features/cards/citations.py), which records the answer of git.
-- Reading a source confirms nothing: no time of the memory changes.
--
-- Locks: check_sources the nodes that it checks, against their removal; record_sources none.


select pgmem.declare_answer('source_answer', $$
One source of a memory, and its state.

class Source
kind turn|memory|file|url|ticket: Its kind.
target text: The id, path, address or ticket.
state FRESH|STALE|GONE|UNCHECKABLE: Whether it says still what the memory rests on.
checked_at timestamptz?: When the state was found; null: it was not checked.
quote text?: The words that the memory rests on.
first_character integer?: Where the quote begins in the turn, from 1 on; spaces count as one.
last_character integer?: Where it ends.
said text?: The turn, or the text of the other memory.
$$);

create or replace function pgmem.source_kind(p_target text) returns text
language sql immutable parallel safe
begin atomic
  select case when p_target ~* '^https?://' then 'url' when p_target ~ '^[A-Za-z]*[-#][0-9]+$' then 'ticket' else 'file' end;
end;
comment on function pgmem.source_kind is 'The kind of a source other than an id: url, ticket or file.';


create or replace function pgmem.sources_of(p_node pgmem.node, p_tenants text[]) returns setof pgmem.source_answer
language sql stable set search_path = pgmem, pg_temp as $$
  select case when pgmem.is_source_text(l.label) or l.quote is not null then 'turn' when pgmem.is_uuid(l.target) then 'memory'
           else pgmem.source_kind(l.target) end,
         l.target,
         case when not pgmem.is_uuid(l.target) then coalesce(k.state, 'UNCHECKABLE') when l.seq is null then 'GONE'
           when pgmem.is_source_text(l.label) then case when l.status <> 'captured' then 'GONE'
             when l.quote is not null and l.begins = 0 then 'STALE' else 'FRESH' end
           when pgmem.is_live(l.status, l.valid_from, l.valid_to) then 'FRESH' else 'STALE' end,
         case when pgmem.is_uuid(l.target) then pgmem.now() else k.checked_at end, l.quote,
         nullif(l.begins, 0), case when l.begins > 0 then l.begins + l.long - 1 end, l.said
  from (
    select c.*, n.seq, n.label, n.status, n.valid_from, n.valid_to, s.said,
           case when c.quote is not null and s.said is not null
             then pgmem.quote_place(btrim(regexp_replace(c.quote, '\s+', ' ', 'g')), s.said) end as begins,
           length(btrim(regexp_replace(c.quote, '\s+', ' ', 'g'))) as long
    from pgmem.cited((p_node).props) c
    left join pgmem.node n on n.id = case when pgmem.is_uuid(c.target) then c.target::uuid end and n.tenant = any (p_tenants)
    cross join lateral (
      select case when pgmem.is_source_text(n.label) then regexp_replace(n.props ->> 'content', '\s+', ' ', 'g')
        when n.seq is not null then pgmem.search_text(n.label, n.title, n.props) end as said) s) l
  left join pgmem.source_check k on k.node_seq = (p_node).seq and k.target = l.target
  order by l.place;
$$;
comment on function pgmem.sources_of is
  'The sources that a memory names, with their states: turns and memories of some tenants now, others as last checked.';


create or replace function pgmem.get_sources(
  p_id uuid
) returns setof pgmem.source_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_node   pgmem.node := pgmem.require_memory(p_id);
  v_others name := (select l.sources_by from pgmem.label l where l.name = v_node.label);
begin
  return query select * from pgmem.sources_of(v_node, pgmem.visible_tenants());
  if v_others is not null then
    return query execute format('select * from pgmem.%I($1)', v_others) using v_node.seq;
  end if;
end;
$$;
comment on function pgmem.get_sources is $$
The sources of a memory, each with its state.

They are the turn with the quote, the evidence of a card, and the list in its property citation. Whether a turn or a
memory still supports the memory is found at the call; of a file checked_at says when it was compared. Reading
confirms nothing.

id: Its id.

MemoryNotFound: no memory with this id is visible here.
$$;
select pgmem.declare_verb('get_sources', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Source]',
  p_toolset => 'quality', p_description => 'Sources of a memory; each FRESH, STALE, GONE or UNCHECKABLE.');


-- A part of sweep: the result of sources_of for turns and memories, once a day, for the tenants that the memory is seen with.
create or replace function pgmem.check_sources(p_limit integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_checked integer;
begin
  with due as materialized (
    select n.* from pgmem.node n
    where (n.props ? 'citation' or n.props ? 'turn') and pgmem.is_memory(n.label) and pgmem.is_live_status(n.status)
      and exists (
        select from pgmem.cited(n.props) c
        where pgmem.is_uuid(c.target) and not exists (
          select from pgmem.source_check k
          where k.node_seq = n.seq and k.target = c.target and k.checked_at > pgmem.now() - interval '1 day'))
    order by n.seq limit p_limit for key share skip locked
  ), written as (
    insert into pgmem.source_check (node_seq, target, state, checked_at)
    select distinct on (d.seq, s.target) d.seq, s.target, s.state, s.checked_at
    from due d
    cross join lateral pgmem.sources_of(row(d.*)::pgmem.node,
      array[d.tenant, pgmem.tenant_of(d.org_id), pgmem.tenant_of()]) s
    where pgmem.is_uuid(s.target) order by d.seq, s.target, s.state = 'FRESH'
    on conflict (node_seq, target) do update set state = excluded.state, checked_at = excluded.checked_at
  )
  select count(*) into v_checked from due;
  return v_checked;
end;
$$;
comment on function pgmem.check_sources is
  'Check the turns and memories that live memories rest on and that were not checked for a day; how many memories.';


select pgmem.declare_answer('cited_file', $$
A file that a memory rests on: path, path:3-9, path@commit or path:3-9@commit.

`since` is when the memory was last changed: without a commit it rests on the file as it was then.

id uuid, target text, since timestamptz
$$);

create or replace function pgmem.list_cited_files(
  p_project_id text,
  p_limit pgmem.row_limit default 500
) returns setof pgmem.cited_file
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  select n.id, c.target, n.updated_at::timestamptz
  from pgmem.node n
  cross join lateral pgmem.cited(n.props) c
  left join pgmem.source_check k on k.node_seq = n.seq and k.target = c.target
  where (n.props ? 'citation' or n.props ? 'turn') and n.project_seq = v_project and pgmem.is_live_status(n.status)
    and n.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id))
    and not pgmem.is_uuid(c.target) and pgmem.source_kind(c.target) = 'file'
  order by k.checked_at nulls first, n.seq, c.place limit p_limit;
end;
$$;
comment on function pgmem.list_cited_files is $$
List the files that memories of a project rest on, those that were not checked for longest first.

project_id: The project.
$$;
select pgmem.declare_verb('list_cited_files', p_rights => 'writer', p_effect => 'look', p_answer => 'list[CitedFile]');


create or replace function pgmem.record_sources(
  p_project_id text,
  p_states jsonb
) returns integer
language plpgsql security definer set search_path = pgmem, pg_temp as $$
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_project bigint := pgmem.find_project(p_project_id);
  v_written integer;
begin
  perform pgmem.require_objects(p_states, 'states', '[{"id": "…", "target": "src/a.py", "state": "FRESH"}]');
  insert into pgmem.source_check (node_seq, target, state, checked_at)
  select distinct on (n.seq, s.target) n.seq, s.target, s.state, pgmem.now()
  from jsonb_to_recordset(p_states)
    as s(id uuid, target text, state text)
  join pgmem.node n on n.id = s.id and n.project_seq = v_project
    and n.tenant in (v_caller.tenant, pgmem.tenant_of(v_caller.org_id))
  where pgmem.source_kind(s.target) = 'file' and not pgmem.is_uuid(s.target)
    and s.target in (select c.target from pgmem.cited(n.props) c)
    and pgmem.one_of('state', coalesce(s.state, 'nothing'), '{FRESH,STALE,GONE,UNCHECKABLE}')
  on conflict (node_seq, target) do update set state = excluded.state, checked_at = excluded.checked_at;
  get diagnostics v_written = row_count;
  return v_written;
end;
$$;
comment on function pgmem.record_sources is $$
Record the state of files that memories rest on; how many were recorded.

Only files that memories of the project name are recorded. The memories do not change.

project_id: The project.
states: Objects with id (of the memory), target and state: FRESH, STALE, GONE or UNCHECKABLE.

InvalidArgument: a state is another word.
$$;
select pgmem.declare_verb('record_sources', p_rights => 'writer', p_effect => 'repeat', p_answer => 'int');
