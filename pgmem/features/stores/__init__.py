"""Stores: the storage of nodes and vectors, behind two protocols."""
