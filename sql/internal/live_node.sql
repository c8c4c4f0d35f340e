create or replace view pgmem.live_node as
select n.* from pgmem.visible_node n
where n.status in ('active', 'approved') and (n.valid_from is null or n.valid_from <= pgmem.now())
  and (n.valid_to is null or n.valid_to >= pgmem.now());
comment on view pgmem.live_node is 'Visible and live: a live status of its label, and true now by valid_from and valid_to.';
