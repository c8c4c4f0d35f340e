create or replace function pgmem.card_writer(p_caller pgmem.caller) returns text
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select coalesce((p_caller).agent_id, case (p_caller).source when 'cli' then 'human' when 'sql' then 'human' else 'agent' end);
$$;
comment on function pgmem.card_writer(pgmem.caller) is 'Who writes, as revisions and evidence name him: the agent''s id, agent, or human.';
