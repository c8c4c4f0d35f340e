"""`pgmem hook`: what an editor or agent calls at the events of a session, so that memory comes and goes by itself."""
