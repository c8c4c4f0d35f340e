"""The page of the memory: see, ask, decide.

It is rendered on the server; every page is a plain URL, and the same URL with .json is its data.

`local_app` is the page of this machine (`pgmem ui`); `WithPages` puts the same pages below /ui of
`pgmem mcp --transport http`, for people who sign in with a token. A page calls `Memory` and nothing else: the
rules are in the verbs.
"""

from __future__ import annotations

from pgmem.ui.local import Link, local_app
from pgmem.ui.sessions import Person, Sessions
from pgmem.ui.signed_in import WithPages
from pgmem.ui.site import Site

__all__ = ["Link", "Person", "Sessions", "Site", "WithPages", "local_app"]
