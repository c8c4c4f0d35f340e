"""Features, which can be left out: each is a folder that the core does not name, see pgmem/registry.py."""
