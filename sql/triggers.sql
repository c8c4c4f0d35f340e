create or replace trigger record_version before update on pgmem.node
  for each row execute function pgmem.record_version();
