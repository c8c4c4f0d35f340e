"""Doors into other systems: each has the shape that its system expects, and stores by the verbs. Each is an extra."""
