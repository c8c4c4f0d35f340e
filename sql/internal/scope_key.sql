create or replace function pgmem.scope_key(p_tenant text, p_place text, p_label text) returns bigint
language sql immutable parallel safe
begin atomic
  select hashtextextended(p_tenant || e'\x1e' || coalesce(p_place, '') || e'\x1e' || p_label, 0);
end;
comment on function pgmem.scope_key(text, text, text) is
  'What locks, uniqueness and duplicate search are kept by: one number for (tenant, place, label).';
