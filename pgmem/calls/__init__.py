"""Calls: a method calls the SQL verb of the same name. The rules are in `sql/`."""
