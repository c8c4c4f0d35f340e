"""One thin class an engine: a method is one call of the SQL verb of the same name. The rules stand in `sql/`."""
