-- Again at the end of every install, for the functions that are written then.
select pgmem.grant_rights();
