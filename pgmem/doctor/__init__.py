"""What is wrong, or could be better: of the database, of the settings, of the connected clients."""
