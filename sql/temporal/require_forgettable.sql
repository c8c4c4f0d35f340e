create or replace function pgmem.require_forgettable(p_node pgmem.node, p_caller pgmem.caller) returns void
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
begin
  if (select l.kind from pgmem.label l where l.name = p_node.label) <> 'memory' then
    raise exception using errcode = 'PM011', message = format('A %s holds memories together; forget those, not it. A whole tenant goes '
      'by erase_subject.', p_node.label);
  end if;
  -- Agents draft cards, people decide them: neither forgetting one nor bringing an earlier state back goes round that.
  if p_node.label = 'Card' then
    raise exception using errcode = 'PM011', message = 'A Card is decided by a person: approve_card, reject_card, archive_card (pgmem cards).';
  end if;
  perform pgmem.require_own(p_node, p_caller);
end;
$$;
comment on function pgmem.require_forgettable(pgmem.node, pgmem.caller) is
  'An error unless a node is a memory of the caller''s or his organisation''s.';
