"""Several stores, the cells, behind one front: the directory of organisations, their moves, and checks of all cells."""

COMMANDS = {"cells": ("Tenants and tokens", "commands:app", "token")}
FRONTS = "examination:of_front"
