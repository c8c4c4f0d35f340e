"""What pgmem can do, measured: speed against a floor, retrieval against questions whose answers are known."""
