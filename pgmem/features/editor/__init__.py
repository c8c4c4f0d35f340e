"""`pgmem hook`: called at the events of a session, so that memory comes and goes by itself."""

COMMANDS = {
    "connect": ("Serve", "commands:connect", "worker"),
    "hook": ("Serve", "commands:hook", "trust"),
    "surface": ("Find", "commands:surface", "history"),
}
EXAMPLES = {
    "connect": ("pgmem connect claude-code",),
    "surface": ("pgmem surface src/orders.py --project shop",),
}
CHECKS = ("checks:examine_clients",)
