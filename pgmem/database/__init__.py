"""Access to PostgreSQL: connections and calls, install and upgrade, the embedded server, backups and the outbox."""
