"""The group of all commands: a command's module is imported when the command is used, so that each starts fast."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException
from typer.main import get_group

from pgmem import registry

_OF_CORE: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "demo:demo",
        "init": "store:init",
        "status": "store:status",
        "doctor": "doctor:doctor",
    },
    "Serve": {
        "mcp": "serve:mcp",
        "worker": "worker:worker",
        "trust": "trust:trust",
    },
    "Save": {
        "save": "save:save",
        "remember": "save:remember",
        "relate": "save:relate",
    },
    "Find": {
        "retrieve": "read:retrieve",
        "search": "read:search",
        "show": "read:show",
        "list": "read:list_",
        "projects": "read:projects",
        "neighbours": "read:neighbours",
        "history": "read:history",
        "cypher": "graph:cypher",
    },
    "Forget and undo": {
        "confirm": "temporal:confirm",
        "forget": "temporal:forget",
        "revert": "temporal:revert",
        "decay": "temporal:decay",
    },
    "Review and repair": {
        "review": "review:review",
        "hygiene": "quality:hygiene",
        "health": "quality:health",
        "freshness": "quality:freshness",
        "reflect": "quality:reflect",
        "merge": "quality:merge",
        "supersede": "quality:supersede",
        "retry": "quality:retry",
    },
    "Code base": {},
    "Store": {
        "psql": "store:psql",
        "dsn": "store:dsn_",
        "config": "store:config",
        "graph": "graph:app",
        "reindex": "embed:reindex",
        "backup": "backup:backup",
        "restore": "backup:restore",
    },
    "Tenants and tokens": {
        "tenancy": "tenancy:tenancy",
        "token": "tenancy:token",
        "erase-subject": "tenancy:erase_subject",
    },
    "Measure": {"calibrate": "read:calibrate"},
}
"""Commands of the core, below their heading of `pgmem --help`: the module in pgmem.cli and the name in it."""

EXAMPLES = {
    "search": (
        "pgmem search where do we keep orders",
        "pgmem search cache --project shop --as-of 2026-09-01",
    ),
    "retrieve": ("pgmem retrieve shop", "pgmem retrieve shop --topic cache --max-tokens 500"),
    "show": ("pgmem show 'Sell tea'", "pgmem show EntityFact Redis --as-of 30d"),
    "list": ("pgmem list --project shop --label Decision", "pgmem list --known-at 2026-09-01T12:00"),
    "projects": ("pgmem projects",),
    "history": ("pgmem history Decision 'Sell tea'",),
    "neighbours": ("pgmem neighbours EntityFact Redis --hops 2",),
    "remember": ("pgmem remember Technology Redis --set summary='A cache' --relate USES=Linux -p shop",),
    "relate": ("pgmem relate Decision 'Sell tea' CONFLICTS_WITH Decision 'Sell coffee' -p shop",),
    "forget": ("pgmem forget Decision 'Sell tea'", "pgmem forget --older-than 365 --dry-run"),
    "revert": ("pgmem revert Decision 'Sell tea' 1",),
    "merge": ("pgmem merge Postgres PostgreSQL --project shop",),
    "supersede": ("pgmem supersede 'Sell tea' 'Sell coffee' --project shop",),
    "hygiene": ("pgmem hygiene --project shop", "pgmem hygiene --html report.html"),
    "freshness": ("pgmem freshness --project shop --stale-after 90",),
    "decay": ("pgmem decay --archive-below 0.2 --dry-run",),
    "cypher": ("pgmem cypher 'MATCH (d:Decision) RETURN d.title AS title'",),
    "psql": ("pgmem psql -c 'select title from decision'",),
}
"""The usage line in the help of a command."""


def _panels() -> dict[str, dict[str, str]]:
    """Return the commands of the core and of the features; one of a feature follows the command that it names."""
    panels = {
        panel: {name: f"pgmem.cli.{place}" for name, place in commands.items()}
        for panel, commands in _OF_CORE.items()
    }
    waiting = {
        name: (panel, f"{feature}.{place}", before)
        for feature, commands in registry.by_feature("COMMANDS")
        for name, (panel, place, before) in commands.items()
    }
    while waiting:
        # One that follows a command of a feature that is left out comes last in its panel.
        ready = [name for name, (_, _, before) in waiting.items() if before not in waiting]
        for name in ready:
            panel, place, before = waiting.pop(name)
            commands = [*panels[panel].items()]
            names = [*panels[panel]]
            at = names.index(before) + 1 if before in names else len(names)
            panels[panel] = dict([*commands[:at], (name, place), *commands[at:]])
    return panels


PANELS = _panels()
"""Every command below its heading: the module and the name in it."""
EXAMPLES |= registry.merged("EXAMPLES")

REMOVED = {
    "bench": "The benchmarks are not part of the package: run python -m benchmarks in a checkout of pgmem's sources.",
}
"""The successor of a command of an earlier release."""

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
"""How every command shows its help."""


def _without_bool(shown: Any) -> Any:
    """Return the text that the help writes for the value of an option: nothing for a flag, which takes none."""
    return lambda option, ctx: None if option.is_flag else shown(option, ctx)


# Typer writes <bool> after each flag, --help too, and has no setting for it. Its releases before 0.29 do not.
if hasattr(TyperOption, "display_type_rich"):
    TyperOption.display_type_rich = _without_bool(TyperOption.display_type_rich)  # type: ignore[method-assign]


class Group(TyperGroup):
    """A group of commands; wrong usage is one line on stderr and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the arguments name."""
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # pgmem reports these errors itself
        words = list(sys.argv[1:] if args is None else args)
        args = [*words[1:], "--help"] if words[:1] == ["help"] else args
        run = functools.partial(
            super().main,
            args,
            prog_name,
            complete_var,
            standalone_mode=False,
            windows_expand_args=windows_expand_args,
            **extra,
        )
        if not standalone_mode:
            return run()
        try:
            code = run()
        except TyperException as error:
            context = getattr(error, "ctx", None)
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(error.format_message())
            else:
                where = f" See {context.command_path} --help." if context else ""
                line = " ".join(error.format_message().replace("Value error, ", "").split())
                line += "" if line.endswith((".", "?", "!")) else "."
                typer.echo(f"pgmem: {line}{where}", err=True)
            sys.exit(error.exit_code)
        except typer.Abort:
            typer.echo("pgmem: stopped.", err=True)
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


class Commands(Group):
    """The group of all commands of pgmem."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands, in the order of the help."""
        return [name for commands in PANELS.values() for name in commands]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name; an unknown name is compared with those of all commands."""
        if args and args[0] in REMOVED:
            ctx.fail(REMOVED[args[0]])
        if args and args[0] not in self.list_commands(ctx):
            with self._all():
                return super().resolve_command(ctx, args)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, which imports no command."""
        with self._all():
            super().format_help(ctx, formatter)

    @contextmanager
    def _all(self) -> Iterator[None]:
        """Replace every command by its name and its help, so that none is imported."""
        from pgmem.cli._help import HELP

        kept = self.commands
        self.commands = {
            name: TyperCommand(name, help=HELP[name], rich_help_panel=panel)
            for panel, commands in PANELS.items()
            for name in commands
        }
        try:
            yield
        finally:
            self.commands = kept

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; its module is imported now."""
        for panel, commands in PANELS.items():
            if cmd_name in commands and cmd_name not in self.commands:
                self.commands[cmd_name] = _command(cmd_name, commands[cmd_name], panel)
        return super().get_command(ctx, cmd_name)


def _command(name: str, place: str, panel: str) -> Any:
    """Build a command from its function, or a group from its app."""
    found = registry.imported(place)
    app = typer.Typer(callback=lambda: None)
    if isinstance(found, typer.Typer):
        app.add_typer(found, name=name, rich_help_panel=panel)
    else:
        # The arguments of psql go to psql.
        context = (
            {"ignore_unknown_options": True, "allow_interspersed_args": True} if name == "psql" else None
        )
        lines = EXAMPLES.get(name, ())
        epilog = "\n\n".join(("Examples:" if lines[1:] else "Example:", *lines)) if lines else None
        app.command(name, rich_help_panel=panel, context_settings=context, epilog=epilog)(found)
    return get_group(app).commands[name]
