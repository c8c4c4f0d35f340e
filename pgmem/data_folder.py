"""The data directory, and the server that runs in it; imports little, because the hook of an editor uses it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def default_data_dir() -> Path:
    """The directory of a user's data; for root /var/lib/pgmem, because the server's user cannot enter root's home.

    Where HOME or XDG_DATA_HOME names a directory of root's that every user can enter, such as a volume of a container,
    the data is there. A store that exists at one of the places stays in use.
    """
    import platformdirs  # `pgmem surface` does without where it is given a DSN

    own, system = Path(platformdirs.user_data_dir("pgmem")), Path("/var/lib/pgmem")
    if sys.platform != "linux" or os.geteuid() != 0 or (own / "postgres").exists():
        return own
    return own if not (system / "postgres").exists() and _open_to_all(own) else system


def data_dir(given: str | Path | None = None) -> Path:
    """The directory that is given, else that of PGMEM_DATA_DIR, else the default."""
    found = given or os.environ.get("PGMEM_DATA_DIR")
    return Path(found).expanduser() if found else default_data_dir()


def running_dsn(given: str | None = None, folder: str | Path | None = None) -> str | None:
    """Return the DSN that is given, else that of the embedded server if it runs, else None."""
    if dsn := given or os.environ.get("PGMEM_DSN"):
        return dsn
    try:
        lines = (data_dir(folder) / "postgres" / "postmaster.pid").read_text("utf-8").splitlines()
    except OSError:
        return None
    # The lines are pid, directory, start time, port and socket directory; the server writes them one by one.
    if len(lines) < 5 or not lines[4]:
        return None
    socket = lines[4].replace("\\", "\\\\").replace("'", "\\'")
    return f"host='{socket}' port={int(lines[3])} user=postgres dbname=pgmem"


def _open_to_all(folder: Path) -> bool:
    """Whether a folder, or the first above it that exists, is root's and open to every user from the top on."""
    present = next(each for each in (folder, *folder.parents) if each.exists())
    above = [each.stat() for each in (present, *present.parents)]
    entered = all(each.st_mode & stat.S_IXOTH and not each.st_mode & stat.S_IWOTH for each in above)
    return entered and all(each.st_uid == 0 for each in above) and present != Path("/")
