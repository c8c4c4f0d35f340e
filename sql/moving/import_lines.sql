create or replace function pgmem.import_lines(p_records jsonb, p_kind text) returns table (place integer, number integer, record jsonb)
language sql immutable
set search_path = pgmem, pg_temp
as $$
  select r.place::integer, row_number() over (order by r.place)::integer, r.value
  from jsonb_array_elements(p_records) with ordinality as r(value, place)
  where case
    when r.value ->> 'type' in ('label', 'relation', 'model') then 'vocabulary'
    when r.value ->> 'type' = 'node' then case when r.value ->> 'label' in ('Project', 'FocusArea') then r.value ->> 'label' else 'node' end
    when r.value ->> 'type' = 'edge' then 'edge'
    else 'rest' end = p_kind
  order by r.place;
$$;
comment on function pgmem.import_lines(jsonb, text) is 'The records of a batch of one kind, with their places in the batch and among their kind.';
