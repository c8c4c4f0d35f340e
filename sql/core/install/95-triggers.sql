-- Triggers
--
-- These keep in step with every change of a node or an edge, whatever makes it: versions and their numbers, the index
-- of title words, and the feed of changes. Their functions are in their chapters. A feature has a chapter of triggers of its
-- own; those of the graph are written by 91-projection.
--
-- Locks: an install locks node and edge against writers, so this chapter runs only where its text has changed.


create or replace trigger number_version before update on pgmem.node
  for each row execute function pgmem.number_version();
create or replace trigger record_version after update on pgmem.node referencing old table as old_rows
  for each statement execute function pgmem.record_version();
create or replace trigger title_changed after update on pgmem.node
  for each row when (old.status = 'active' and old.title_tokens is not null
    and (new.status <> 'active' or new.title_tokens is distinct from old.title_tokens))
  execute function pgmem.unindex_title();
create or replace trigger title_gone after delete on pgmem.node
  for each row when (old.status = 'active' and old.title_tokens is not null) execute function pgmem.unindex_title();
-- The feed. An update enters it with the version (record_version).
create or replace trigger node_made after insert on pgmem.node
  for each row when (new.label not in ('GlobalScope', 'GovernanceToken')) execute function pgmem.record_made();
create or replace trigger node_gone after delete on pgmem.node
  for each row when (old.label <> 'GovernanceToken') execute function pgmem.record_gone();
create or replace trigger edge_made_or_gone after insert or delete on pgmem.edge
  for each row execute function pgmem.record_edge();
create or replace trigger review_held after insert on pgmem.save_attempt
  for each row when (new.dedup_outcome = 'manual_review') execute function pgmem.record_review();
create or replace trigger review_decided after update on pgmem.save_attempt
  for each row when (old.dedup_outcome = 'manual_review' and old.status <> new.status)
  execute function pgmem.record_review();
