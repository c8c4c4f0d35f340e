"""docs/reference/integrations.md lists the tests that run and those that do not apply."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.features.integrations.upstream import EXCEPTIONS
from tests.upstream import folder

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "integrations.md").read_text(encoding="utf-8")
FILES = {
    "test_langgraph_upstream.py": "test_store.py",
    "test_langgraph_upstream_async.py": "test_async_store.py",
    "test_anthropic_upstream.py": "test_filesystem.py",
    "test_openai_agents_upstream_session.py": "test_session.py",
    "test_openai_agents_upstream_sqlalchemy.py": "test_sqlalchemy_session.py",
    "test_openai_agents_upstream_limit.py": "test_session_limit.py",
    "test_server_memory.py": "servers/src/memory",
}


@pytest.mark.parametrize("suite", EXCEPTIONS)
def test_the_tests_that_are_left_out_are_counted_by_their_reasons(suite: str) -> None:
    reasons = Counter(EXCEPTIONS[suite].values())
    said = ", ".join(f"{reason} ({number})" for reason, number in reasons.items())
    assert f"- `{suite}`: {said}." in " ".join(PAGE.split())


@pytest.mark.parametrize("suite", EXCEPTIONS)
def test_what_is_left_out_is_in_the_suite(suite: str) -> None:
    found = folder(suite)
    text = "".join(path.read_text(encoding="utf-8") for path in [*found.glob("*.py"), *found.glob("*.ts")])
    assert [name for name in EXCEPTIONS[suite] if name not in text] == []


def numbers(session: pytest.Session) -> Counter[str]:
    """How many tests each file of this folder has: of this run if it is of whole folders, else of a collection."""
    if not session.config.option.keyword and all(Path(given).is_dir() for given in session.config.args):
        return Counter(item.path.name for item in session.items if item.path.parent == HERE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-qq", str(HERE)]
    listed = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Counter(
        {Path(file).name: int(count) for file, count in re.findall(r"^(\S+\.py): (\d+)$", listed, re.M)}
    )


def test_the_numbers_of_the_page_are_those_of_this_run(request: pytest.FixtureRequest) -> None:
    folder("langgraph-store")
    run = numbers(request.session)
    for file, theirs in FILES.items():
        (row,) = [
            line
            for line in PAGE.splitlines()
            if line.startswith("|") and re.search(rf"[ `,]{theirs}\b", line)
        ]
        assert int(row.split("|")[3]) == run[file], file
