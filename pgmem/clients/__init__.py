"""The clients that pgmem connects to: where each keeps its settings, and what pgmem puts there."""
