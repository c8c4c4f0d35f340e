"""A program of the last release that runs on while its store is upgraded: its calls, its answers, and that it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgmem.install import schema
from tests.conftest import past_the_pooler
from tests.core.schema.conftest import ROOT, MakeDatabase
from tests.fixtures.verbs import Rows

RELEASED = Path(__file__).parent / "released"
COMMITS = {"0.1.0": "81bfd2c"}
CALLS: dict[str, dict[str, Any]] = {
    release: json.loads((RELEASED / release / "calls.json").read_text(encoding="utf-8"))
    for release in COMMITS
}
BREAKS: dict[tuple[str, str, str], str] = {}
"""By (release, verb, argument or column) why a program of that release is refused or gets another answer.

Each entry is also a line of CHANGELOG.md under "Old programs must be restarted".
"""

_SIGNATURES = """
select p.proname as verb,
  array(select substr(a.name, 3) from unnest(p.proargnames, p.proargmodes) as a(name, mode)
        where coalesce(mode, 'i') = 'i') as takes,
  array(select substr(a.name, 3) from unnest(p.proargnames, p.proargmodes) with ordinality as a(name, mode, place)
        where coalesce(mode, 'i') = 'i' and place <= p.pronargs - p.pronargdefaults) as requires,
  coalesce(
    (select array_agg(a.name) from unnest(p.proargnames, p.proargmodes) as a(name, mode) where mode in ('t', 'o')),
    (select array_agg(a.attname::text) from pg_type t join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0
     where t.oid = p.prorettype), array[p.proname::text]) as answers
from pg_proc p where p.pronamespace = 'pgmem'::regnamespace and p.proname = any (%s)
"""


@pytest.mark.parametrize("release", COMMITS)
def test_each_call_of_a_program_of_the_last_release_is_still_one(release: str, rows: Rows) -> None:
    calls = CALLS[release]
    found = {row["verb"]: row for row in rows(_SIGNATURES, list(calls))}
    lost = {
        (release, verb, name)
        for verb, call in calls.items()
        for name in ({verb} - found.keys())
        or {
            *set(call["arguments"]) - set(found[verb]["takes"]),
            *set(found[verb]["requires"]) - set(call["arguments"]),
            *set(call["columns"]) - set(found[verb]["answers"]),
        }
    }
    assert lost == BREAKS.keys(), "accept it again, or declare the break here and in CHANGELOG.md"


@pytest.mark.parametrize(
    "verb", ["get_session", "revoke_token", "search_memory", "manage_engineering_memory"]
)
def test_an_argument_of_former_clients_is_not_an_argument_of_a_method(verb: str) -> None:
    import inspect

    from pgmem import Memory

    taken = inspect.signature(getattr(Memory, verb)).parameters
    assert not {"id", "names", "arguments"} & taken.keys()
    required = {"get_session": {"session_id"}, "revoke_token": {"token_id"}}.get(verb, set())
    assert all(taken[name].default is inspect.Parameter.empty for name in required)


@pytest.fixture(scope="session")
def old_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of 0.1.0, as its wheel had them, with the name and the number of that release."""
    commit = COMMITS["0.1.0"]
    folder = tmp_path_factory.mktemp("release-0.1.0")
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "pgmem", "sql", "migrations"],
        capture_output=True,
        check=False,
    )
    if archive.returncode != 0:
        pytest.skip(f"the clone is shallow: it lacks {commit}, the commit of the last release")
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive.stdout, check=True)
    metadata = folder / "pgmem_agent-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pgmem-agent\nVersion: 0.1.0\n")
    return folder


@pytest.mark.long
def test_a_program_of_the_last_release_works_on_while_its_store_is_upgraded(
    database: MakeDatabase, old_sources: Path
) -> None:
    def start(mode: str, dsn: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(RELEASED / "program_0_1_0.py"), mode, dsn],
            env={**os.environ, "PYTHONPATH": str(old_sources)},
            cwd=old_sources,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ran(process: subprocess.Popen[str], line: str = "") -> str:
        out, err = process.communicate(line, timeout=300)
        assert process.returncode == 0, err[-2000:]
        return out

    outcomes = {}
    for is_upgraded in (False, True):
        dsn = past_the_pooler(database())
        ran(start("install", dsn))
        with psycopg.connect(dsn) as connection:
            made = connection.execute("select release from pgmem.schema_version").fetchone()
        assert made == ("0.1.0",)
        program = start("calls", dsn)
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        if is_upgraded:
            assert schema.upgrade(dsn).changed is True
        answer = json.loads(ran(program, "\n"))
        assert answer["calls"] == CALLS["0.1.0"]
        outcomes[is_upgraded] = answer["outcomes"]
    # No step that the old store served fails on the new one.
    assert {
        step: outcome for step, outcome in outcomes[True].items() if outcome != "ok" == outcomes[False][step]
    } == {}
