"""The pages of the memory: see, ask, decide.

They are rendered on the server; every page is a plain URL, and the same URL with .json is its data.

`local.local_app` gives the pages of this machine (`pgmem ui`); `signed_in.WithPages` puts the same pages below /ui of
`pgmem mcp --transport http`, for people who sign in with a token; `report` is the quality report as one file. A page
calls `Memory` and nothing else: the rules are in the verbs.
"""

NEEDS = ("cards", "acts", "editor")  # which pages show and decide
COMMANDS = {"ui": ("Serve", "commands:ui", "mcp")}
REPORT = "report"
