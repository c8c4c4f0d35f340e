"""Faults between the containers of the profile cells, while agents of an organisation in each cell save.

A fault of one cell is the business of that cell: saves for its organisation wait in the outbox, and agents of
the other are answered as before. A fault of the shared pooler or front ends in the outbox for both or in the
standby. Whatever was answered is there once afterwards, in the cell of its organisation.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.docker.conftest import FIGURES, images
from tests.docker.faults import cut, kill, pause, queued
from tests.docker.stack import Stack, until
from tests.docker.test_cells import STORE, cells

pytestmark = pytest.mark.docker
CELLS = ("postgres", "cell-1")
"""The services of the cells, by their numbers."""
AGENTS = 3
PAUSE = 0.3
BEFORE, DURING = 15.0, 20.0
"""Seconds of saving before the fault and during it."""
ANSWERED = 10.0
"""Seconds within which a save is answered whatever has failed."""


@dataclass(frozen=True)
class Save:
    """The saves of an agent with their answers and times."""

    cell: int
    content: str
    status: str
    begun: float
    seconds: float


@dataclass
class Course:
    """All saves, and from when to when something was broken."""

    saves: list[Save]
    begun: float
    ended: float

    def during(self, cell: int) -> list[Save]:
        """Saves for the organisation of a cell that began while something was broken."""
        return [save for save in self.saves if save.cell == cell and self.begun <= save.begun < self.ended]

    def before(self, cell: int) -> list[Save]:
        return [save for save in self.saves if save.cell == cell and save.begun < self.begun]

    def after(self, cell: int) -> list[Save]:
        return [save for save in self.saves if save.cell == cell and save.begun >= self.ended]


def p99(saves: list[Save]) -> float:
    """The time within which 99 of 100 saves were answered, in milliseconds."""
    return statistics.quantiles([save.seconds for save in saves], n=100)[98] * 1000


@dataclass
class Fleet:
    """The services, with an organisation in each cell and its token."""

    services: Stack
    orgs: dict[int, str]
    tokens: dict[int, str]

    def save(self, cell: int, client: httpx2.Client, content: str, project: str) -> Save:
        begun = monotonic()
        try:
            answer = self.services.ask("save_context", client, content=content, project_id=project)
            status = str(answer.get("status", answer))
        except httpx2.HTTPStatusError as error:
            status = f"HTTP {error.response.status_code}"
        except httpx2.HTTPError as error:
            status = type(error).__name__
        return Save(cell, content, status, begun, monotonic() - begun)

    def client(self, cell: int) -> httpx2.Client:
        """A client with the token of the organisation of a cell."""
        client = self.services.agent()
        client.headers["Authorization"] = f"Bearer {self.tokens[cell]}"
        return client

    def contents(self, project: str) -> dict[int, Counter[str]]:
        """The rows of a project in each cell."""
        query = (
            f"select props ->> 'content' from pgmem.node where label = 'Context' and project = '{project}'"
        )
        return {
            cell: Counter(self.services.sql(query, service=service)) for cell, service in enumerate(CELLS)
        }


@pytest.fixture(scope="module")
def running(tree: Any) -> Iterator[Fleet]:
    services = Stack(tree, **images(), COMPOSE_PROFILES="cells", PGMEM_STORE=STORE)
    try:
        services.up()
        orgs: dict[int, str] = {}
        for org in ("acme", "globex", "initech", "umbrella"):
            home = services.sql(f"select cell from front.home('{org}')", service="front")
            orgs.setdefault(int(home[0]), org)
        assert set(orgs) == {0, 1}
        tokens = {}
        for cell, org in orgs.items():
            services.issue_token(org)
            tokens[cell] = services.token
        yield Fleet(services, orgs, tokens)
    except BaseException:
        print(services.compose("logs", "--tail", "30"))
        raise
    finally:
        services.down()


Fault = Callable[[Stack], Iterator[None]]


def save_through(fleet: Fleet, fault: Fault, meanwhile: Callable[[], None] = lambda: None) -> Course:
    """Let agents of each cell save before a fault, during it and after it, until their outbox is empty again."""
    services, project, over = fleet.services, f"fault-{uuid4().hex[:8]}", Event()
    saves: list[Save] = []
    for cell in fleet.orgs:
        with fleet.client(cell) as client:
            opened = services.ask("save_session", client, objective="Break something", project_id=project)
            assert opened["status"] == "saved", opened

    def agent(cell: int, number: int) -> None:
        client, made = fleet.client(cell), 0
        while not over.is_set():
            made += 1
            save = fleet.save(cell, client, f"{project} note {made} of agent {number}", project)
            saves.append(save)
            if save.status not in ("saved", "pending_retry"):
                client.close()
                client = fleet.client(cell)
            over.wait(PAUSE)
        client.close()

    with ThreadPoolExecutor(AGENTS * len(fleet.orgs)) as pool:
        try:
            agents = [
                pool.submit(agent, cell, cell * AGENTS + n) for n in range(AGENTS) for cell in fleet.orgs
            ]
            Event().wait(BEFORE)
            with ExitStack() as stack:
                begun = monotonic()
                stack.enter_context(contextmanager(fault)(services))
                ends = monotonic() + DURING
                meanwhile()
                Event().wait(max(0.0, ends - monotonic()))
                ended = monotonic()
            for cell in fleet.orgs:
                until(
                    lambda cell=cell: any(  # type: ignore[misc]
                        save.status == "saved" for save in Course(saves, begun, ended).after(cell)
                    ),
                    f"cell {cell} saves nothing after the fault",
                    180,
                )
        finally:
            over.set()
        for one in agents:
            one.result()
    services.wait_for_answer()
    until(lambda: queued(services) == 0, "the outbox is never empty again", 180)
    compare(fleet, project, saves)
    return Course(saves, begun, ended)


def compare(fleet: Fleet, project: str, saves: list[Save]) -> None:
    """Whatever was answered is there once, in the cell of its organisation and in no other."""
    held = fleet.contents(project)
    for cell in fleet.orgs:
        answered = {
            save.content for save in saves if save.cell == cell and save.status in ("saved", "pending_retry")
        }
        assert sorted(answered - set(held[cell]))[:3] == [], "lost"
        assert [content for content, times in held[cell].items() if times > 1][:3] == [], "doubled"
        assert set(held[cell]) <= {save.content for save in saves if save.cell == cell}, "of another"


def note(what: str, course: Course) -> None:
    """Print the answers to agents of each cell, and how fast they came."""
    for cell in (0, 1):
        during = course.during(cell)
        said = ", ".join(f"{n} {status}" for status, n in sorted(Counter(s.status for s in during).items()))
        again = [s.begun + s.seconds - course.ended for s in course.after(cell) if s.status == "saved"]
        FIGURES.append(
            f"| {what} | {cell} | {said} | {max(s.seconds for s in during):.1f} s | {p99(course.before(cell)):.0f} ms"
            f" | {p99(during):.0f} ms | {min(again):.1f} s |"
        )


def goes_on(course: Course, cell: int) -> None:
    """Agents of this cell have not noticed a fault of another."""
    assert {save.status for save in course.during(cell)} == {"saved"}
    assert max(save.seconds for save in course.during(cell)) < 2


def is_answered(course: Course, cell: int) -> None:
    """Each save is made or waits, and its agent knows within ten seconds."""
    statuses = {save.status for save in course.during(cell)}
    assert statuses <= {"saved", "pending_retry"}
    assert max(save.seconds for save in course.during(cell)) < ANSWERED


@pytest.mark.parametrize("cell", [1, 0])
def test_a_cell_is_killed(running: Fleet, cell: int) -> None:
    course = save_through(running, lambda services: kill(services, CELLS[cell]))
    note(f"cell {cell} killed", course)
    assert "pending_retry" in {save.status for save in course.during(cell)}
    is_answered(course, cell)
    goes_on(course, 1 - cell)


def test_a_cell_is_paused(running: Fleet) -> None:
    course = save_through(running, lambda services: pause(services, "cell-1"))
    note("cell 1 paused", course)
    assert "pending_retry" in {save.status for save in course.during(1)}
    is_answered(course, 1)
    goes_on(course, 0)


def test_no_packet_comes_between_the_pooler_and_a_cell(running: Fleet) -> None:
    course = save_through(running, lambda services: cut(services, "cells-pooler", "cell-1"))
    note("no packet between pooler and cell 1", course)
    assert "pending_retry" in {save.status for save in course.during(1)}
    is_answered(course, 1)
    goes_on(course, 0)


def test_the_pooler_is_killed(running: Fleet) -> None:
    course = save_through(running, lambda services: kill(services, "cells-pooler"))
    note("pooler of the cells killed", course)
    for cell in running.orgs:
        assert "pending_retry" in {save.status for save in course.during(cell)}
        is_answered(course, cell)


def test_the_front_is_killed_and_its_standby_serves(running: Fleet) -> None:
    """The directory's primary is away: saves go on, and changes of the directory are refused with the reason."""

    def meanwhile() -> None:
        for words in (("cells", "move", running.orgs[0], "1"), ("cells", "status")):
            with pytest.raises(RuntimeError, match="front does not answer"):
                cells(running.services, *words)
        with pytest.raises(RuntimeError, match="read-only"):
            running.services.issue_token("hooli")
        with running.client(0) as client:
            found = running.services.ask("retrieve_context", client, project_id="fault")
            assert "error" not in found

    course = save_through(running, lambda services: kill(services, "front"), meanwhile)
    note("front killed", course)
    for cell in running.orgs:
        is_answered(course, cell)
        later = [save for save in course.during(cell) if save.begun > course.begun + ANSWERED]
        assert {save.status for save in later} == {"saved"}
    running.services.issue_token("hooli")
    assert json.loads(cells(running.services, "cells", "status", "--json"))["moves"] == []


def test_no_packet_comes_between_the_program_and_the_front(running: Fleet) -> None:
    course = save_through(running, lambda services: cut(services, "mcp", "front"))
    note("no packet between program and front", course)
    for cell in running.orgs:
        is_answered(course, cell)
        assert course.during(cell)[-1].status == "saved"
