create or replace function pgmem.next_step(p_status text) returns text
language sql immutable parallel safe
begin atomic
  select case p_status
    when 'saved' then 'Saved. Run retrieve_context to confirm integration into scope.'
    when 'partial' then 'Some were not saved: look at the status of each.'
    when 'blocked_scope' then 'Call save_session with this project_id first: it creates the project.'
    else 'Run get_save_status to see what is not saved yet.' end;
end;
comment on function pgmem.next_step(text) is 'What an agent does next after a save of this status.';
