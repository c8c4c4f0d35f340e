"""Faults in the middle of a thousand saves: the answers to agents, the saves in the outbox, the rows afterwards.

Each fault begins while agents save and ends while they still do. Whatever an agent was answered `saved` or
`pending_retry` for must be in the database once, after the fault is over; and nothing may be there twice.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Lock
from time import monotonic, time
from uuid import uuid4

import httpx2
import pytest

from tests.docker.conftest import FIGURES, images
from tests.docker.faults import cut, inside, kill, pause, queued
from tests.docker.stack import Stack, run, stack, until

pytestmark = pytest.mark.docker
SAVES, AGENTS = 1000, 8
# A request that waited too long in the queue of its tenant is refused with 429. It says to come again, and nothing is
# acknowledged.
KNOWN = {"saved", "pending_retry", "HTTP 429"}
BEGIN, END = 200, 700  # the fault begins and ends when so many saves were answered


@dataclass
class Answers:
    """The answers to agents."""

    statuses: Counter[str] = field(default_factory=Counter)
    acknowledged: set[str] = field(default_factory=set)
    slowest: float = 0.0
    most_queued: int = 0
    recovered: float = 0.0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.statuses.values())


Fault = Callable[[Stack], Iterator[None]]


def save_through(services: Stack, fault: Fault, begin: int = BEGIN, seconds: float = 25) -> Answers:
    """Let agents save; the fault begins in the middle, and ends after a number of answers or some seconds."""
    project = f"fault-{uuid4().hex[:8]}"
    opened = services.ask("save_session", objective="Break something", project_id=project)
    assert opened["status"] == "saved", opened
    answers, lock, numbers, healed = Answers(), Lock(), count(), Event()
    enough = Event()

    def agent() -> None:
        client = services.agent()
        # A fault lasts as long as it must: saves go on until it is over, and there are a thousand at least.
        while (number := next(numbers)) < SAVES or not healed.is_set():
            content, begun = f"{project} note {number}", monotonic()
            try:
                answer = services.ask("save_context", client, content=content, project_id=project)
                status = str(answer.get("status", "error"))
            except httpx2.HTTPStatusError as error:
                status = f"HTTP {error.response.status_code}"
                Event().wait(0.2)
            except httpx2.HTTPError as error:
                status = type(error).__name__
                client.close()
                client = services.agent()
                Event().wait(0.2)  # as an agent does that cannot reach its server
            with lock:
                answers.statuses[status] += 1
                answers.slowest = max(answers.slowest, monotonic() - begun)
                if status in ("saved", "pending_retry"):
                    answers.acknowledged.add(content)
                if answers.total >= begin:
                    enough.set()
        client.close()

    with ThreadPoolExecutor(AGENTS) as pool:
        try:
            running = [pool.submit(agent) for _ in range(AGENTS)]
            assert enough.wait(120), "the agents never come to the fault"
            with contextmanager(fault)(services):
                ends = monotonic() + seconds
                while monotonic() < ends and answers.total < END + begin:
                    Event().wait(0.2)
                answers.most_queued = queued(services)
        finally:
            healed.set()
        for one in running:
            one.result()
    services.wait_for_answer()
    answers.recovered = until(lambda: queued(services) == 0, "the outbox is never empty again", 300)
    compare(services, project, answers)
    return answers


def compare(services: Stack, project: str, answers: Answers) -> None:
    """Find saves that were acknowledged and are lost, and those that are there twice."""
    query = f"select props ->> 'content' from pgmem.node where label = 'Context' and project = '{project}'"
    stored = Counter(services.sql(query))
    answers.lost = sorted(answers.acknowledged - set(stored))
    answers.doubled = [content for content, times in stored.items() if times > 1]
    # It ends with 1 where a save was answered with failed, and so waits for a person.
    doctor = json.loads(services.exec("mcp", "sh", "-c", "pgmem doctor --json || true"))
    assert [line for line in doctor if line["check"] == "graph" and line["level"] != "ok"] == []


def print_answers(fault: str, answers: Answers, known: Iterable[str] = KNOWN) -> None:
    """Add a row to the table of docs/explanation/when-things-break.md; nothing is lost, nothing doubled."""
    said = ", ".join(f"{number} {status}" for status, number in sorted(answers.statuses.items()))
    row = (fault, said, f"{answers.slowest:.1f} s", answers.most_queued, f"{answers.recovered:.0f} s")
    FIGURES.append(f"| {' | '.join(map(str, row))} |")
    assert answers.total >= SAVES
    assert (answers.lost[:3], answers.doubled[:3]) == ([], [])
    assert set(answers.statuses) <= set(known)


@pytest.fixture(scope="module")
def broken(tree: Path) -> Iterator[Stack]:
    """Services to break, with a worker."""
    with stack(tree, **images(), COMPOSE_PROFILES="worker") as services:
        yield services


@pytest.mark.parametrize(
    ("one", "other"), [("mcp", "pooler"), ("pooler", "postgres")], ids=["program-pooler", "pooler-server"]
)
def test_a_partition(broken: Stack, one: str, other: str) -> None:
    answers = save_through(broken, lambda services: cut(services, one, other))
    print_answers(f"no packet between {one} and {other}", answers)
    assert answers.statuses["saved"] < answers.total
    assert answers.slowest < 45


@pytest.mark.parametrize("service", ["pooler", "worker", "postgres"])
def test_a_process_is_killed(broken: Stack, service: str) -> None:
    answers = save_through(broken, lambda services: kill(services, service))
    print_answers(f"{service} killed and started again", answers)
    assert (answers.statuses["saved"] == answers.total) is (service == "worker")


def test_the_program_is_killed(broken: Stack) -> None:
    answers = save_through(broken, lambda services: kill(services, "mcp"), seconds=10)
    # Nobody answers while it is away.
    nobody = {"ConnectError", "ReadError", "RemoteProtocolError"}
    print_answers("mcp killed and started again", answers, KNOWN | nobody)
    assert nobody & set(answers.statuses)


@pytest.mark.parametrize("service", ["postgres"])
def test_a_container_is_paused_for_a_minute(broken: Stack, service: str) -> None:
    answers = save_through(broken, lambda services: pause(services, service), seconds=60)
    print_answers(f"{service} paused for a minute", answers)
    assert answers.slowest < 75


def test_a_slow_link(broken: Stack) -> None:
    """256 kbit/s; this kernel may have no netem, so the bucket of tbf makes it slow."""

    def slow(services: Stack) -> Iterator[None]:
        shape = ("root", "tbf", "rate", "256kbit", "burst", "16kb", "latency", "2s")
        inside(services, "mcp", "tc", "qdisc", "add", "dev", "eth0", *shape)
        yield
        inside(services, "mcp", "tc", "qdisc", "del", "dev", "eth0", "root")

    answers = save_through(broken, slow)
    print_answers("256 kbit/s between mcp and everything", answers)


def test_a_lossy_link(broken: Stack) -> None:
    def lossy(services: Stack) -> Iterator[None]:
        there = services.address("pooler")
        drop = ("-m", "statistic", "--mode", "random", "--probability", "0.1", "-j", "DROP")
        inside(services, "mcp", "iptables", "-A", "INPUT", "--source", there, *drop)
        inside(services, "mcp", "iptables", "-A", "OUTPUT", "--destination", there, *drop)
        yield
        inside(services, "mcp", "iptables", "--flush")

    answers = save_through(broken, lossy)
    print_answers("every tenth packet lost between mcp and pooler", answers)


LINK = """
import asyncio, pathlib, random

async def pass_on(reader, writer, there):
    try:
        while data := await reader.read(65536):
            delay, cuts = map(float, pathlib.Path("/link/state").read_text().split())
            await asyncio.sleep(delay)
            if random.random() < cuts:
                writer.transport.abort()
                there.transport.abort()
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()

async def take(reader, writer):
    there = await asyncio.open_connection("pooler", 6432)
    await asyncio.gather(pass_on(reader, there[1], writer), pass_on(there[0], writer, there[1]))

async def main():
    await (await asyncio.start_server(take, "0.0.0.0", 6432)).serve_forever()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def linked(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, Path]]:
    """Services whose program reaches the pooler through a process, and the file that lists the effect on the pieces."""
    folder, override = shared(tmp_path_factory), tmp_path_factory.mktemp("linked") / "link.json"
    (folder / "link.py").write_text(LINK)
    state = folder / "state"
    state.write_text("0 0")
    link = {
        "image": images()["PGMEM_IMAGE"],
        "entrypoint": ["python3", "/link/link.py"],
        "volumes": [f"{folder}:/link:ro"],
        "healthcheck": {"disable": True},
    }
    through = {"environment": {"PGMEM_DSN": "host=link port=6432 dbname=memory user=pgmem"}}
    override.write_text(json.dumps({"services": {"link": link, "mcp": through}}))
    with stack(tree, override, **images()) as services:
        yield services, state


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("0.1 0", "100 ms more each way between mcp and pooler"),
        ("0 0.01", "a connection between mcp and pooler cut at every hundredth piece"),
    ],
    ids=["delayed", "cut"],
)
def test_a_link_that_is_late_or_cuts_connections(linked: tuple[Stack, Path], state: str, what: str) -> None:
    """By a process between them, because a kernel may have no netem."""
    services, file = linked

    def worse(services: Stack) -> Iterator[None]:
        rewrite(file, state)
        yield
        rewrite(file, "0 0")

    print_answers(what, save_through(services, worse))


def rewrite(file: Path, text: str) -> None:
    """Change a file at once: libfaketime ends a program that finds it empty."""
    new = file.with_name("new")
    new.write_text(text)
    new.replace(file)


def shared(factory: pytest.TempPathFactory) -> Path:
    """A folder that containers may read: they are not of the user that runs the tests."""
    folder = factory.mktemp("shared")
    folder.chmod(0o755)
    return folder


def test_the_kernel_kills_at_the_limit_of_memory(broken: Stack) -> None:
    """Three statements in a row take more memory than the container of the server may have."""
    hungry = """
        set work_mem = '8GB';
        select count(*) from (
          select repeat('x', 1000000) || i as text from generate_series(1, 3000) i order by text offset 1) all_of_it
    """

    def limit(services: Stack) -> Iterator[None]:
        server = services.container("postgres")
        run("docker", "update", "--memory", "1g", "--memory-swap", "1g", server)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="terminat|connection|closed"):
                services.sql(hungry)
            until(services.serves, "the server does not come back")
        yield
        run("docker", "update", "--memory", "16g", "--memory-swap", "16g", server)

    answers = save_through(broken, limit)
    print_answers("postgres at its limit of memory, a process killed three times", answers)
    assert broken.compose("logs", "postgres").count("terminated by signal 9") >= 3
    assert answers.statuses["saved"] < answers.total


FAKED = """
FROM {image}
USER root
RUN apt-get update \\
 && apt-get install --yes --no-install-recommends libfaketime \\
 && ln -s /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/local/lib/faketime.so
ENV LD_PRELOAD=/usr/local/lib/faketime.so FAKETIME_TIMESTAMP_FILE=/clock/offset FAKETIME_CACHE_DURATION=1 \\
    FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DISABLE_SHM=1
USER {user}
"""


@pytest.fixture(scope="module")
def clocked(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, Path]]:
    """Services whose server, program and worker read the clock through libfaketime, and the file with its offset."""
    folder, override = shared(tmp_path_factory), tmp_path_factory.mktemp("clocked") / "clock.json"
    offset = folder / "offset"
    offset.write_text("+0")
    chosen = images()
    for variable in ("PGMEM_IMAGE", "PGMEM_POSTGRES_IMAGE"):
        image = chosen[variable]
        user = run("docker", "image", "inspect", image, "--format", "{{.Config.User}}").strip()
        chosen[variable] = f"{image}-clock"
        run("docker", "build", "--tag", chosen[variable], "-", stdin=FAKED.format(image=image, user=user))
    mounted = {"volumes": [f"{folder}:/clock:ro"]}
    override.write_text(
        json.dumps({"services": dict.fromkeys(("postgres", "init", "mcp", "worker"), mounted)})
    )
    with stack(tree, override, **chosen, COMPOSE_PROFILES="worker") as services:
        yield services, offset


@pytest.mark.parametrize("seconds", [3600, -3600], ids=["ahead", "back"])
def test_the_clock_jumps_by_an_hour_and_back(clocked: tuple[Stack, Path], seconds: int) -> None:
    """Server, program and worker at once, as on one machine whose clock is set."""
    services, file = clocked

    def ahead_of_this_machine() -> int:
        return round(int(services.sql("select extract(epoch from clock_timestamp())::bigint")[0]) - time())

    def jump(services: Stack) -> Iterator[None]:
        rewrite(file, f"{seconds:+d}")
        until(lambda: abs(ahead_of_this_machine() - seconds) < 60, "the clock of the server does not jump")
        program = int(services.exec("mcp", "date", "+%s"))
        assert abs(program - time() - seconds) < 60
        yield
        rewrite(file, "+0")

    answers = save_through(services, jump)
    print_answers(f"the clock set {'ahead' if seconds > 0 else 'back'} by an hour, and right again", answers)


def test_the_disk_of_the_server_is_full(tree: Path, tmp_path: Path) -> None:
    """A volume of 400 MB in memory, filled by a file."""
    override = tmp_path / "small.yaml"
    small = {"driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": "size=400m,uid=999,gid=999"}}
    override.write_text(json.dumps({"volumes": {"data": small}}))

    def full(services: Stack) -> Iterator[None]:
        ballast = "/var/lib/postgresql/ballast"
        subprocess.run(
            ["docker", "exec", services.container("postgres"), "sh", "-c", f"cat /dev/zero > {ballast}"],
            capture_output=True,
            check=False,
        )
        yield
        run("docker", "exec", services.container("postgres"), "rm", ballast)

    with stack(tree, override, **images()) as services:
        answers = save_through(services, full)
        print_answers("the disk of postgres is full", answers)
        services.wait_for_answer()
