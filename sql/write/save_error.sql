create or replace function pgmem.save_error(p_sqlstate text, p_message text, p_detail text) returns pgmem.save_result
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select case
    when p_sqlstate = 'PM099' then jsonb_populate_record(null::pgmem.save_result, p_detail::jsonb)
    when p_sqlstate not like 'PM%' and p_sqlstate not in ('40P01', '40001', '55P03', '57014') then
      row('failed', null, null, null, case p_sqlstate
        when '54000' then 'Not saved: the texts are too long together (' || p_message || '); send shorter ones, or several memories.'
        else format('Not saved: %s (%s)', p_message, p_sqlstate) end, pgmem.next_step('failed'), null,
          false)::pgmem.save_result end;
$$;
comment on function pgmem.save_error(text, text, text) is
  'The result an error inside a save stands for; null for what must go up: unreadable arguments, and what may be retried whole.';
