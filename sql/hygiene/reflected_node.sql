create or replace view pgmem.reflected_node as
select n.* from pgmem.visible_node n
where (n.status in ('active', 'approved') and (n.valid_from is null or n.valid_from <= pgmem.now())
       and (n.valid_to is null or n.valid_to >= pgmem.now()) or n.status = 'stub')
  and pgmem.is_memory(n.label) and n.label not in ('Insight', 'Card');
comment on view pgmem.reflected_node is 'What reflection looks at: live memories and stubs, without insights and engineering cards.';
