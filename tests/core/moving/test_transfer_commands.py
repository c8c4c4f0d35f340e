"""`pgmem export` and `pgmem import` as a person types them."""

from __future__ import annotations

import gzip
import json
import stat
from pathlib import Path

import pytest

from tests.conftest import GRAPH_TIERS, Call, tier
from tests.core.cli.conftest import Run, run, surroundings
from tests.core.moving.conftest import NewStore, opened

__all__ = ["run", "surroundings"]


@pytest.fixture(autouse=True)
def tea(call: Call, shop: str) -> None:
    call("save_decision", title="Sell tea", rationale="r", project_id=shop)


@pytest.mark.parametrize("name", ["store.jsonl", "store.jsonl.gz"])
def test_a_store_goes_into_a_file_and_out_of_it(
    run: Run, store: str, new_store: NewStore, tmp_path: Path, name: str
) -> None:
    file, away = tmp_path / name, new_store()
    done = run("export", str(file), PGMEM_DSN=store)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "7 lines: 1 project, 2 nodes, 2 saves.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("store*")] == [name]
    first = run("import", str(file), PGMEM_DSN=away)
    assert first.stdout == "5 imported, 0 already present.\n", first.stderr
    assert run("import", str(file), PGMEM_DSN=away).stdout == "0 imported, 5 already present.\n"
    assert (
        json.loads(run("search", "tea", "--json", PGMEM_DSN=away).stdout)["results"][0]["title"] == "Sell tea"
    )
    with opened(away) as (connection, _):
        has_graph = tier(connection) in GRAPH_TIERS
    assert (run("graph", "check", PGMEM_DSN=away).exit_code == 0) is has_graph


def test_a_pipe_is_as_good_as_a_file(run: Run, store: str, new_store: NewStore) -> None:
    exported = run("export", "-", PGMEM_DSN=store)
    assert exported.stderr == "7 lines: 1 project, 2 nodes, 2 saves.\n"
    assert [json.loads(line)["type"] for line in exported.stdout.splitlines()] == [
        "header",
        *["node"] * 3,
        *["save"] * 2,
        "end",
    ]
    done = run("import", "-", "--json", typed=exported.stdout, PGMEM_DSN=new_store())
    imported = json.loads(done.stdout)
    assert {name: imported[name] for name in ("taken", "present", "merged", "left_out")} == {
        "taken": 5,
        "present": 0,
        "merged": 0,
        "left_out": {},
    }


def test_a_file_that_is_there_is_replaced_on_demand_only(run: Run, store: str, tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    file.write_text("precious")
    refused = run("export", str(file))
    assert (refused.exit_code, refused.stderr) == (
        2,
        f"pgmem: {file} exists: name another file, or use --force.\n",
    )
    assert file.read_text() == "precious"
    assert run("export", str(file), "--force", "--json", PGMEM_DSN=store).exit_code == 0
    assert file.read_text().startswith("{")


def test_an_export_that_fails_leaves_no_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    failed = run("export", str(file), PGMEM_DSN="host=127.0.0.1 port=1 dbname=x")
    assert failed.exit_code == 1
    assert list(tmp_path.glob("store*")) == []
    lost = run("export", str(tmp_path / "no" / "store.jsonl"))
    assert (lost.exit_code, lost.stderr.count("\n")) == (1, 1)


def test_an_unreadable_file_is_reported_in_one_line(run: Run, tmp_path: Path) -> None:
    cut, binary = tmp_path / "cut.gz", tmp_path / "binary"
    cut.write_bytes(gzip.compress(b'{"pgmem_export": 1}\n' * 1000)[:-20])
    binary.write_bytes(b'{"pgmem_export": 1}\n\xff\xfe\n')
    for file in (cut, binary):
        result = run("import", str(file))
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.stderr
        assert "is incomplete" in result.stderr or "line 2 of binary: it is not UTF-8" in result.stderr
    missing = run("import", str(tmp_path / "none"))
    assert (missing.exit_code, missing.stderr) == (2, f"pgmem: {tmp_path / 'none'} is not a file.\n")


@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16"])
def test_a_file_with_a_broken_line_brings_the_others_names_it_and_exits_with_1(
    run: Run, store: str, new_store: NewStore, tmp_path: Path, form: str
) -> None:
    file, away = tmp_path / "store.jsonl", new_store()
    run("export", str(file), PGMEM_DSN=store)
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines), form)  # as a redirection of PowerShell leaves it
    lines[2] = lines[2][:40] + "\n"
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines), form)
    done = run("import", str(broken), PGMEM_DSN=away)
    assert (done.exit_code, done.stdout.partition(",")[0]) == (1, "4 imported")
    assert "line 3 of broken.jsonl: it is not a JSON object" in done.stderr
    whole = run("import", str(file), PGMEM_DSN=away)
    assert (whole.exit_code, whole.stdout) == (0, "1 imported, 4 already present.\n")


@pytest.mark.usefixtures("vectors")
def test_texts_are_embedded_anew_on_request(
    run: Run, store: str, new_store: NewStore, tmp_path: Path
) -> None:
    file, away = tmp_path / "store.jsonl", new_store()
    run("export", str(file), PGMEM_DSN=store)
    done = run("import", str(file), "--reembed", PGMEM_DSN=away, EMBEDDING_PROVIDER="static")
    assert done.exit_code == 0, done.stderr
    models = json.loads(run("status", "--json", PGMEM_DSN=away).stdout)["embedding"]["models"]
    assert [(model["vectors"], model["waiting"]) for model in models] == [(2, 0)]
    refused = run("import", str(file), "--reembed", PGMEM_DSN=away)
    assert refused.stderr.startswith("pgmem: Embedding is off")
