"""`pgmem tenancy`, `pgmem token`, `pgmem erase-subject`: whose memory it is."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from pgmem.cli.options import By, Door, Yes, at_the_store, cells, terminal
from pgmem.memory import Memory

__all__ = ["erase_subject", "tenancy", "token"]

tenancy = typer.Typer(help="Whose memory it is.", no_args_is_help=True)
token = typer.Typer(help="Bearer tokens of the HTTP transport.", no_args_is_help=True)

Org = Annotated[str, typer.Option("--org", help="The organisation.")]
User = Annotated[str, typer.Option("--user", help="The user; none: what the organisation shares.")]


@tenancy.command("list")
@at_the_store
def list_tenants(
    door: Door,
) -> None:
    """The tenants of the store and what they hold."""
    found = door.ask(Memory.list_tenants)
    if door.told(found):
        return
    table = Table("organisation", "user", "memories", "projects", "tokens", "logins")
    for tenant in found:
        nobody = "(public)" if not tenant.org_id and not tenant.user_id else ""
        table.add_row(
            *cells(
                tenant.org_id or nobody,
                tenant.user_id,
                tenant.memories,
                tenant.projects,
                tenant.tokens,
                ", ".join(tenant.roles),
            )
        )
    terminal().print(table)


@tenancy.command()
@at_the_store
def adopt(
    door: Door,
    org: Org = "",
    user: User = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """Give what belongs to nobody yet to a tenant: the step from one user to many."""
    done = door.ask(lambda m: m.adopt(org, user, dry_run))
    if door.told(done):
        return
    verb = "would go" if dry_run else "went"
    typer.echo(f"{done.nodes} nodes and {done.saves} saves {verb} to {_name(org, user)}.")
    for pair in done.collisions:
        typer.echo(f"already there: {pair['label']} {pair['name']}", err=True)


@tenancy.command()
@at_the_store
def bind(
    door: Door,
    role: Annotated[str, typer.Argument(help="A database login.")],
    org: Org = "",
    user: User = "",
) -> None:
    """Make a database login a tenant, whatever it sets; without --org and --user the binding ends."""
    done = door.ask(lambda m: m.bind_role(role, org, user))
    if not door.told(done):
        typer.echo(f"{role} is {_name(org, user)}." if org or user else f"{role} is no tenant any more.")


@token.command()
@at_the_store
def issue(
    door: Door,
    org: Org = "",
    user: User = "",
    name: Annotated[
        str | None, typer.Option(help="What it is for; stands as the agent on what it writes.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends: a date, or 30d, 12h; none: when revoked.")
    ] = None,
) -> None:
    """Issue a token for a tenant. It is shown once: the store keeps its hash."""
    until = _moment(expires)
    done = door.ask(lambda m: m.issue_token(org, user, name, until))
    if door.told(done):
        return
    typer.echo(done.token)
    typer.echo(
        f"{done.id} for {_name(org, user)}, until {until or 'it is revoked'}. Not shown again.", err=True
    )


@token.command("list")
@at_the_store
def list_tokens(
    door: Door,
) -> None:
    """The tokens that were issued, without their secrets."""
    found = door.ask(Memory.list_tokens)
    if door.told(found):
        return
    table = Table("id", "name", "tenant", "issued", "by", "expires", "revoked")
    for one in found:
        whose = _name(one.org_id, one.user_id)
        table.add_row(
            *cells(one.id, one.name, whose, one.created_at, one.created_by, one.expires_at, one.revoked_at)
        )
    terminal().print(table)


@token.command()
@at_the_store
def revoke(
    door: Door,
    token_id: Annotated[UUID, typer.Argument(metavar="ID", help="From pgmem token list.")],
) -> None:
    """End a token at once."""
    done = door.ask(lambda m: m.revoke_token(token_id))
    if not door.told(done):
        typer.echo(f"{done.name}: revoked {done.revoked_at}.")


@at_the_store
def erase_subject(
    door: Door,
    org: Org = "",
    user: Annotated[str, typer.Option("--user", help="The user; none: the whole organisation.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    yes: Yes = False,
    by: By = None,
) -> None:
    """Remove a user or an organisation from every table, the graph and the outbox; prints the receipt."""
    if not dry_run and not yes:
        counted = door.ask(lambda m: m.erase_subject(org, user))
        typer.confirm(f"{counted.total} rows of {_name(org, user)} will be gone for good. Go on?", abort=True)
    done = door.ask(lambda m: m.erase_subject(org, user, dry_run, by or getpass.getuser()))
    if door.told(done):
        return
    table = Table("where", "rows")
    for name, count in sorted(done.counts.items()):
        if count:
            table.add_row(*cells(name, count))
    terminal().print(table)
    typer.echo(f"{done.total} rows would be erased." if dry_run else f"Erased; receipt {done.receipt_id}.")


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
            f"{text!r} is no time: send 2027-01-31, 30d or 12h", param_hint="--expires"
        ) from None
    return moment if moment.tzinfo else moment.astimezone()
