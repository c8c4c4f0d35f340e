create or replace view pgmem.visible_version as
select v.* from pgmem.node_version v where v.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_version is 'Earlier states of nodes, as far as the caller may see them.';
