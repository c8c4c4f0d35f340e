"""What can be left out: each feature is a folder that the core does not name, see pgmem/registry.py."""
