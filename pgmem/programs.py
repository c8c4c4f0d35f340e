"""Programs that pgmem starts: found in folders that a repository cannot change."""

from __future__ import annotations

import os
import sys

AGAIN = (sys.executable, "-P", "-m", "pgmem")
"""The command that runs this pgmem in a new process. Without -P Python imports modules of the current folder first."""


def installed(name: str) -> str | None:
    """Return the absolute path of a program on PATH, whose relative entries are passed over; None if it is not there.

    A relative entry could find a program of that name in a repository. Windows looks into the current folder first.
    """
    for folder in filter(os.path.isabs, os.get_exec_path()):
        found = os.path.join(folder, f"{name}.exe" if os.name == "nt" else name)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return None
