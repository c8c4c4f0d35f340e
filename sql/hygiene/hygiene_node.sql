create or replace view pgmem.hygiene_node as
select n.* from pgmem.live_node n where pgmem.is_memory(n.label) and n.label <> 'Insight';
comment on view pgmem.hygiene_node is 'What hygiene looks at: live memories, without the insights that reflection wrote.';
