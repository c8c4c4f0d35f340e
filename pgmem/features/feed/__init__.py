"""The feed of changes: following it, and its readers: streams, webhooks, stores in step."""

COMMANDS = {
    "follow": ("Find", "commands:follow", "surface"),
    "sync": ("Store", "commands:sync", "export"),
}
SUBSCRIPTIONS = "subscriptions:Bus"
ROUNDS = ("rounds:other_store",)
BESIDE = ("rounds:webhooks",)
