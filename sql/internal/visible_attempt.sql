create or replace view pgmem.visible_attempt as
select a.* from pgmem.save_attempt a where a.tenant = any ((select pgmem.visible_tenants())::text[]);
comment on view pgmem.visible_attempt is 'Saves and what became of them, as far as the caller may see them.';
