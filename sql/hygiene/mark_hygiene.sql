-- The one change that a report makes: a time on the project. record_version makes no version of it, as of any time alone, and
-- updated_at stays, because nothing about the project was told. Only projects of the caller's own and his organisation's.
create or replace function pgmem.mark_hygiene(p_project_seq bigint, p_caller pgmem.caller) returns void
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  update pgmem.node n set props = n.props || jsonb_build_object('last_hygiene_at', pgmem.now())
  from (select p.seq from pgmem.node p
        where p.label = 'Project' and p.status = 'active' and p.tenant in (p_caller.tenant, p_caller.org_id || e'\x1f')
          and (p_project_seq is null or p.seq = p_project_seq)
        order by p.seq for no key update) project
  where n.seq = project.seq;
end;
$$;
comment on function pgmem.mark_hygiene(bigint, pgmem.caller) is 'Note on a project, or on all of the caller''s, that a whole report was made.';
