"""docker/compose.yaml for real: from a clean clone to a first memory, its profiles, its upgrades, its refusals."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from time import monotonic

import httpx2
import pytest

from pgmem.install.history import migrations
from tests.docker.conftest import FIGURES, images, tag
from tests.docker.stack import (
    STAGES,
    Stack,
    build,
    clone,
    make_base,
    run,
    size,
    stack,
    until,
)
from tests.servers.roots import free_port

pytestmark = pytest.mark.docker
MOST_MB = {"postgres": 300, "pooler": 200, "mcp": 350, "metrics": 500}
OLDER = "debian:trixie-slim", "17"


def save(services: Stack, title: str) -> None:
    session = services.ask("save_session", objective="Open the shop", project_id="shop")
    assert session["status"] == "saved", session
    decision = services.ask("save_decision", title=title, rationale="one thing to run", project_id="shop")
    assert decision["status"] == "saved", decision


def finds(services: Stack, title: str) -> bool:
    found = services.ask("search_memory", query=title, project_id="shop")
    return title in json.dumps(found)


def test_from_a_clean_clone_to_a_first_memory(tree: Path) -> None:
    begun = monotonic()
    services = Stack(tree, **images())
    try:
        services.up()
        FIGURES.append(f"docker compose up to the first answer: {monotonic() - begun:.0f} s")
        services.issue_token()
        save(services, "Use one PostgreSQL")
        FIGURES.append(f"docker compose up to the first memory: {monotonic() - begun:.0f} s")
        assert finds(services, "Use one PostgreSQL")
        clients = services.sql(
            "select distinct host(client_addr) from pg_stat_activity where usename = 'pgmem'"
        )
        assert clients == [services.address("pooler")]
    finally:
        services.down()


def test_the_alerts_fire_for_what_they_name(tree: Path, place: Path) -> None:
    shutil.copy2(tree / "docker/alerts.yaml", place / "alerts.yaml")
    shutil.copy2(Path(__file__).parent / "alerts_test.yaml", place / "test.yaml")
    said = run(
        *("docker", "run", "--rm", "--volume", f"{place}:/rules:ro", "--entrypoint", "promtool"),
        *(f"{STAGES['metrics']}:{tag()}", "test", "rules", "/rules/test.yaml"),
    )
    assert "SUCCESS" in said


@pytest.mark.parametrize("stage", STAGES)
def test_an_image_is_small_not_of_root_labelled_and_lists_its_packages(tree: Path, stage: str) -> None:
    image = f"{STAGES[stage]}:{tag()}"
    found = json.loads(run("docker", "image", "inspect", image))[0]["Config"]
    assert size(image) < MOST_MB[stage]
    assert found["Healthcheck"]["Test"]
    assert found["Labels"]["org.opencontainers.image.title"] == STAGES[stage]
    assert found["Labels"]["org.opencontainers.image.licenses"]
    shown = run(
        "docker", "run", "--rm", "--entrypoint", "sh", image, "-c", "id -u; cat /usr/share/pgmem/packages.tsv"
    )
    user, *lines = shown.splitlines()
    assert int(user) > 0
    packages = [line.split("\t") for line in lines]
    assert all(len(package) == 4 and all(package) for package in packages)
    names = {package[1] for package in packages}
    assert {
        "postgres": {"postgresql-18", "postgresql-18-age", "postgresql-18-pgvector"},
        "pooler": {"pgbouncer"},
        "mcp": {"python3", "pgmem-agent", "psycopg"},
        "metrics": {"prometheus"},
    }[stage] <= names


def test_what_operators_do_is_one_exec(services: Stack) -> None:
    save(services, "Use the exec of Compose")
    assert services.sql("select count(*) from pgmem.node where title = 'Use the exec of Compose'") == ["1"]
    doctor = json.loads(services.exec("mcp", "pgmem", "doctor", "--json"))
    assert [check for check in doctor if check["level"] == "look"] == []
    listed = json.loads(services.exec("mcp", "pgmem", "token", "list", "--json"))
    assert "test" in json.dumps(listed)
    dump = services.exec("postgres", "sh", "-c", "pg_dump --format=custom memory | pg_restore --list")
    assert "TABLE DATA pgmem node" in dump
    exported = services.exec("mcp", "pgmem", "export", "--all-tenants", "-")
    assert "Use the exec of Compose" in exported


@pytest.mark.parametrize("service", ["postgres", "pooler", "mcp"])
def test_a_container_has_no_rights_it_does_not_need(services: Stack, service: str) -> None:
    found = json.loads(run("docker", "inspect", services.container(service)))[0]["HostConfig"]
    assert found["ReadonlyRootfs"]
    assert found["CapDrop"] == ["ALL"]
    assert found["SecurityOpt"] == ["no-new-privileges:true"]
    assert found["Memory"] > 0
    status = services.exec(service, "cat", "/proc/1/status")
    held = re.findall(r"(?m)^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs):\s*(\w+)$", status)
    assert {int(value, 16) for name, value in held if name != "NoNewPrivs"} == {0}
    assert ("NoNewPrivs", "1") in held
    with pytest.raises(RuntimeError, match="Read-only file system"):
        services.exec(service, "touch", "/usr/local/bin/own")


def test_the_pooler_stops_at_once_while_clients_are_connected(services: Stack) -> None:
    assert services.probe("/health/ready") == 200  # the program holds connections
    begun = monotonic()
    services.compose("stop", "pooler")
    took = monotonic() - begun
    state = json.loads(run("docker", "inspect", services.container("pooler")))[0]["State"]
    services.up()
    assert state["ExitCode"] == 0
    assert took < 5


SECRETS = {
    "postgres": ("postgres_password", {"POSTGRES_PASSWORD_FILE": "/run/secrets/postgres_password"}, 999),
    "pooler": ("pgmem_password", {}, 999),
    "mcp": ("pgmem_password", {}, 10001),
}


@pytest.mark.parametrize("service", SECRETS)
@pytest.mark.parametrize(("text", "mode"), [("secret", 0o600), ("", 0o644)], ids=["unreadable", "empty"])
def test_a_secret_that_cannot_be_used_ends_the_start_with_its_name(
    tree: Path, place: Path, service: str, text: str, mode: int
) -> None:
    name, variables, user = SECRETS[service]
    secret = place / name
    secret.write_text(text)
    secret.chmod(mode)
    given = [word for each in variables.items() for word in ("--env", "=".join(each))]
    with pytest.raises(RuntimeError) as failed:
        run(
            *("docker", "run", "--rm", "--volume", f"{secret}:/run/secrets/{name}:ro", *given),
            f"{STAGES[service]}:{tag()}",
        )
    said = str(failed.value)
    assert f"The secret /run/secrets/{name} " in said
    assert f"cannot be read by user {user}: " in said or "is empty: " in said
    assert f"secrets/{name}" in said


def test_a_login_whose_secret_is_unreadable_is_not_left_out(tree: Path, place: Path) -> None:
    """The server would start without the login pgmem, and every program would fail to connect."""
    (place / "pgmem_password").write_text("secret")
    (place / "pgmem_password").chmod(0o600)
    with pytest.raises(
        RuntimeError, match=r"The secret /run/secrets/pgmem_password cannot be read by user 999"
    ):
        run(
            *("docker", "run", "--rm", "--env", "POSTGRES_PASSWORD=only-for-tests"),
            *("--volume", f"{place / 'pgmem_password'}:/run/secrets/pgmem_password:ro"),
            f"{STAGES['postgres']}:{tag()}",
        )


def test_volumes_survive_down_and_up(services: Stack) -> None:
    save(services, "Keep what is on the volumes")
    services.compose("down")
    services.up()
    assert finds(services, "Keep what is on the volumes")


def test_nothing_but_the_program_is_reachable_from_outside(services: Stack) -> None:
    published = run(
        "docker",
        "ps",
        "--filter",
        f"label=com.docker.compose.project={services.name}",
        "--format",
        "{{.Ports}}",
    )
    assert re.findall(r"[\d.]+:\d+->\d+/tcp", published) == [f"127.0.0.1:{services.port}->8000/tcp"]


def test_a_worker_a_replica_and_metrics_are_profiles(tree: Path) -> None:
    port = free_port()
    variables = {
        **images(),
        "COMPOSE_PROFILES": "worker,replica,metrics",
        "PGMEM_METRICS_PORT": str(port),
        "PGMEM_READ_DSN": "host=replica dbname=memory user=pgmem",
        "PGMEM_LOG_LEVEL": "info",
    }
    with stack(tree, **variables) as services:
        save(services, "Read from the replica")
        services.sql("select 1 from pg_stat_replication where state = 'streaming'")
        count = "select count(*) from pgmem.node where title = 'Read from the replica'"
        until(lambda: services.sql(count, "replica") == ["1"], "the replica never has the memory")
        assert services.sql("select pg_is_in_recovery()", "replica") == ["t"]

        def reads_from_the_replica() -> bool:
            assert finds(services, "Read from the replica")
            return (
                'server="replica"' in httpx2.get(f"http://127.0.0.1:{services.port}/metrics", timeout=10).text
            )

        until(reads_from_the_replica, "no read goes to the replica")

        def value(query: str) -> list[str]:
            url = f"http://127.0.0.1:{port}/api/v1/query"
            try:
                answer = httpx2.get(url, params={"query": query}, timeout=5).json()
            except httpx2.TransportError:
                return []
            return [found["value"][1] for found in answer["data"]["result"]]

        until(lambda: value("count(pgmem_up == 1)") == ["2"], "Prometheus does not scrape program and worker")
        until(lambda: value("sum(pgmem_saves_total{status='saved'})") == ["2"], "Prometheus has no saves")
        rules = httpx2.get(f"http://127.0.0.1:{port}/api/v1/rules", timeout=5).json()["data"]["groups"]
        alerts = {rule["name"]: rule["health"] for group in rules for rule in group["rules"]}
        assert "PgmemDatabaseUnusable" in alerts
        assert set(alerts.values()) <= {"ok", "unknown"}
        for service in ("replica", "metrics", "worker"):
            found = json.loads(run("docker", "inspect", services.container(service)))[0]["HostConfig"]
            assert (found["ReadonlyRootfs"], found["CapDrop"]) == (True, ["ALL"])


NEXT = """from alembic import op

revision, down_revision = "9999", "{last}"


def upgrade() -> None:
    op.execute("alter table pgmem.card_file add column of_the_next_release text")
"""


def test_a_new_image_upgrades_an_old_volume_with_a_worker_running(tree: Path, tmp_path: Path) -> None:
    """The next release is this one with another number and one more migration."""
    after = clone(tmp_path)
    project = after / "pyproject.toml"
    project.write_text(
        re.sub(r'(?m)^version = ".*"', 'version = "99.0"', project.read_text(encoding="utf-8"))
    )
    last = migrations()[-1].revision
    (after / "migrations/versions/9999_next.py").write_text(NEXT.format(last=last))
    build(after, "mcp", "pgmem:next")
    try:
        with stack(tree, **images(), COMPOSE_PROFILES="worker") as services:
            save(services, "Upgrade in place")
            assert services.sql("select version_num from pgmem.alembic_version") == [last]
            services.use(PGMEM_IMAGE="pgmem:next")
            services.up()
            assert services.sql("select version_num from pgmem.alembic_version") == ["9999"]
            assert services.sql("select release from pgmem.schema_version") == ["99.0"]
            assert finds(services, "Upgrade in place")
            doctor = json.loads(services.exec("mcp", "pgmem", "doctor", "--json"))
            assert [check for check in doctor if check["level"] == "look"] == []
    finally:
        run("docker", "rmi", "--force", "pgmem:next")


def test_a_volume_of_another_major_is_refused_with_a_way_out_that_works(tree: Path) -> None:
    base, major = OLDER
    make_base(base)
    older = f"pgmem-postgres:{major}"
    build(tree, "postgres", older, BASE=base, POSTGRES=major)
    with stack(tree, **(images() | {"PGMEM_POSTGRES_IMAGE": older})) as services:
        save(services, "Move to the next major")
        services.compose("stop")
        services.compose(
            "up", "--detach", "--no-deps", "postgres", PGMEM_POSTGRES_IMAGE=images()["PGMEM_POSTGRES_IMAGE"]
        )
        refusal = f"The volume holds a cluster of PostgreSQL {major}."
        until(lambda: refusal in services.compose("logs", "postgres"), "the volume is not refused")
        # The remedy that the message names.
        services.compose("up", "--detach", "--no-deps", "postgres")
        until(services.serves, "the old server does not come back")
        dump = services.exec("postgres", "sh", "-c", "pg_dump --format=custom memory | base64")
        services.compose("down")
        run("docker", "volume", "rm", f"{services.name}_data")
        services.use(PGMEM_POSTGRES_IMAGE=images()["PGMEM_POSTGRES_IMAGE"])
        services.up()
        services.compose("stop", "mcp")
        services.exec("postgres", "sh", "-c", "base64 --decode | restore-memory", stdin=dump)
        services.up()
        services.exec("mcp", "pgmem", "graph", "rebuild")
        assert finds(services, "Move to the next major")  # with the old token
        assert services.sql("show server_version_num")[0].startswith("18")
        doctor = json.loads(services.exec("mcp", "pgmem", "doctor", "--json"))
        assert [check for check in doctor if check["level"] == "look"] == []
