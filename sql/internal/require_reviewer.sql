create or replace function pgmem.require_reviewer(p_what text) returns void
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = format('%s is for people who keep the store: connect as its owner or a member of pgmem_reviewer.', p_what);
  end if;
end;
$$;
comment on function pgmem.require_reviewer(text) is 'An error unless the login owns the schema or is a member of pgmem_reviewer.';
