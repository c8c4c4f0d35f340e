"""MCP over HTTP: tokens, connections, turns of tenants."""
