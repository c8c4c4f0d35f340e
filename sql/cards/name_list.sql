create or replace function pgmem.name_list(p_names text[], p_length integer default 120) returns text
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
declare
  v_list text := p_names[1];
  v_n    integer := 1;
begin
  while v_n < cardinality(p_names) and length(v_list) + length(p_names[v_n + 1]) + 2 <= p_length loop
    v_n := v_n + 1;
    v_list := v_list || ', ' || p_names[v_n];
  end loop;
  return v_list || case when v_n < cardinality(p_names) then format(' and %s more', cardinality(p_names) - v_n) else '' end;
end;
$$;
comment on function pgmem.name_list(text[], integer) is 'The first names of a list as far as they fit, and how many more there are.';
