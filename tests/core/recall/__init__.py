"""What was brought to agents and what came of it."""
