"""A vault: a folder of notes in Markdown, kept in step with a store."""

NEEDS = ("feed", "importers")
COMMANDS = {"vault": ("Store", "commands:app", "reindex")}
ROUNDS = ("rounds:notes",)
INSTRUCTIONS = "instructions"
