-- Grants
--
-- The rights of 97-roles, granted again at the end of every install, because the chapters before have made functions
-- that public may run until then. Locks: none. Callers: every install.


select pgmem.grant_rights();
