"""Servers of other people: root file systems with a distribution's PostgreSQL, and one as a managed service sets it up."""
