"""The profile cells of docker/compose.yaml: two stores behind a front, over MCP, as a person who read the page makes them."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic

import pytest

from tests.docker.conftest import FIGURES, images
from tests.docker.stack import Stack, build, make_base, until
from tests.docker.test_compose import OLDER

pytestmark = pytest.mark.docker
STORE = "host=front,front-standby dbname=memory"


def cells(services: Stack, *words: str) -> str:
    """Run a command of pgmem beside the front."""
    return services.compose("run", "--rm", "--no-deps", "-T", "cells", "pgmem", *words)


def home(services: Stack, org: str) -> int:
    return int(json.loads(cells(services, "cells", "where", org, "--json"))["cell"])


@pytest.mark.parametrize("major", ["18", OLDER[1]])
def test_two_organisations_in_two_cells_and_one_of_them_moves(tree: Path, major: str) -> None:
    chosen = images()
    if major == OLDER[1]:
        make_base(OLDER[0])
        chosen["PGMEM_POSTGRES_IMAGE"] = f"pgmem-postgres:{major}"
        build(tree, "postgres", chosen["PGMEM_POSTGRES_IMAGE"], BASE=OLDER[0], POSTGRES=major)
    begun = monotonic()
    services = Stack(tree, **chosen, COMPOSE_PROFILES="cells", PGMEM_STORE=STORE)
    try:
        services.up()
        assert services.sql("show server_version_num", "front")[0].startswith(major)
        FIGURES.append(f"docker compose --profile cells up to the first answer: {monotonic() - begun:.0f} s")
        orgs = {home(services, org): org for org in ("acme", "globex", "initech", "umbrella")}
        tokens = {}
        for number, org in orgs.items():
            services.issue_token(org)
            tokens[number] = services.token
            saved = services.ask("save_session", objective=f"Open {org}", project_id="shop")
            assert saved["status"] == "saved", saved
        assert set(orgs) == {0, 1}
        FIGURES.append(f"to the first memories of two organisations: {monotonic() - begun:.0f} s")
        cells(services, "cells", "move", orgs[0], "1")
        assert home(services, orgs[0]) == 1
        for number, org in orgs.items():
            services.token = tokens[number]
            found = json.dumps(services.ask("search_memory", query="open", project_id="shop"))
            assert f"Open {org}" in found
            assert orgs[1 - number] not in found
        assert json.loads(cells(services, "cells", "status", "--json"))["moves"] == []
        looks = [
            each
            for each in json.loads(cells(services, "doctor", "--cells", "--json"))
            if each["level"] == "look"
        ]
        assert looks == []
        services.compose("stop", "front")  # the standby serves saves
        services.wait_for_answer()
        until(lambda: "error" not in services.ask("save_context", content="By the standby", project_id="shop"), "no save")  # fmt: skip
        services.compose("start", "front")
        services.compose("run", "--rm", "--no-deps", "-T", "cells")  # a second run changes nothing
    except BaseException:
        print(services.compose("logs", "--tail", "30"))
        raise
    finally:
        services.down()
