create or replace function pgmem.is_memory(p_label text) returns boolean
language sql immutable parallel safe
begin atomic
  -- The infrastructure of the registry; a node that remember made without a project is a memory like any other.
  select p_label not in ('Project', 'FocusArea', 'GlobalScope', 'GovernanceToken');
end;
comment on function pgmem.is_memory(text) is 'Whether nodes of a label are searched: all but those that hold memories together.';
