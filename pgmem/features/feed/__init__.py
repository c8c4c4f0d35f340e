"""The feed of changes: following it, and what reads it: streams, webhooks, stores in step."""

COMMANDS = {
    "follow": ("Find", "commands:follow", "surface"),
    "sync": ("Store", "commands:sync", "export"),
}
SUBSCRIPTIONS = "subscriptions:Bus"
ROUNDS = ("rounds:other_store",)
BESIDE = ("rounds:webhooks",)
