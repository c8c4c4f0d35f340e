create or replace function pgmem.require_label(p_label text) returns pgmem.label
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_label pgmem.label;
begin
  select * into v_label from pgmem.label where name = p_label;
  if v_label.name is null then
    raise exception using errcode = 'PM001', message = format('Unknown label %s. Known: %s.', quote_literal(left(p_label, 80)),
      (select string_agg(name, ', ' order by name) from pgmem.label));
  end if;
  return v_label;
end;
$$;
comment on function pgmem.require_label(text) is 'A label of the registry; an unknown one is an error that lists them.';
