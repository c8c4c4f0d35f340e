-- A client may run verbs and nothing else. Verbs are the security definer functions; the rest is called by them.
revoke all on all functions in schema pgmem from public;
revoke all on all tables in schema pgmem from public;
