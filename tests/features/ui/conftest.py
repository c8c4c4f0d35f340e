"""A store with something of everything, the pages over it on a real port, and a real Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
from psycopg.rows import DictRow

from tests.conftest import Call, caller
from tests.features.ui.serving import browser_path, serving

Person = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser. Its driver runs an event loop, so it ends before the asynchronous tests of another module begin."""
    path = browser_path()
    if path is None:
        pytest.skip("no Chromium is installed here: apt-get install chromium")
    with sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def signed_out(chromium: Browser) -> list[BrowserContext]:
    """Separate browsers that no test uses, without cookies: to make one takes longer than most tests.

    A blank page stays open in each, as the process that draws pages ends with the last one.
    """
    return []


@pytest.fixture
def agent(connection: psycopg.Connection[DictRow]) -> Call:
    """`agent("save_decision", title=…)`: a verb as an agent calls it over MCP."""
    connection.execute(
        "select set_config('pgmem.source', 'mcp', false), set_config('pgmem.agent_id', 'claude', false)"
    )
    return caller(connection)


@pytest.fixture
def store(agent: Call) -> dict[str, Any]:
    """A store with a line of decisions, a review, facts with two names, relations, a card and an insight; ids by name."""

    def decide(title: str, rationale: str) -> dict[str, Any]:
        return agent("save_decision", title=title, rationale=rationale, project_id="harbour")

    agent(
        "save_session",
        objective="Set up the harbour",
        project_id="harbour",
        actions_taken=["made the repository"],
    )
    first = decide("Send mail from the web request now", "One process.")
    queue = decide("Send mail from the web request later", "Mondays were slow.")
    assert queue["dedup_outcome"] == "supersede", queue
    kept = decide("Keep bookings in one database", "They change together.")
    review = decide("Keep bookings in one archive", "They are never changed.")
    assert review["dedup_outcome"] == "manual_review", review
    mail = agent(
        "upsert_entity", entity_name="Mail provider", fact="Ten messages a second.", project_id="harbour"
    )
    post = agent("upsert_entity", entity_name="Postmark", fact="Sends our mail.", project_id="harbour")
    agent(
        "remember",
        label="Technology",
        properties={"name": "Worker"},
        relations={"USES": [{"name": "Mail provider", "label": "EntityFact"}]},
        project_id="harbour",
    )
    card = agent(
        "record_candidate",
        record_type="risk_note",
        statement="retry() waits in local time.",
        subject_path="mail/queue.py",
        project_id="harbour",
        evidence=[{"kind": "code", "ref": "mail/queue.py:88"}],
    )
    return {
        "replaced": first["artifact_id"],
        "queue": queue["artifact_id"],
        "kept": kept["artifact_id"],
        "review": review["save_id"],
        "mail": mail["artifact_id"],
        "post": post["artifact_id"],
        "card": card["card_id"],
    }


class Pages:
    """The pages on a port: their address, and browsers that are signed in."""

    def __init__(
        self,
        address: str,
        link: Callable[[], str],
        browser: Browser,
        signed_out: list[BrowserContext],
        stack: ExitStack,
    ) -> None:
        self.address, self.link = address, link
        self._browser, self._signed_out, self._stack = browser, signed_out, stack
        self.requested: list[str] = []
        self.complaints: list[str] = []

    def context(self, **options: Any) -> BrowserContext:
        """A separate browser, signed in; one without options goes on to the next test without its pages and cookies."""
        if options:
            context = self._browser.new_context(**options)
            self._stack.callback(context.close)
        else:
            context = self._signed_out.pop() if self._signed_out else self._browser.new_context()
            self._stack.callback(self._sign_out, context)
            if not context.pages:
                context.new_page()
        context.set_default_timeout(15_000)
        assert context.request.get(self.link()).ok
        return context

    def _sign_out(self, context: BrowserContext) -> None:
        for page in context.pages[1:]:
            page.close()
        context.clear_cookies()
        self._signed_out.append(context)

    def page(self, path: str = "/", **options: Any) -> Page:
        """A page in a separate browser, opened at a path."""
        page = self.context(**options).new_page()
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.address + "/ui" + path)
        return page

    def _heard(self, said: ConsoleMessage) -> None:
        # A page with a message of failure has a status of 4xx, which the browser notes.
        if said.type == "error" and not re.search(r"responded with a status of 4\d\d", said.text):
            self.complaints.append(said.text)

    def foreign(self) -> list[str]:
        """The requests of all pages that left the origin."""
        own = urlsplit(self.address).netloc
        return [url for url in self.requested if urlsplit(url).netloc != own]


@pytest.fixture
def pages(dsn: str, tmp_path: Path, chromium: Browser, signed_out: list[BrowserContext]) -> Iterator[Pages]:
    """`pages.page("/ask")`: the page for the person at this machine, in a separate browser."""
    with serving(dsn, tmp_path, embedding_provider="none") as (address, link), ExitStack() as stack:
        found = Pages(address, link, chromium, signed_out, stack)
        yield found
        assert found.foreign() == []
        assert found.complaints == []
