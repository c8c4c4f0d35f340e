"""The PostgreSQL that pip brings: start and stop, its account, backups."""
