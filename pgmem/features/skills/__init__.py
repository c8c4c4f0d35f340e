"""Skills: procedures of the memory as folders of files, for clients that read such."""

NEEDS = ("editor",)  # the skill of its plugin is served first
COMMANDS = {"skills": ("Find", "commands:skills", "projects")}
EXAMPLES = {"skills": ("pgmem skills --project shop", "pgmem skills --to .claude/skills")}
EXTENSIONS = ("mcp:Skills",)
RESOURCES = ("mcp:add",)
