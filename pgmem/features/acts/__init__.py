"""At the act: the rules that concern a command before it runs, and what mended an error when it comes again."""

TOOLSETS = {"entry": "entry"}
RECALLED = {"recall": ("memories",)}
NEEDS = ("editor",)  # whose hook serves the events
