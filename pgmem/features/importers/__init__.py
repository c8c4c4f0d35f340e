"""Importers: read memories of other systems, and save them through the usual verbs."""

COMMANDS = {
    "import": ("Save", "commands:import_", "relate"),
    "export": ("Store", "commands:export", "vault"),
}
EXAMPLES = {"import": ("pgmem import memories.jsonl",), "export": ("pgmem export memories.jsonl",)}
