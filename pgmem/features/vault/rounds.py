"""The step of `pgmem worker` that keeps a vault in step."""

from __future__ import annotations

import getpass
import logging
from typing import TYPE_CHECKING

from pgmem.worker.maintenance import tried

if TYPE_CHECKING:
    from pgmem.memory import Memory

log = logging.getLogger("pgmem")


async def notes(memory: Memory) -> dict[str, int]:
    """Bring the vault of VAULT_PATH in step; count the changes."""
    folder = memory.caller.database.settings.vault_path
    if folder is None:
        return {}
    from pgmem.features.vault.exchange import Vault
    from pgmem.features.vault.folder import Folder

    with tried("the vault failed, will retry"):
        found = await Vault(memory, Folder(folder), getpass.getuser()).sync()
        if found.problems:
            log.warning("%s notes need a person: pgmem vault sync says which", len(found.problems))
        return {f"notes_{name}": count for name, count in found.counts.items()}
    return {}
