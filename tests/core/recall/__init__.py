"""Memories brought to agents, and their verdicts."""
