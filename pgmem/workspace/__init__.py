"""The folder that an agent works in: its git repository, and the project that it belongs to."""
