"""Two machines whose network is cut: the saves of each are on both after a sync, and their exports are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

import pytest

from tests.docker.conftest import FIGURES, images
from tests.docker.stack import ORG, USER, Stack, clone, run, stack

pytestmark = pytest.mark.docker
SAVES, AGENTS = 500, 8
PROJECT = "shop"


@pytest.fixture
def machines(tree: Path, tmp_path: Path) -> Iterator[tuple[Stack, Stack]]:
    """A laptop and a server, each with its own database."""
    with stack(tree, **images()) as laptop, stack(clone(tmp_path), **images()) as server:
        yield laptop, server


def save(side: str, services: Stack) -> None:
    """Save so many memories as agents do: some have the name of one on the other side."""
    assert services.ask("save_session", objective=f"on the {side}", project_id=PROJECT)["status"] == "saved"

    def one(number: int) -> str:
        if number % 5:
            words = " ".join(
                sha256(f"{side} {number} {place}".encode()).hexdigest()[:8] for place in range(6)
            )
            named: dict[str, Any] = {"title": words, "rationale": f"Said on the {side}."}
            return str(services.ask("save_decision", project_id=PROJECT, **named)["status"])
        name = f"Port {number}" if number % 10 else f"Port {number} of the {side}"
        named = {"entity_name": name, "fact": f"{number} on the {side}"}
        return str(services.ask("upsert_entity", project_id=PROJECT, **named)["status"])

    with ThreadPoolExecutor(AGENTS) as pool:
        assert set(pool.map(one, range(SAVES))) == {"saved"}


def pgmem(services: Stack, *arguments: str) -> str:
    """Run a command of the tenant in the container of the program; its output."""
    tenant = (f"PGMEM_ORG_ID={ORG}", f"PGMEM_USER_ID={USER}")
    return services.exec("mcp", "env", *tenant, "pgmem", *arguments)


def exported(services: Stack) -> list[str]:
    """The memories of the tenant; a memory that both machines saved has two ids, so a title stands for an id."""
    records = [json.loads(line) for line in pgmem(services, "export", "-").splitlines()][1:]
    names = {record["id"]: record["title"] for record in records if record["type"] == "node"}
    kept = []
    for record in records:
        if record["type"] in ("node", "edge"):
            text = json.dumps({key: names.get(value, value) if isinstance(value, str) else value
                               for key, value in record.items()}, sort_keys=True)  # fmt: skip
            kept.append(text)
    return sorted(kept)


def test_what_two_machines_saved_while_the_network_was_cut_is_equal_on_both_after_a_sync(
    machines: tuple[Stack, Stack],
) -> None:
    laptop, server = machines
    network, program = f"{server.name}_default", laptop.container("mcp")
    password = quote((server.docker / "secrets/pgmem_password").read_text(), safe="")
    there = f"postgresql://pgmem:{password}@{server.address('postgres')}:5432/memory"
    run("docker", "network", "connect", network, program)
    try:
        pgmem(laptop, "sync", there)
        run("docker", "network", "disconnect", network, program)
        save("laptop", laptop)
        save("server", server)
        with pytest.raises(RuntimeError, match="does not answer"):
            pgmem(laptop, "sync", there)
        run("docker", "network", "connect", network, program)
        begun = monotonic()
        done = json.loads(pgmem(laptop, "sync", there, "--json"))
        FIGURES.append(
            f"two machines, {SAVES} saves on each: in step in {monotonic() - begun:.1f} s, {done['here']}"
        )
    finally:
        run("docker", "network", "disconnect", "--force", network, program)
    mine, theirs = exported(laptop), exported(server)
    assert len(mine) > 2 * SAVES - 60
    assert mine == theirs
