"""The main job, end to end: a real client over stdio, on a PostgreSQL that is made for it and thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

from tests.conftest import Call


def demo(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGMEM_")}
    return subprocess.run(
        [sys.executable, "-m", "pgmem", "demo", *arguments],
        env={**kept, "EMBEDDING_PROVIDER": "none", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def check(done: dict[str, Any]) -> None:
    """The main job, field by field."""
    state, session, decision, again, near, half, cache, price, relation, pattern, fact, around, bundle = (
        step["answer"] for step in done["steps"]
    )
    assert (state["scope_state"], state["project_exists"], state["write_permitted"]) == (
        "uncertain",
        False,
        False,
    )
    assert (session["status"], session.get("dedup_outcome")) == ("saved", None)
    assert (decision["status"], decision["dedup_outcome"]) == ("saved", "new")
    assert (again["status"], again["dedup_outcome"]) == ("saved", "duplicate_skip")
    assert again["artifact_id"] == decision["artifact_id"]
    assert (near["status"], near["dedup_outcome"]) == ("saved", "supersede")
    assert near["artifact_id"] != decision["artifact_id"]
    assert decision["artifact_id"] in near["message"]
    assert (half["status"], half["dedup_outcome"], half.get("artifact_id")) == (
        "failed",
        "manual_review",
        None,
    )
    assert half["candidate_id"] == near["artifact_id"]
    assert half["candidate_id"] in half["message"]
    for saved in (cache, price, pattern, fact):
        assert (saved["status"], saved["dedup_outcome"]) == ("saved", "new")
    assert relation["created"] is True
    assert (relation["from_id"], relation["to_id"]) == (cache["artifact_id"], price["artifact_id"])
    assert [node["id"] for node in around["nodes"] if node["label"] == "Decision"] == [
        decision["artifact_id"]
    ]

    later = done["next_session"]
    assert "Keep the orders of the shop in PostgreSQL 18" in later["opening"]
    assert "Backups" in later["opening"], "what was left open"
    # The replaced decision is named as that, if at all.
    for line in later["opening"].splitlines():
        assert "PostgreSQL 17" not in line or "PostgreSQL 18" in line, line
    assert later["again"]["message"].startswith("Not saved: on ")
    assert later["before"] == ["Keep the orders of the shop in PostgreSQL 17"]
    assert later["now"] == ["Keep the orders of the shop in PostgreSQL 18"]

    assert (bundle["retrieval_status"], bundle["conflicts_found"]) == ("conflicted", True)
    assert bundle["scope_state"] == "resolved"
    # A rule of an agent is an ordinary memory, until the person's yes.
    assert "standing" not in bundle
    assert "waits for the yes" in price["next_step"]
    assert done["said_yes"] == ["Never cache anything with a price"]
    assert [(item["label"], item["title"]) for item in bundle["items"][:5]] == [
        ("EntityFact", "Stripe"),
        ("Pattern", "Before a release"),
        ("Decision", "Never cache anything with a price"),
        ("Decision", "Cache product pages for an hour"),
        ("Decision", "Keep the orders of the shop in PostgreSQL 18"),
    ]
    assert [item["label"] for item in bundle["items"][5:]] == ["Session"]

    expected = [
        ("CONFLICTS_WITH", "Cache product pages for an hour", "Never cache anything with a price"),
        (
            "SUPERSEDES",
            "Keep the orders of the shop in PostgreSQL 18",
            "Keep the orders of the shop in PostgreSQL 17",
        ),
    ]
    assert [(row["relation"], row["from_title"], row["to_title"]) for row in done["sql"]] == expected
    assert done["cypher"] == done["sql"]


def test_the_main_job_on_a_separate_postgresql_and_not_in_the_store_of_the_environment() -> None:
    """Its output is readable in a terminal of a hundred columns, and nothing stays behind."""
    made_before = set(Path(gettempdir()).glob("pgmem-demo-*"))
    result = demo(PGMEM_DSN="host=127.0.0.1 port=1 dbname=x", COLUMNS="100")
    assert result.returncode == 0, result.stderr
    for expected in (
        "The next session begins with this",
        "duplicate_skip",
        "supersede",
        "manual_review",
        "CONFLICTS_WITH",
        "The same in Cypher",
    ):
        assert expected in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert set(Path(gettempdir()).glob("pgmem-demo-*")) <= made_before


@pytest.mark.usefixtures("age")
def test_the_main_job_in_your_own_database_with_a_conversation(dsn: str, call: Call, tmp_path: Path) -> None:
    said = ["I went to the adoption agency today", "Did you bring the cat?", "The agency was closed"]
    turns = [{"speaker": "Ada", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(said, 1)]
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"conversation": {"session_1": turns, "session_1_date_time": "1 May 2026"}}]))
    result = demo("--json", "--dsn", dsn, "--conversation", str(talk), PGMEM_DATA_DIR=str(tmp_path / "data"))
    assert result.returncode == 0, result.stderr
    done = json.loads(result.stdout)
    check(done)
    conversation = done["conversation"]
    assert (conversation["turns"], conversation["saved"]) == (3, 3)
    assert conversation["found"] == [
        "Ada (1 May 2026): The agency was closed",
        "Ada (1 May 2026): I went to the adoption agency today",
    ]
    assert call("get_scope_state", project_id=done["project"])["project_exists"] is True


def test_a_demo_without_its_database_is_one_line() -> None:
    result = demo("--json", "--dsn", "host=127.0.0.1 port=1 dbname=x")
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("pgmem: ")
    assert result.stdout == ""
