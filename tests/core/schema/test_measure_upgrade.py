"""`scripts/measure-upgrade`: the table of the upgrade guide."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.core.schema.conftest import ROOT

pytestmark = [pytest.mark.long, pytest.mark.embedded]


def test_it_upgrades_a_store_in_each_language_while_clients_use_it() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "measure-upgrade"), "--memories", "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    head, _, *rows = done.stdout.strip().splitlines()
    names = [name.strip() for name in head.strip("|").split("|")]
    found = [dict(zip(names, map(str.strip, row.strip("|").split("|")), strict=True)) for row in rows]
    assert [row["language"] for row in found] == ["english", "german"]
    for row in found:
        assert int(row["memories"].replace(" ", "")) > 300
        assert row["calls that failed"] == "0", done.stderr
        assert float(row["seconds under exclusive locks"]) > 0
