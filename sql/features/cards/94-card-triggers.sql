-- Triggers of cards
--
-- The subjects of a card carry its status and weight, and the state of a project's cards changes with every card, whatever
-- makes it: a save, a revert, a merge, an adoption. Their functions are in 68-cards.
--
-- Locks: an install locks node and edge against writers, so this chapter runs only where its text has changed.


create or replace trigger card_made_or_changed after insert or update on pgmem.node
  for each row when (new.label = 'Card') execute function pgmem.card_changed();
create or replace trigger card_gone after delete on pgmem.node
  for each row when (old.label = 'Card') execute function pgmem.card_changed();
create or replace trigger card_link_made after insert on pgmem.edge
  for each row when (new.rel in ('CONTRADICTS', 'SUPERSEDES')) execute function pgmem.card_link_changed();
create or replace trigger card_link_gone after delete on pgmem.edge
  for each row when (old.rel in ('CONTRADICTS', 'SUPERSEDES')) execute function pgmem.card_link_changed();
