"""The command that repairs a finding of `pgmem hygiene`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def repair_command(verb: str, arguments: Mapping[str, object], project: str | None = None) -> str | None:
    """The command line of a verb and its arguments, quoted for a POSIX shell.

    Args:
        verb: the verb of a finding of `run_hygiene`.
        arguments: its arguments.
        project: the project of the finding.

    Returns:
        The line, or None where no command does it: only the agent that sent a batch can send it again.
    """
    given = {name: str(value) for name, value in arguments.items()}
    match verb:
        case "merge_entities":
            words = ["merge", given["entity"], given["into"]]
        case "supersede":
            words = ["supersede", given["old"], given["new"]]
        case "confirm":
            words = ["confirm", given["id"]]
        case "forget":
            words = ["forget", given["label"], given["key"]]
        case "archive_card":
            words = ["cards", "archive", given["card_id"], "--i-know-what-im-doing"]
        case "retry_save":
            words = ["retry", given["save_id"]]
        case "resolve_review":
            words = ["review", *([f"--project={project}"] if project else [])]
        case _:
            return None
    return shlex.join(["pgmem", *words])
