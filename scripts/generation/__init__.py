"""Generators of the files that CI compares with the catalog: methods, verb table, sql/README.md, reference."""
