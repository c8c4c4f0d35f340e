"""`pgmem reindex`, `pgmem worker` and the embedding lines of `pgmem status`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Call
from tests.core.cli.conftest import Run
from tests.core.embeddings.server import EmbeddingServer, Request

STATIC = "static:l2_supercat_256"


def remember(call: Call) -> None:
    """Two memories, saved from psql: nothing embeds them there."""
    call("save_session", objective="open the shop", project_id="shop")
    call("save_decision", title="Use redis", rationale="It is fast.", project_id="shop")


def test_without_a_provider_status_reports_it_and_reindex_is_refused(run: Run, call: Call) -> None:
    remember(call)
    assert "none: no vectors, search is by full text" in run("status").stdout
    result = run("reindex")
    assert (result.exit_code, result.stderr) == (
        1,
        "pgmem: Embedding is off: PGMEM_EMBEDDING_PROVIDER is none, or the server has no pgvector.\n",
    )


@pytest.mark.usefixtures("vectors")
def test_reindex_embeds_what_waits_and_status_counts_it(run: Run, call: Call) -> None:
    remember(call)
    done = json.loads(run("reindex", "--json", EMBEDDING_PROVIDER="static").stdout)
    assert done == {"model": STATIC, "embedded": 2, "waiting": 0}
    shown = run("status", EMBEDDING_PROVIDER="static").stdout
    assert f"{STATIC}: 2 vectors, 0 texts without one" in shown
    embedding = json.loads(run("status", "--json", EMBEDDING_PROVIDER="static").stdout)["embedding"]
    assert embedding["provider"] == "static"
    (model,) = embedding["models"]
    assert (model["model"], model["active"], model["vectors"], model["waiting"]) == (STATIC, True, 2, 0)
    again = run("reindex", EMBEDDING_PROVIDER="static")
    assert again.stdout == f"model {STATIC}, embedded 0, waiting 0\n"
    everything = run("reindex", "--all", EMBEDDING_PROVIDER="static")
    assert everything.stdout == f"model {STATIC}, embedded 2, waiting 0\n"


@pytest.mark.usefixtures("vectors")
def test_another_model_is_activated_when_it_is_complete_and_the_old_one_dropped(run: Run, call: Call) -> None:
    call("register_model", name="test:old", dimensions=2)
    remember(call)
    beside = run("reindex", EMBEDDING_PROVIDER="static")
    assert (beside.exit_code, beside.stdout) == (0, f"model {STATIC}, embedded 2, waiting 0\n")
    assert "other model" in run("status", EMBEDDING_PROVIDER="static").stdout
    refused = run("reindex", "--drop", "test:old", EMBEDDING_PROVIDER="static")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "pgmem: Model test:old is the active one; activate another first.\n",
    )
    done = run("reindex", "--activate", "--drop", "test:old", "--json", EMBEDDING_PROVIDER="static")
    assert json.loads(done.stdout) == {
        "model": STATIC,
        "embedded": 0,
        "waiting": 0,
        "active": True,
        "dropped": 0,
    }
    assert "test:old" not in run("status", EMBEDDING_PROVIDER="static").stdout


@pytest.mark.usefixtures("vectors")
def test_a_model_is_not_activated_while_texts_wait(run: Run, call: Call) -> None:
    call("register_model", name="test:old", dimensions=2)
    call("register_model", name=STATIC, dimensions=256)
    remember(call)
    call("queue_embeddings", model=STATIC)
    call("claim_embeddings", model=STATIC, limit=1)  # by a worker that is still at it
    result = run("reindex", "--activate", EMBEDDING_PROVIDER="static")
    assert result.exit_code == 1
    assert "1 text has no vector of static:l2_supercat_256 yet" in result.stderr
    assert "other model" in run("status", EMBEDDING_PROVIDER="static").stdout


@pytest.mark.usefixtures("vectors")
def test_one_round_of_the_worker_embeds_and_recounts(run: Run, call: Call, store: str) -> None:
    call("register_model", name=STATIC, dimensions=256)
    remember(call)
    done = json.loads(run("worker", "--once", "--json", PGMEM_DSN=store, EMBEDDING_PROVIDER="static").stdout)
    assert (done["arrived"], done["embedded"], done["left_to_index"]) == (0, 2, 0)
    assert done["recounted"] == 0  # a save counts its words itself
    done = run("worker", "--once", PGMEM_DSN=store, EMBEDDING_PROVIDER="static")
    assert done.stdout.startswith("renewed 0, arrived 0, embedded 0, left to index 0")


class Refusing(EmbeddingServer):
    """It answers every request with 401."""

    def right(self, request: Request) -> tuple[int, dict[str, Any]]:
        return 401, {"error": "no"}


@pytest.fixture
def refusing(vectors: None, call: Call) -> Iterator[dict[str, str | None]]:
    """The variables of a provider that refuses every text, whose model the store has."""
    call("register_model", name="ollama:own", dimensions=8)
    with Refusing() as server:
        yield {
            "EMBEDDING_PROVIDER": "ollama",
            "OLLAMA_URL": server.url,
            "EMBEDDING_MODEL": "own",
            "EMBEDDING_DIMENSIONS": "8",
        }


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_provider_that_refuses_is_named_once_a_round_and_by_the_doctor(
    run: Run, call: Call, store: str, refusing: dict[str, str | None], caplog: pytest.LogCaptureFixture
) -> None:
    remember(call)
    refusing |= {"PGMEM_DSN": store}
    done = json.loads(run("worker", "--once", "--json", **refusing).stdout)
    assert done["embedded"] == 0
    (warning,) = warnings(caplog)
    assert "401" in warning
    doctor = run("doctor", "--json", **refusing)
    (found,) = [each for each in json.loads(doctor.stdout) if each["check"] == "embeddings"]
    assert (doctor.exit_code, found["level"]) == (1, "look")
    assert "2 texts have no vector, because the embedding provider fails: " in found["message"]
    assert "401" in found["message"]
    assert "pgmem worker" not in found["remedy"]
    doctor = run("doctor", "--json", **(refusing | {"EMBEDDING_DIMENSIONS": None}))
    assert doctor.exit_code == 1
    (found,) = [each for each in json.loads(doctor.stdout) if each["check"] == "embedding_provider"]
    assert "EMBEDDING_DIMENSIONS" in found["message"]


def test_an_import_whose_provider_refuses_reports_it_once(
    run: Run, refusing: dict[str, str | None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(
        "\n".join(
            json.dumps(
                {"type": "entity", "name": f"e{n}", "entityType": "part", "observations": [f"fact {n}"]}
            )
            for n in range(5)
        )
    )
    done = run("import", "--from", "mcp-memory", "--project", "shop", str(file), **refusing)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("5 imported")
    assert len([line for line in (*warnings(caplog), *done.stderr.splitlines()) if "401" in line]) == 1


@pytest.mark.usefixtures("vectors")
def test_a_text_that_the_model_refuses_does_not_keep_the_others(run: Run, call: Call, store: str) -> None:
    call("register_model", name="ollama:own", dimensions=8)
    remember(call)

    class Choosy(EmbeddingServer):
        def right(self, request: Request) -> tuple[int, dict[str, Any]]:
            if request.path == "/api/tags":
                return 200, {"models": [{"name": "own:latest"}]}
            return (
                (400, {})
                if any("session" in t.lower() for t in request.body["input"])
                else super().right(request)
            )

    with Choosy() as server:
        done = run(
            "worker", "--once", "--json", PGMEM_DSN=store,
            EMBEDDING_PROVIDER="ollama", OLLAMA_URL=server.url, EMBEDDING_MODEL="own", EMBEDDING_DIMENSIONS="8",
        )  # fmt: skip
    assert json.loads(done.stdout)["embedded"] == 1
