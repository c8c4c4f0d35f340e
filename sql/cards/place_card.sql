create or replace function pgmem.place_card(p_scope pgmem.scope_state, p_caller pgmem.caller, p_share text) returns pgmem.node
language sql
set search_path = pgmem, pg_temp
as $$
  select pgmem.place_node('Card', jsonb_strip_nulls(jsonb_build_object('scope', 'project', 'share', p_share)), p_scope, p_caller);
$$;
comment on function pgmem.place_card(pgmem.scope_state, pgmem.caller, text) is 'An empty card of a project, stamped with its tenant.';
