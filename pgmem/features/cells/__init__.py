"""Several stores, the cells, behind one front: the directory of organisations, their moves, and checks of all cells."""
