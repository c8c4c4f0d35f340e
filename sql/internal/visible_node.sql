create or replace view pgmem.visible_node as
select n.* from pgmem.node n where n.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_node is 'The nodes whose tenant the caller may see: the one way by which verbs read.';
