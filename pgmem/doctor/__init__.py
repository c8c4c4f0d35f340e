"""Faults and possible improvements: of the database, the settings, the connected clients."""
