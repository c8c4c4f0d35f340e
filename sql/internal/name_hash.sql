-- As the index node_name has it; inlined where it is used.
create or replace function pgmem.name_hash(p_name text) returns bigint
language sql immutable parallel safe
begin atomic
  select hashtextextended(lower(translate(p_name, '-_', '  ')), 0);
end;
comment on function pgmem.name_hash(text) is 'What the index over names is asked for: case, hyphens and underscores do not count.';
