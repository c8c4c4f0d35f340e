"""`pgmem tenancy`, `pgmem token`, `pgmem erase-subject`: tenants, their tokens, their erasure."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, NoReturn
from uuid import UUID

import typer

from pgmem.cli.options import By, Rows, Store, Yes, naming, shown, stop, store_command, terminal
from pgmem.escaping import counted

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.models import ApiToken

if TYPE_CHECKING:
    from pgmem.models import ApiToken, Tenant

tenancy = typer.Typer(help="List tenants, and assign memories and logins to them.", no_args_is_help=True)
token = typer.Typer(help="Issue, list and revoke bearer tokens for HTTP.", no_args_is_help=True)

Org = Annotated[str, typer.Option("--org", help="The organisation.")]
User = Annotated[
    str, typer.Option("--user", help="The user. Default: none; the memories that the organisation shares.")
]


@tenancy.command("list")
@store_command
def list_tenants(store: Store) -> None:
    """List the tenants of the store with their memories, projects, tokens and logins."""

    def cells(one: Tenant) -> tuple[object, ...]:
        org = one.org_id or ("" if one.user_id else "(public)")
        return org, one.user_id, one.memories, one.projects, one.tokens, ", ".join(one.roles)

    headings = ("organisation", "user", "memories", "projects", "tokens", "logins")
    store.print_table(store.run(lambda m: m.list_tenants()), headings, cells)


@tenancy.command()
@store_command
def adopt(
    store: Store,
    org: Org = "",
    user: User = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    back: Annotated[bool, typer.Option("--back", help="Reverse: from the tenant to no tenant.")] = False,
) -> None:
    """Assign memories without a tenant to one: the step from one user to several. With --back, the way back."""
    done = store.run(lambda m: m.adopt(org, user, dry_run, back))
    if store.print_json(done):
        return
    verb = "would be assigned" if dry_run else "assigned"
    whose = "no tenant" if back else _name(org, user)
    typer.echo(f"{counted(done.nodes, 'node')} and {counted(done.saves, 'save')} {verb} to {whose}.")
    mine = (store.settings.org_id, store.settings.user_id) == (("", "") if back else (org, user))
    if not (dry_run or mine):
        advice = "Unset" if back else "Set"
        typer.echo(f"{advice} {naming(org, user)} on this machine to see and save them.", err=True)
    for pair in done.collisions:
        typer.echo(f"exists already: {pair.label} {pair.name}", err=True)


@tenancy.command()
@store_command
def bind(
    store: Store,
    role: Annotated[str, typer.Argument(help="A database login.")],
    org: Org = "",
    user: User = "",
) -> None:
    """Bind a database login to a tenant, whatever identity it sets. Without --org and --user: unbind it."""
    done = store.run(lambda m: m.bind_role(role, org, user))
    if not store.print_json(done):
        typer.echo(
            f"{role} is {_name(org, user)}." if org or user else f"{role} is no longer bound to a tenant."
        )


@token.command()
@store_command
def issue(
    store: Store,
    org: Org = "",
    user: User = "",
    name: Annotated[
        str | None, typer.Option(help="Name of the token; recorded as the agent of its writes.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it expires: a date, or 30d, 12h. Default: never.")
    ] = None,
    person: Annotated[
        bool, typer.Option("--person", help="For a person to sign in to /ui; agents cannot use it.")
    ] = False,
) -> None:
    """Issue a token for a tenant, or without --org and --user for the one user of a store.

    It is shown once; the store keeps only a hash.
    """
    until = _moment(expires)

    async def run(memory: Memory) -> tuple[bool, ApiToken]:
        had_tenants = (await memory.backlog()).tenants
        return had_tenants, await memory.issue_token(org, user, name, until, person)

    had_tenants, done = store.run(run)
    if store.print_json(done):
        return
    typer.echo(done.token)
    whose = _name(org, user) or "the one user of this store"
    typer.echo(
        f"{done.id} for {whose}, valid until {shown(until) or 'it is revoked'}. It is not shown again.",
        err=True,
    )
    if not had_tenants and (org, user) not in (("", ""), (store.settings.org_id, store.settings.user_id)):
        typer.echo(
            "This store has tenants now: what saves without a token, such as stdio and this command line, needs "
            f"{naming(org, user)}. pgmem token revoke {done.id} undoes it.",
            err=True,
        )


@token.command("list")
@store_command
def list_tokens(store: Store) -> None:
    """List the issued tokens, without their secrets."""

    def cells(one: ApiToken) -> tuple[object, ...]:
        whose = _name(one.org_id, one.user_id) or "(one user)"
        reader = "a person" if one.for_person else "agents"
        return one.id, one.name, whose, reader, one.created_at, one.created_by, one.expires_at, one.revoked_at

    headings = ("id", "name", "tenant", "for", "issued", "by", "expires", "revoked")
    store.print_table(store.run(lambda m: m.list_tokens()), headings, cells)


@token.command()
@store_command
def revoke(
    store: Store,
    token_id: Annotated[UUID, typer.Argument(metavar="ID", help="The id that pgmem token list shows.")],
) -> None:
    """Revoke a token. It stops working at once."""
    done = store.run(lambda m: m.revoke_token(token_id))
    if not store.print_json(done):
        typer.echo(f"{done.name}: revoked {done.revoked_at}.")


@store_command
def erase_subject(
    store: Store,
    org: Org = "",
    user: Annotated[str, typer.Option("--user", help="The user. Default: the whole organisation.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Yes = False,
    by: By = None,
) -> None:
    """Erase a user or an organisation from all tables, the graph and the outbox. Prints a receipt."""
    if not dry_run and not yes:
        planned = store.run(lambda m: m.erase_subject(org, user))
        if not planned.total:
            _nothing_erased(org, user)
        typer.confirm(
            f"Delete {counted(planned.total, 'row')} of {_name(org, user)} permanently?", abort=True
        )
    done = store.run(lambda m: m.erase_subject(org, user, dry_run, by or getpass.getuser()))
    if store.print_json(done):
        if not dry_run and not done.total:
            raise typer.Exit(1)
        return
    if not dry_run and not done.total:
        _nothing_erased(org, user)
    terminal().print(Rows(("where", "rows"), ((name, n) for name, n in sorted(done.counts.items()) if n)))
    typer.echo(
        f"{counted(done.total, 'row')} would be erased." if dry_run else f"Erased; receipt {done.receipt_id}."
    )


def _nothing_erased(org: str, user: str) -> NoReturn:
    stop(f"No rows of {_name(org, user)} found; nothing was erased. pgmem tenancy list shows the tenants.")


def _name(org: str, user: str) -> str:
    return "/".join(filter(None, (org, user)))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    units = {"d": 86400, "h": 3600, "m": 60}
    if text[:-1].isdigit() and text[-1] in units:
        return datetime.now(UTC) + timedelta(seconds=int(text[:-1]) * units[text[-1]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time: use 2027-01-31, 30d or 12h", param_hint="--expires"
        ) from None
    return moment if moment.tzinfo else moment.astimezone()
