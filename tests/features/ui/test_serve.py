"""`pgmem ui` as a person starts it, and the report as a file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest
from playwright.sync_api import Browser

from pgmem.features.ui import activity
from tests.conftest import Call, output_of, past_the_pooler, stores_of
from tests.features.ui.serving import serving


def test_the_command_prints_a_link_that_signs_in_and_ends_with_ctrl_c(dsn: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pgmem", "ui", "--no-open", "--by", "ada"]
    environment = {
        **os.environ,
        "PGMEM_DSN": dsn,
        "PGMEM_DATA_DIR": str(tmp_path),
        "EMBEDDING_PROVIDER": "none",
    }
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:"), (link, process.poll())
        with httpx2.Client(follow_redirects=True) as client:
            page = client.get(link)
            assert page.status_code == 200
            assert "An empty memory" in page.text
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


def test_the_activity_comes_live_while_a_transaction_elsewhere_is_open(
    dsn: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed waits for it, and so did the page: 15 s at the longest."""
    monkeypatch.setattr(activity, "_QUIET_S", 600)
    call("save_session", objective="open", project_id="harbour")
    with (
        psycopg.connect(past_the_pooler(stores_of(dsn)[0])) as elsewhere,
        serving(dsn, tmp_path, embedding_provider="none") as (address, link),
        httpx2.Client(follow_redirects=True, timeout=60) as client,
    ):
        elsewhere.execute("select pg_current_xact_id()")
        assert client.get(link()).status_code == 200
        with client.stream("GET", f"{address}/ui/activity/live") as answer:
            lines = answer.iter_lines()
            until = monotonic() + 60
            call("save_context", topic="The clocks", content="They went back.", project_id="harbour")
            while "The clocks" not in (line := next(lines)):
                assert monotonic() < until, line
                if line == ": still here":
                    call("save_context", topic="The clocks", content=f"{uuid4()}", project_id="harbour")


def test_a_taken_port_is_one_sentence(dsn: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "pgmem", "ui", "--no-open", "--port", port],
            env={**os.environ, "PGMEM_DSN": dsn, "PGMEM_DATA_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert (
        done.stderr.strip() == f"pgmem: Port {port} is in use; use another --port, or omit it for a free one."
    )


def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = subprocess.run(
            [sys.executable, "-m", "pgmem", "ui", "--no-open"],
            env={
                **os.environ,
                "PGMEM_DSN": f"host=127.0.0.1 port={taken.getsockname()[1]} dbname=x",
                "PGMEM_DATA_DIR": str(tmp_path),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pgmem: PGMEM_DSN does not answer: ")
    assert done.stderr.count("\n") == 1


def test_the_report_fits_a_phone_and_breaks_no_word(
    dsn: str, tmp_path: Path, store: dict[str, Any], agent: Call, chromium: Browser
) -> None:
    """clients.md: at 390 px both charts overran, and "Decision" broke into "Decisio" and "n"."""
    file = tmp_path / "report.html"
    command = (sys.executable, "-m", "pgmem", "health", "--html", file)
    output_of(*command, PGMEM_DSN=dsn, PGMEM_DATA_DIR=str(tmp_path), EMBEDDING_PROVIDER="none")
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        heights = page.locator(".kind").evaluate_all(
            "all => all.filter(e => e.offsetParent).map(e => e.getClientRects().length)"
        )
        assert heights
        assert set(heights) == {1}
    finally:
        context.close()
