-- A person's verb. Locks: those of repair_pair.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.supersede(p_old text, p_new text, p_project_id text default null, p_by text default null,
  out id uuid, out title text, out status text, out version integer, out rel_type text, out into_id uuid, out into_title text,
  out into_version integer)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_pair record;
  v_old  pgmem.node;
  v_new  pgmem.node;
begin
  v_pair := pgmem.repair_pair('supersede', 'Decision', p_old, p_new, p_project_id);
  v_old := v_pair.gone;
  v_new := v_pair.stays;
  if exists (
      with recursive line(seq) as (
        select v_old.seq union select e.dst from line join pgmem.edge e on e.src = line.seq and e.rel = 'SUPERSEDES')
      select from line where line.seq = v_new.seq) then
    raise exception using errcode = 'PM011', message = format('%s was superseded by %s before: the line of decisions would run in a circle.',
      v_new.id, v_old.id);
  end if;
  perform pgmem.set_status(v_old.seq, 'superseded', pgmem.now());
  perform pgmem.insert_edge(v_new.seq, 'SUPERSEDES', v_old.seq, jsonb_strip_nulls(jsonb_build_object('by', pgmem.clean_key(p_by, 'by'))));
  select n.id, n.title, n.status, n.version into id, title, status, version from pgmem.visible_node n where n.seq = v_old.seq;
  rel_type := 'SUPERSEDES';
  into_id := v_new.id;
  into_title := v_new.title;
  into_version := v_new.version;
end;
$$;
comment on function pgmem.supersede is
  'Let one decision take the place of another, by hand: the old one becomes superseded and stays in the lineage; revert brings it back.';
