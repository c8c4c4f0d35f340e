"""The attacker is another tenant of the same machine, and guesses the ids of saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from pgmem.errors import SaveIdReused
from pgmem.models import MemoryScope
from pgmem.outbox import Outbox, QueuedSave

Queue = Callable[..., QueuedSave]
ALICE, CAROL = MemoryScope(org_id="acme", user_id="alice"), MemoryScope(org_id="globex", user_id="carol")


@pytest.fixture
def save() -> QueuedSave:
    return QueuedSave(
        save_id=uuid4(),
        verb="save_decision",
        params={"title": "Use PostgreSQL", "project_id": "shop"},
        scope=ALICE,
        source="mcp",
        made_at=datetime.now(UTC),
    )


@pytest.mark.parametrize("title", ["Use PostgreSQL", "Use another one"])
def test_a_save_id_of_another_tenant_neither_swallows_nor_refuses_a_save(
    tmp_path: Path, save: QueuedSave, title: str
) -> None:
    """With the same arguments the second was acknowledged and lost; with others it was refused."""
    outbox = Outbox(tmp_path, "here")
    outbox.put(save)
    outbox.put(replace(save, scope=CAROL, params={**save.params, "title": title}))
    kept = [outbox.read(path) for path in outbox.pending()]
    assert [(one.scope, one.params["title"]) for one in kept if one] == [
        (ALICE, "Use PostgreSQL"),
        (CAROL, title),
    ]
    tenants = {path.name.split("-")[3] for path in outbox.pending()}
    assert len(tenants) == 2


def test_a_save_id_in_another_database_is_another_save(tmp_path: Path, save: QueuedSave) -> None:
    """The directory holds the saves of every database that this machine writes to."""
    Outbox(tmp_path, "here").put(save)
    Outbox(tmp_path, "there").put(replace(save, params={**save.params, "title": "Use another one"}))
    assert len(Outbox(tmp_path, "here").pending()) == len(Outbox(tmp_path, "there").pending()) == 1


def test_within_a_tenant_a_save_id_stays_unique(tmp_path: Path, save: QueuedSave) -> None:
    """A right value stays so, for any of the tenant's agents."""
    outbox = Outbox(tmp_path, "here")
    outbox.put(save)
    outbox.put(replace(save, scope=replace(ALICE, agent_id="other")))
    assert len(outbox.pending()) == 1
    with pytest.raises(SaveIdReused):
        outbox.put(replace(save, params={"title": "Use another one"}))


def test_tenants_whose_names_join_to_the_same_text_are_two(tmp_path: Path, save: QueuedSave) -> None:
    """Acme/x and acm/ex."""
    outbox = Outbox(tmp_path, "here")
    outbox.put(replace(save, scope=MemoryScope(org_id="acme", user_id="x")))
    outbox.put(replace(save, scope=MemoryScope(org_id="acm", user_id="ex")))
    assert len(outbox.pending()) == 2
