"""The only place that talks to PostgreSQL: install and upgrade, the pool, calls, the embedded server, the outbox."""
