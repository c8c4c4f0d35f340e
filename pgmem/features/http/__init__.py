"""MCP over HTTP: tokens, connections, turns of tenants."""

NEEDS = ("feed", "ui")
TRANSPORTS = {"http": "listening:listen"}
