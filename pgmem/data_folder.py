"""The default of PGMEM_DATA_DIR; imports little, because the hook of an editor uses it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs


def default_data_dir() -> Path:
    """The directory of a user's data; for root /var/lib/pgmem, because the server's user cannot enter root's home.

    A store that an earlier release made in root's home stays in use.
    """
    own = Path(platformdirs.user_data_dir("pgmem"))
    if sys.platform == "linux" and os.geteuid() == 0 and not (own / "postgres").exists():
        return Path("/var/lib/pgmem")
    return own
