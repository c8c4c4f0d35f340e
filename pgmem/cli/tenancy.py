"""`pgmem tenancy`, `pgmem token`, `pgmem erase-subject`: tenants, their tokens, their erasure."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from pgmem.cli.options import (
    DryRun,
    Rows,
    Store,
    Yes,
    naming,
    shown,
    stop,
    store_command,
    tenant_name,
    terminal,
)
from pgmem.cli.verbs import Call, moment, verb_command
from pgmem.escaping import counted

if TYPE_CHECKING:
    from pgmem.models import ApiToken, Tenant

tenancy = typer.Typer(help="List tenants, and assign memories and logins to them.", no_args_is_help=True)
token = typer.Typer(help="Issue, list and revoke bearer tokens for HTTP.", no_args_is_help=True)


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
@verb_command("adopt", defaults={"org_id": ""})
def adopt(call: Call) -> None:
    """Assign memories without a tenant to one: the step from one user to several. With --back, the way back."""
    done = call.answer()
    org, user = _tenant(call)
    back, dry_run = call.sent.get("back"), call.sent.get("dry_run")
    verb = "would be assigned" if dry_run else "assigned"
    whose = "no tenant" if back else tenant_name(org, user)
    typer.echo(f"{counted(done.nodes, 'node')} and {counted(done.saves, 'save')} {verb} to {whose}.")
    mine = (call.store.settings.org_id, call.store.settings.user_id) == (("", "") if back else (org, user))
    if not (dry_run or mine):
        advice = "Unset" if back else "Set"
        typer.echo(f"{advice} {naming(org, user)} on this machine to see and save them.", err=True)
    for pair in done.collisions:
        typer.echo(f"exists already: {pair.label} {pair.name}", err=True)


@tenancy.command()
@verb_command("bind_role", "role")
def bind(call: Call) -> None:
    """Bind a database login to a tenant, whatever identity it sets. Without --org and --user: unbind it."""
    call.answer()
    whose = tenant_name(*_tenant(call))
    typer.echo(f"{call.sent['role']} is {whose or 'no longer bound to a tenant'}.")


@token.command()
@verb_command("issue_token", without=("expires_at", "for_sync"), options={"for_person": "--person"})
def issue(
    call: Call,
    purpose: Annotated[
        Literal["agents", "person", "sync"] | None,
        typer.Option(
            "--for", help="Who uses it: agents; person, on the pages; sync, another store. Default: agents."
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it expires: a date, or 30d, 12h. Default: never.")
    ] = None,
) -> None:
    """Issue a token for a tenant, or without --org and --user for the one user of a store.

    It is shown once; the store keeps only a hash.
    """
    store, (org, user) = call.store, _tenant(call)
    if call.sent.get("for_person") and purpose not in (None, "person"):
        stop(f"--person and --for {purpose} are two purposes: issue two tokens.")
    call = call.but(**{"person": {"for_person": True}, "sync": {"for_sync": True}}.get(purpose or "", {}))
    until = None if expires is None else moment(expires, "expires", ahead=True)

    known = (("", ""), (store.settings.org_id, store.settings.user_id))
    if (org, user) not in known and not store.run(lambda m: m.backlog()).tenants:
        typer.echo(
            "The store gets tenants by this token: what saves without one, such as stdio and this command line, needs "
            f"{naming(org, user)} then.",
            err=True,
        )
        if sys.stdin.isatty() and not store.as_json:
            typer.confirm("Issue it?", abort=True, err=True)
    done: ApiToken = store.run(lambda m: call.of(m, expires_at=until))
    store.for_people(done)
    typer.echo(done.token)
    whose = tenant_name(org, user) or "the one user of this store"
    typer.echo(
        f"{done.id} for {whose}, valid until {shown(until) or 'it is revoked'}. It is not shown again; "
        f"pgmem token revoke {done.id} undoes it.",
        err=True,
    )


@token.command("list")
@store_command
def list_tokens(store: Store) -> None:
    """List the issued tokens, without their secrets."""

    def cells(one: ApiToken) -> tuple[object, ...]:
        whose = tenant_name(one.org_id, one.user_id) or "(one user)"
        reader = "a person" if one.for_person else "another store" if one.for_sync else "agents"
        return one.id, one.name, whose, reader, one.created_at, one.created_by, one.expires_at, one.revoked_at

    headings = ("id", "name", "tenant", "for", "issued", "by", "expires", "revoked")
    store.print_table(store.run(lambda m: m.list_tokens()), headings, cells)


@token.command()
@verb_command("revoke_token", "token_id")
def revoke(call: Call) -> None:
    """Revoke a token. It stops working at once."""
    done = call.answer()
    typer.echo(f"{done.name}: revoked {done.revoked_at}.")


@verb_command("erase_subject", without=("dry_run",), defaults={"org_id": ""})
def erase_subject(call: Call, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Erase a user or an organisation from all tables, the graph and the outbox. Prints a receipt."""
    store, (org, user) = call.store, _tenant(call)
    if not dry_run and not yes:
        planned = call.run(dry_run=True)
        if not planned.total:
            _nothing_erased(org, user)
        typer.confirm(
            f"Delete {counted(planned.total, 'row')} of {tenant_name(org, user)} permanently?", abort=True
        )
    done = call.run(dry_run=dry_run)
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
    stop(
        f"No rows of {tenant_name(org, user)} found; nothing was erased. pgmem tenancy list shows the tenants."
    )


def _tenant(call: Call) -> tuple[str, str]:
    return call.sent.get("org_id", ""), call.sent.get("user_id", "")
