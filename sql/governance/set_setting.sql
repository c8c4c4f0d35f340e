-- Owner only: an agent never sets its own thresholds. security definer is not needed, the owner holds the rights.
create or replace function pgmem.set_setting(p_name text, p_value text, out name text, out value text, out description text)
language plpgsql
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
begin
  update pgmem.setting s set value = p_value where s.name = p_name
  returning s.name, s.value, s.description into name, value, description;
  if name is null then
    raise exception using errcode = 'PM001', message = format('Unknown setting %s. Known: %s.', quote_literal(left(p_name, 80)),
      (select string_agg(s.name, ', ' order by s.name) from pgmem.setting s));
  end if;
exception when check_violation or invalid_text_representation or numeric_value_out_of_range or undefined_object
  or syntax_error or invalid_name then
  raise exception using errcode = 'PM001', message = format('%s cannot be %s; it means: %s', p_name, quote_literal(left(p_value, 80)),
    (select s.description from pgmem.setting s where s.name = p_name));
end;
$$;
comment on function pgmem.set_setting(text, text) is 'Change a threshold or limit of this store; the owner''s right alone.';
