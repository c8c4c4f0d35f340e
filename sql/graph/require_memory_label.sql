create or replace function pgmem.require_memory_label(p_label text) returns pgmem.label
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_label pgmem.label := pgmem.require_label(p_label);
begin
  if v_label.verb is not null or v_label.key_field is null then
    raise exception using errcode = 'PM001', message = format('A %s is written by %s, not by remember. Remember takes: %s.', p_label,
      coalesce(v_label.verb, 'a verb of its own'),
      (select string_agg(l.name, ', ' order by l.name) from pgmem.label l where l.verb is null and l.key_field is not null));
  end if;
  return v_label;
end;
$$;
comment on function pgmem.require_memory_label(text) is 'A label that remember writes; one with a verb of its own is an error that names the verb.';
