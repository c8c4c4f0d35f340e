"""Tenants, for the administrator of the store: a list, tokens, erasure."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from pgmem.errors import InvalidArgument, NotPermitted
from pgmem.features.ui.visit import Page, Redirect, Visit, whole


def _require_administrator(visit: Visit) -> None:
    if not visit.session.person.administrator:
        raise NotPermitted(
            "Tenants are for the administrator of the store: run pgmem ui on the machine of the store."
        )


async def tenants(visit: Visit) -> Page:
    """The tenants with their counts, and the tokens."""
    _require_administrator(visit)
    found, tokens = await asyncio.gather(visit.memory.list_tenants(), visit.memory.list_tokens())
    return Page("tenants.html", {"tenants": found, "tokens": tokens})


async def issue(visit: Visit) -> Page:
    """Issue a token; this page alone shows it."""
    _require_administrator(visit)
    days, purpose = visit.form.get("days", "").strip(), visit.form.get("for", "agents")
    if purpose not in ("agents", "person", "sync"):
        raise InvalidArgument(f"for: send agents, person or sync, not {purpose}.")
    until = datetime.now(UTC) + timedelta(days=whole("days", days, 3660)) if days else None
    made = await visit.memory.issue_token(
        visit.form.get("org_id", ""),
        visit.form.get("user_id", ""),
        visit.form.get("name", "").strip() or None,
        until,
        purpose == "person",
        purpose == "sync",
        visit.form.get("vouches") == "yes",
    )
    found, tokens = await asyncio.gather(visit.memory.list_tenants(), visit.memory.list_tokens())
    return Page("tenants.html", {"tenants": found, "tokens": tokens, "issued": made}, status=201)


async def revoke(visit: Visit) -> Redirect:
    """Revoke a token at once."""
    _require_administrator(visit)
    done = await visit.memory.revoke_token(visit.parts["id"])
    visit.flash(f"Token {done.name} revoked.")
    return visit.to("/tenants")


async def erase_form(visit: Visit) -> Page:
    """The rows that an erasure would delete, before confirmation."""
    _require_administrator(visit)
    org, user = visit.text("org") or "", visit.text("user") or ""
    counted = await visit.memory.erase_subject(org, user, True)
    return Page("erase.html", {"org": org, "user": user, "counted": counted, "receipt": None})


async def erase(visit: Visit) -> Page:
    """Erase a tenant, after its name was typed; the answer is the receipt."""
    _require_administrator(visit)
    org, user = visit.form.get("org", ""), visit.form.get("user", "")
    name = "/".join(filter(None, (org, user)))
    if visit.form.get("typed", "").strip() != name:
        raise InvalidArgument(f"Type {name} to erase it; nothing was deleted.")
    done = await visit.memory.erase_subject(org, user, False, visit.name)
    return Page("erase.html", {"org": org, "user": user, "counted": done, "receipt": done.receipt_id})
