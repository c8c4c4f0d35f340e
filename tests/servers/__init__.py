"""Servers of other people: root file systems with a distribution's PostgreSQL, and what a managed service makes of one."""
