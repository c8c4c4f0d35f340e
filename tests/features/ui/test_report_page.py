"""The quality report as a page: whole in itself, and no text of a memory is markup in it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markupsafe import escape

from tests.conftest import Call

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Links(HTMLParser):
    """The addresses that a page would load, its open tags, and the names of all tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [str(v) for k, v in attrs if k in ("src", "href") and v != "data:,"]
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.loads += [str(v) for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_in_itself_and_reads_no_memory_as_markup(
    run_report: Any, call: Call, clock: Callable[[str], None], reported: str, tmp_path: Path
) -> None:
    clock("2026-04-08")  # a second day, so that there is something to draw over time
    call("save_context", content="an earlier word", project_id=reported)
    file = tmp_path / "report.html"
    assert run_report("hygiene", "-p", reported, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    page = Links()
    page.feed(text)
    assert (page.loads, page.open) == ([], [])
    assert "<script" not in text
    assert "Never cache &lt;script&gt;" in text
    for wanted in (
        "Memories over time",
        "Confidence today",
        "Kafka",
        "PostgreSQL 15",
        "<polygon",
        "merge_entities",
    ):
        assert wanted in text


def test_the_page_of_one_day_compares_labels_instead_of_drawing_a_block(
    run_report: Any, reported: str, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    assert run_report("health", "-p", reported, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert "<polygon" not in text
    assert re.search(r"All of \d{4}-\d\d-\d\d\.", text)
    assert re.search(r'hue-0">Decision</span><svg [^>]*><rect class="hue-0" width="100\.0"', text)


def test_the_page_shows_dates_rationales_and_commands_that_repair(
    run_report: Any, call: Call, reported: str, tmp_path: Path
) -> None:
    failed = call("save_pattern", trigger="t", repeatable_steps=["s"], project_id=reported, scope="global")
    file = tmp_path / "report.html"
    assert run_report("health", "-p", reported, "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert "takes payments" in text
    assert re.search(r"EntityFact, \d{4}-\d\d-\d\d", text)
    assert re.search(r"superseded, \d{4}-\d\d-\d\d", text)
    commands = [
        shlex.split(unescape(line)) for line in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text)
    ]
    assert {" ".join(command[:2]) for command in commands} == {
        "pgmem forget",
        "pgmem merge",
        "pgmem retry",
        "pgmem supersede",
    }
    assert ["pgmem", "retry", str(failed["save_id"])] in commands
    for command in commands:
        if command[1] != "retry":
            done = run_report(*command[1:], "--yes")
            assert done.exit_code == 0, done.output
    report, state = call("run_hygiene", project_id=reported), call("memory_health", project_id=reported)
    assert (report["duplicates_found"], report["entity_drift_count"], state["conflicts"]["count"]) == (
        0,
        0,
        0,
    )


HOSTILE = (
    '"><img src=x onerror=alert(1)>',
    "</title></style><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "{{ 7 * 6007 }} {% include 'style.css' %} &lt;b&gt;",
    "</code></pre><svg onload=alert(1)>",
)


def test_hostile_texts_stay_texts_wherever_the_page_shows_them(
    run_report: Any, call: Call, tmp_path: Path
) -> None:
    project = '"><script>alert(1)</script>'
    call("save_session", objective="o", project_id=project)
    for number, text in enumerate(HOSTILE):
        call("save_context", content=text, topic=text, project_id=project)
        call("save_context", content=text, topic=text, project_id=project)
        for version in (1, 2):
            title = f"{text} of hostile words, number {number}, in version {version}"
            call("save_decision", title=title, rationale=text, project_id=project)
        for name in ("one", "two", "three"):
            summary = {"name": f"{name} {number}", "summary": text}
            uses = {"USES": [f"{text} {number}"]}
            call("remember", label="Pipeline", properties=summary, relations=uses, project_id=project)
        call("save_pattern", trigger=text, repeatable_steps=[text], project_id=project, scope="global")
    file = tmp_path / "report.html"
    assert run_report("hygiene", "--html", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    page = Links()
    page.feed(text)
    assert (page.loads, page.open) == ([], [])
    assert not page.tags & {"script", "img"}
    assert not [name for name in page.names if name.startswith("on")]
    assert "42049" not in text
    for hostile in HOSTILE:
        assert str(escape(hostile)) in text
    assert f"Project {escape(project)}" in text


def test_the_page_of_an_empty_store_reports_no_memories(run_report: Any, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert run_report("health", "--html", str(file)).exit_code == 0
    assert "No memories yet." in file.read_text(encoding="utf-8")
    assert run_report("health", "--html", str(tmp_path / "no" / "such" / "folder.html")).exit_code == 1


if CHROMIUM is not None:  # a browser is optional; without one, the page is parsed above

    def test_a_browser_shows_the_page_without_a_word_in_its_console(
        run_report: Any, reported: str, tmp_path: Path
    ) -> None:
        file, picture = tmp_path / "report.html", tmp_path / "report.png"
        run_report("hygiene", "-p", reported, "--html", str(file))
        flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        flags += (
            " --disable-component-update --disable-sync --enable-logging=stderr --v=0 --window-size=1120,1800"
        )
        done = subprocess.run(
            [
                str(CHROMIUM),
                *flags.split(),
                f"--user-data-dir={tmp_path}/chromium",
                f"--screenshot={picture}",
                file.as_uri(),
            ],
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 40_000
        assert "CONSOLE" not in done.stderr
