-- security definer: clients hold no rights on tables.
create or replace function pgmem.search_terms(p_query text, p_project_id text default null, out text_to_embed text, out names text[])
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_name   text;
begin
  names := pgmem.names_in(coalesce(p_query, ''), v_caller.tenants, v_scope.project_seq);
  text_to_embed := p_query;
  foreach v_name in array names loop
    text_to_embed := regexp_replace(text_to_embed, '\m' || regexp_replace(v_name, '([.*+?^${}()|\[\]\\])', '\\\1', 'g') || '(''s)?\M', '', 'gi');
  end loop;
  -- A model ranks texts that merely mention a name; the graph matches names exactly.
  if pgmem.normalize(text_to_embed) = '' then
    text_to_embed := p_query;
  end if;
end;
$$;
comment on function pgmem.search_terms(text, text) is
  'What of a query to embed: without the names of writers and entities, which the graph matches instead.';
