"""At the act: the rules that concern a command before it runs, and the remedy of a repeated error."""

TOOLSETS = {"entry": "entry"}
RECALLED = {"recall": ("memories",)}
NEEDS = ("editor",)  # whose hook serves the events
COMMANDS = {
    "rules": ("Review and repair", "commands:rules", "review"),
    "balance": ("Review and repair", "commands:balance", "health"),
}
EXAMPLES = {"rules": ("pgmem rules shop",), "balance": ("pgmem balance shop",)}
