"""`pgmem connect`: add pgmem to the settings of a client. `pgmem hook`, `pgmem surface`: what clients call."""

from __future__ import annotations

import asyncio
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.text import Text

from pgmem import registry
from pgmem.cli.options import (
    DataDir,
    DryRun,
    Dsn,
    Project,
    Store,
    exit_on_error,
    load_settings,
    most,
    stop,
    store_command,
    terminal,
)
from pgmem.errors import InvalidArgument
from pgmem.escaping import counted, visible

if TYPE_CHECKING:
    from pgmem.features.editor.connect import Edit

_PASSWORD_LEFT_OUT = (
    "The password of PGMEM_DSN is left out of {}: put it into ~/.pgpass, or set PGPASSWORD where "
    "the client runs."
)
_KEPT = (
    "From now on what you and {} say in {} is kept for {} days, so that later sessions find it. PGMEM_CAPTURE=off in "
    "the environment of the client turns this off, PGMEM_HOOKS=off all hooks."
)
_TURN_DAYS = 90  # the setting turn_days, unless an operator changed it


def _toolsets(chosen: str) -> str:
    """Return toolsets as a setting holds them.

    Raises:
        typer.BadParameter: one is unknown.
    """
    from pgmem.settings import Toolset

    known = (*get_args(Toolset), "all")
    asked = [name.strip() for name in chosen.split(",")]
    if unknown := [name for name in asked if name not in known]:
        raise typer.BadParameter(f"Unknown toolset {unknown[0]!r}. Known: {', '.join(known)}.")
    return ",".join(asked)


def connect(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help="claude-code, claude-desktop, cline, codex, copilot-cli, cursor, gemini-cli, hermes, openclaw, "
            "opencode, qwen-code, vscode, windsurf or zed.",
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            exists=True,
            file_okay=False,
            help="Change the settings of this project instead of the user's.",
        ),
    ] = None,
    home: Annotated[
        Path | None, typer.Option("--home", file_okay=False, help="The home directory. Default: HOME.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove pgmem from the settings.")] = False,
    plugin: Annotated[
        bool,
        typer.Option(
            "--plugin", help="Only print the folder that the client takes as its plugin or extension."
        ),
    ] = False,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions",
            help="Only update pgmem's block in CLAUDE.md, AGENTS.md or its like, in this folder or --folder.",
        ),
    ] = False,
    tools: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="TOOLSETS",
            help="The toolsets that the server lists: entry (recall, save and two more), core, graph, …; by commas.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Add pgmem to an agent's client: the MCP server and, if it has hooks, automatic recall.

    With --instructions the standing instructions and decisions of the project are kept in a marked block of CLAUDE.md,
    AGENTS.md or its like. A person's change in the block is proposed for review.
    """
    from pgmem.features.editor import catalog
    from pgmem.features.editor.connect import PLUGINS, edits, write

    if client not in catalog.CLIENTS:
        near = difflib.get_close_matches(client, catalog.CLIENTS, n=1, cutoff=0.5)
        wanted = f"Did you mean {near[0]}? " if near else ""
        raise typer.BadParameter(f"Unknown client {client!r}. {wanted}Known: {', '.join(catalog.CLIENTS)}.")
    if instructions:
        _instruct(client, folder or Path.cwd(), undo=undo, dry_run=dry_run)
        return
    if plugin:
        if client not in PLUGINS:
            raise typer.BadParameter(f"--plugin is supported for {', '.join(PLUGINS)}.")
        typer.echo(PLUGINS[client])
        return
    if folder is not None and client in catalog.WITHOUT_PROJECT:
        raise typer.BadParameter(f"{client} has no project settings: omit --folder.")
    project = folder and folder.resolve()
    environment = {**os.environ} if project is None else _committed()
    environment |= {"PGMEM_TOOLSETS": _toolsets(tools)} if tools else {}
    changes = exit_on_error(lambda: catalog.changes(client, home or Path.home(), project, environment))
    try:
        found = edits(changes, project, undo=undo)
    except InvalidArgument as error:
        stop(" ".join(filter(None, (str(error), "" if undo else catalog.by_hand(client, changes)))))
    if not found:
        typer.echo("Nothing to change.")
        return
    for edit in found:
        _show(edit)
        if not dry_run:
            backup = exit_on_error(lambda edit=edit: write(edit))  # type: ignore[misc]
            kept = f" The previous file is in {backup}." if backup else ""
            typer.echo(f"{edit.file} is {'removed' if edit.after is None else 'written'}.{kept}")
    hooks = any(change.is_item for change in changes)
    if not undo and _has_secret(os.environ.get("PGMEM_DSN")) and (project or hooks):
        left_out = "settings that are committed" if project else "the hooks, whose commands others can read"
        typer.echo(_PASSWORD_LEFT_OUT.format(left_out))
    if hooks and not undo:
        typer.echo(_KEPT.format(client, project or "any folder", _TURN_DAYS))
    if dry_run:
        typer.echo("Nothing is written (--dry-run).")
    elif not undo:
        typer.echo(f"Restart {client}. `pgmem connect {client} --undo` reverts this.")


def _instruct(client: str, folder: Path, *, undo: bool, dry_run: bool) -> None:
    """Bring the block of a file of instructions up to date."""
    from pgmem.workspace.identity import waits_for_trust

    instructions = registry.one("INSTRUCTIONS")
    if instructions is None:
        stop("This installation keeps no file of instructions.")
    if client not in instructions.FILES:
        raise typer.BadParameter(f"{client} reads no file of instructions in a folder.")
    file = folder.resolve() / instructions.FILES[client]

    async def run() -> tuple[Any, bool]:
        from pgmem.calls import projects
        from pgmem.memory import Memory

        async with Memory.connect(load_settings(None), source="cli") as memory:
            asks = (await projects.opened(memory.caller, folder)).asks is not None or waits_for_trust(folder)
            return await instructions.keep(memory, file, folder.resolve(), undo=undo, dry_run=dry_run), asks

    done, asks = exit_on_error(lambda: asyncio.run(run()))
    if asks and not undo:
        typer.echo(
            f"{file} gets nothing of the other project that this folder asks for: pgmem trust shows which one."
        )
    for proposal in done.proposals:
        what = "removed" if proposal.text is None else "new" if proposal.id is None else "changed"
        typer.echo(f"For review, {what}: {visible(proposal.text or proposal.id or '')}")
    if done.left:
        first = done.left[0].text or done.left[0].id or ""
        typer.echo(
            f"{counted(len(done.left), 'more change')} in it, from {visible(first)!r} on, wait: "
            "the file stays as it is. Decide those above (pgmem review), remove what is not yours, and "
            "run the command again."
        )
        return
    if done.of_agents:
        stays = counted(done.of_agents, "decision of an agent stays", "decisions of agents stay")
        typer.echo(
            f"{stays} out: the file is yours. What you make your own goes in (pgmem review --rule ID)."
        )
    typer.echo(
        f"{file} is {'up to date' if not done.written else 'to be written (--dry-run)' if dry_run else 'written'}."
    )


def _has_secret(dsn: str | None) -> bool:
    from pgmem.database.dsn import without_secrets

    return dsn is not None and without_secrets(dsn) != dsn


def _committed() -> dict[str, str]:
    """Return the environment for settings that are committed: without the password of the DSN."""
    from pgmem.database.dsn import without_secrets

    environment = dict(os.environ)
    if dsn := environment.get("PGMEM_DSN"):
        environment["PGMEM_DSN"] = exit_on_error(lambda: without_secrets(dsn))
    return environment


def _show(edit: Edit) -> None:
    """Print the changes of an edit in its file."""
    lines = difflib.unified_diff(
        (edit.before or "").splitlines(),
        (edit.after or "").splitlines(),
        str(edit.file) if edit.before is not None else "no file",
        str(edit.file) if edit.after is not None else "no file",
        lineterm="",
    )
    console = terminal()
    for line in lines:
        style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
        console.print(Text(visible(line), style=style), soft_wrap=True)


def hook(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event, as the client names it.")],
    client: Annotated[
        str | None, typer.Option("--client", help="The client. Default: detected from its JSON.")
    ] = None,
    dsn: Dsn = None,
    data_dir: DataDir = None,
) -> None:
    """Answer an event of a client: JSON on stdin, JSON on stdout; it always exits with 0."""
    from pgmem.features.editor import events

    events.main(events.Call(event, client, dsn, str(data_dir) if data_dir else None))


@store_command
def surface(
    store: Store,
    query: Annotated[str, typer.Argument(help="A line of code, a path or an identifier.")],
    project: Project = None,
    limit: Annotated[int, most("memories", 100)] = 5,
) -> None:
    """Print memories about a line or a path, for an editor's hook. Prints nothing when none fits; starts no server."""
    # `pgmem.__main__` answers most calls before this module is imported; --env-file and --help come here.
    from pgmem.features.editor import surface as quick

    quick.main(
        quick.Question(query, project, limit, store.settings.dsn, store.settings.data_dir, store.as_json)
    )
