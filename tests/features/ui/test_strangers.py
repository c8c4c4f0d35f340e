"""Who is kept out: other sites, other hosts, other people's forms, other tenants; and the power of a hostile memory."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import expect

from pgmem.features.http.auth import http_app
from pgmem.features.ui import activity, site, words
from pgmem.settings import Settings
from tests.conftest import Call
from tests.features.ui.conftest import Pages
from tests.features.ui.serving import running, serving


@pytest.fixture
def local(dsn: str, tmp_path: Path) -> Iterator[tuple[httpx2.Client, str]]:
    """A client that is signed in to the pages of this machine, and the form token of one of them."""
    with (
        serving(dsn, tmp_path, embedding_provider="none") as (address, link),
        httpx2.Client(base_url=address) as client,
    ):
        client.get(link())
        yield client, form_token(client.get("/ui/decide/insights").text)


def form_token(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None, page[-500:]
    return found[1]


def test_the_link_works_once_and_sets_a_cookie_of_this_site_alone(dsn: str, tmp_path: Path) -> None:
    with (
        serving(dsn, tmp_path, embedding_provider="none") as (address, link),
        httpx2.Client(base_url=address) as client,
    ):
        assert client.get("/ui/").headers["location"].startswith("/ui/enter")
        assert client.get("/ui/index.json").status_code == 401
        url = link()
        answer = client.get(url)
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/ui" in cookie
        assert httpx2.get(url).status_code == 403
        assert client.get("/ui/index.json").status_code == 200


def test_another_host_is_another_site(local: tuple[httpx2.Client, str]) -> None:
    client, _ = local
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        assert client.get("/ui/", headers={"host": host}).status_code in (400, 421), host


def test_a_form_of_another_site_is_refused(local: tuple[httpx2.Client, str]) -> None:
    client, token = local
    form = {"csrf": token}
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        answer = client.post("/ui/decide/insights/reflect", data=form, headers=headers)
        assert answer.status_code == 403, headers
    assert client.post("/ui/decide/insights/reflect", data=form).status_code == 303


def test_a_form_without_its_token_is_refused(local: tuple[httpx2.Client, str]) -> None:
    client, _ = local
    for forged in (None, "", "x", "x.y", "x." + "0" * 64):
        form = {} if forged is None else {"csrf": forged}
        answer = client.post("/ui/decide/insights/reflect", data=form)
        assert answer.status_code == 403, forged
        assert "Nothing" not in answer.text


def test_a_form_token_of_another_session_is_refused(dsn: str, tmp_path: Path) -> None:
    with (
        serving(dsn, tmp_path, embedding_provider="none") as (address, link),
        httpx2.Client(base_url=address) as one,
        httpx2.Client(base_url=address) as other,
    ):
        one.get(link())
        other.get(link())
        stolen = form_token(one.get("/ui/decide/insights").text)
        assert other.post("/ui/decide/insights/reflect", data={"csrf": stolen}).status_code == 403


def test_signing_in_leads_to_no_other_site(dsn: str, tmp_path: Path) -> None:
    with serving(dsn, tmp_path, embedding_provider="none") as (_, link):
        for wanted in (
            "https://evil.example/",
            "//evil.example",
            "/ui\\\\evil.example",
            "javascript:alert(1)",
            "/uix",
        ):
            answer = httpx2.get(f"{link()}&next={wanted}")
            assert answer.headers["location"] == "/ui/", wanted


NASTY = (
    "9" * 5000,
    "-1",
    "\x00",
    "\u0663",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "-62135596800",
    "2147483648",
    "\ud800",
    "' or 1=1 --",
    "%s{0}{{7*7}}",
    "a" * 20_000,
    "[" * 3000,
)


PAGES_OF_ARGUMENTS = (
    "/",
    "/ask",
    "/memories",
    "/decide/cards",
    "/time",
    "/graph",
    "/activity",
    "/health/repair",
)


@pytest.mark.parametrize("path", PAGES_OF_ARGUMENTS)
def test_no_argument_breaks_a_page(
    local: tuple[httpx2.Client, str], store: dict[str, Any], path: str
) -> None:
    """A nasty value is refused in one sentence or finds nothing; the page never fails, and no memory is let out by it.

    Each argument meets each value on two of the pages.
    """
    client, _ = local
    names = "q project labels t k as_of known_at limit after card trust scope branch session verb"
    for place, name in enumerate(names.split(), PAGES_OF_ARGUMENTS.index(path)):
        for value in NASTY[place % 4 :: 4]:
            query = urlencode({"q": "mail", name: value}, errors="surrogatepass")
            answer = client.get(f"/ui{path}?{query}")
            assert answer.status_code < 500, (name, value[:40], answer.text[-300:])


def test_no_field_breaks_a_form(local: tuple[httpx2.Client, str], store: dict[str, Any]) -> None:
    client, token = local
    for path, fields in (
        ("edit", {"version": "9" * 5000, "title": "x"}),
        ("edit", {"version": "2147483648", "title": "x"}),
        ("revert", {"version": "9" * 5000}),
        ("revert", {"version": "2147483647"}),
        ("replace", {"by": "\x00"}),
    ):
        answer = client.post(f"/ui/memory/{store['kept']}/{path}", data={"csrf": token, **fields})
        assert 400 <= answer.status_code < 500, (path, fields, answer.text[-300:])


def test_no_path_leads_out_of_the_files_of_a_page(local: tuple[httpx2.Client, str]) -> None:
    client, _ = local
    for path in (
        "/ui/static/../templates/base.html",
        "/ui/static/%2e%2e/templates/base.html",
        "/ui/static/..%2f..%2fsettings.py",
        "/ui/static//etc/passwd",
        "/ui/static/page.js%00.css",
        "/ui/static/",
    ):
        assert client.get(path).status_code in (400, 404), path


def test_a_form_that_does_not_arrive_is_not_waited_for(http: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger sends the head of a form and then nothing; and one of five megabytes is not read to its end."""
    monkeypatch.setattr(site, "FORM_S", 0.05)
    monkeypatch.setattr(site, "ENTRY_S", 0.05)
    where = urlsplit(http)
    with socket.create_connection((where.hostname, where.port), timeout=20) as slow:
        slow.sendall(
            f"POST /ui/enter HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-length: 500\r\n\r\ntoken=".encode()
        )
        assert b" 408 " in slow.recv(4000).split(b"\r\n")[0]
    monkeypatch.undo()
    assert httpx2.post(f"{http}/ui/enter", data={"token": "x" * 20_000}).status_code == 413


def test_one_person_signs_out_nobody_else(http: str, agent: Call) -> None:
    ada, bo = token(agent, "acme", "ada"), token(agent, "acme", "bo")
    with sign_in(http, bo) as his, sign_in(http, ada) as first:
        for _ in range(25):
            httpx2.post(f"{http}/ui/enter", data={"token": ada})
        assert first.get("/ui/index.json").status_code == 401
        assert his.get("/ui/index.json").status_code == 200


def test_one_person_follows_the_activity_on_few_pages_at_once(http: str, agent: Call) -> None:
    secret = token(agent, "acme", "ada")
    with ExitStack() as stack:
        answers = []
        for _ in range(8):
            client = stack.enter_context(sign_in(http, secret))
            answer = stack.enter_context(client.stream("GET", "/ui/activity/live"))
            answers.append(answer.status_code)
        assert answers == [200] * 6 + [503] * 2


def test_two_texts_of_one_word_are_compared_at_once() -> None:
    """A person opens an agent's memory: word by word this pair took 22 seconds, in which nobody was answered."""
    began = time.process_time()
    old, new = words.compared("a " * 740, "b a " * 370)
    assert time.process_time() - began < 2
    assert "".join(piece.text for piece in old) == "a " * 740
    assert "".join(piece.text for piece in new) == "b a " * 370


def test_a_long_history_is_not_compared_whole(local: tuple[httpx2.Client, str], agent: Call) -> None:
    client, _ = local
    agent("save_session", objective="Begin", project_id="harbour")
    for number in range(40):
        saved = agent("upsert_entity", entity_name="Clock", fact=f"It is {number}.", project_id="harbour")
    page = client.get(f"/ui/memory/{saved['artifact_id']}").text
    assert page.count("Put version") == 29
    assert "It is <del>9</del>" in page
    assert "It is <del>8</del>" not in page


def test_an_upload_without_end_is_refused(local: tuple[httpx2.Client, str]) -> None:
    client, token = local
    form = {"csrf": token, "filler": "x" * 5_100_000}
    assert client.post("/ui/decide/insights/reflect", data=form).status_code == 413


HOSTILE = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "link": "javascript:alert(3) https://evil.example/x.png",
    "bidi": "safe \u202eevil\u202c \u2066hidden\u2069 \x07bell",
    "breaking": '"></textarea></title><svg onload=alert(4)>{{ 7 * 7 }}',
}


def test_a_hostile_memory_is_text(pages: Pages, agent: Call) -> None:
    """Nothing in a memory becomes markup, a link, a request or another direction, on any page that shows it."""
    agent("save_session", objective=HOSTILE["markup"], project_id="<b>harbour</b>")
    ids = [
        agent("save_context", topic=f"{name} {text}"[:200], content=text, project_id="<b>harbour</b>")[
            "artifact_id"
        ]
        for name, text in HOSTILE.items()
    ]
    agent("remember", label="Technology", properties={"name": "<i>x</i>", "url": "javascript:alert(5)"})
    page = pages.page("/")
    paths = ["/", "/memories", "/ask?q=alert+evil+safe", "/activity", "/time", "/graph", "/health"]
    for path in (
        *paths,
        *(f"/memory/{one}" for one in ids),
        f"/memory/{ids[3]}/edit",
        f"/memory/{ids[3]}/purge",
    ):
        page.goto(f"{pages.address}/ui{path}")
        assert (
            page.locator(
                "main script, main img, main [onload], main [onerror], a[href^='javascript']"
            ).count()
            == 0
        )
        assert page.locator("main b >> text=harbour").count() == 0
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x07]", page.locator("main").inner_text()), path
        assert "49" not in page.locator("h1").inner_text()
    page.goto(f"{pages.address}/ui/memory/{ids[3]}")
    expect(page.locator("main .text").first).to_contain_text("{{ 7 * 7 }}")


def test_a_memory_of_a_megabyte_is_cut_and_read_whole_beside(pages: Pages, agent: Call) -> None:
    agent("save_session", objective="Begin", project_id="harbour")
    long = agent("save_context", topic="Long", content="word " * 200_000, project_id="harbour")["artifact_id"]
    page = pages.page(f"/memory/{long}")
    expect(page.get_by_text("more characters")).to_be_visible()
    assert len(page.content()) < 120_000
    whole = page.request.get(f"{pages.address}/ui/memory/{long}/text")
    assert whole.headers["content-type"].startswith("text/plain")
    assert len(whole.text()) > 990_000


def test_text_of_other_scripts_has_its_direction(pages: Pages, agent: Call) -> None:
    agent("save_session", objective="Begin", project_id="مرفأ")
    saved = agent("save_context", topic="قرار البريد", content="نرسل البريد من طابور 漢字", project_id="مرفأ")
    page = pages.page(f"/memory/{saved['artifact_id']}")
    assert page.locator("h1").evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator(".facts dd").first.evaluate("e => getComputedStyle(e).direction") == "ltr"


# The pages of a server with tenants


@pytest.fixture
def http(dsn: str, tmp_path: Path) -> Iterator[str]:
    """`pgmem mcp --transport http` on a free port; its address."""
    with running(http_app(Settings(dsn=dsn, data_dir=tmp_path, embedding_provider="none"))) as address:
        yield address


def token(call: Call, org: str, user: str, *, for_person: bool = True) -> str:
    return str(call("issue_token", org_id=org, user_id=user, for_person=for_person)["token"])


@contextmanager
def sign_in(address: str, secret: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=30) as client:
        client.post("/ui/enter", data={"token": secret})
        yield client


def as_tenant(connection: Any, org: str, user: str) -> None:
    connection.execute(
        "select set_config('pgmem.org_id', %s, false), set_config('pgmem.user_id', %s, false)", (org, user)
    )


def test_a_person_sees_what_the_token_sees_and_nothing_of_another_tenant(
    http: str, agent: Call, connection: Any
) -> None:
    ada, bo = token(agent, "acme", "ada"), token(agent, "acme", "bo")
    as_tenant(connection, "acme", "ada")
    agent("save_session", objective="Begin", project_id="harbour")
    own = agent("save_decision", title="Ada's decision", rationale="Hers.", project_id="harbour")[
        "artifact_id"
    ]
    agent("save_decision", title="Keep bookings in one database", rationale="So.", project_id="harbour")
    held = agent("save_decision", title="Keep bookings in one archive", rationale="No.", project_id="harbour")
    with sign_in(http, ada) as hers, sign_in(http, bo) as his:
        assert hers.get(f"/ui/memory/{own}.json").json()["memory"]["title"] == "Ada's decision"
        for path in (
            f"/ui/memory/{own}",
            f"/ui/memory/{own}/edit",
            f"/ui/memory/{own}/text",
            f"/ui/decide/{held['save_id']}",
        ):
            assert his.get(path).status_code == 404, path
            assert "Ada" not in his.get(path).text
        assert his.get("/ui/memories.json").json()["memories"] == []
        assert his.get("/ui/activity.json").json()["events"] == []
        csrf = form_token(his.get("/ui/").text)
        for path, form in (
            (f"/ui/memory/{own}/forget", {}),
            (f"/ui/memory/{own}/purge", {"sure": "yes"}),
            (f"/ui/decide/{held['save_id']}", {"outcome": "drop"}),
        ):
            assert his.post(path, data={"csrf": csrf, **form}).status_code == 404, path
        for path in ("/ui/tenants", "/ui/tenants/erase?org=acme&user=bo"):
            assert his.get(path).status_code == 403
        assert hers.get("/ui/decide.json").json()["waiting"]["reviews"] == 1
        csrf = form_token(hers.get("/ui/decide").text)
        done = hers.post(f"/ui/decide/{held['save_id']}", data={"csrf": csrf, "outcome": "drop"})
        assert done.status_code == 303
        assert agent("get_review", save_id=held["save_id"])["resolved_by"] == "acme/ada"


def test_a_person_of_a_tenant_does_not_decide_over_what_is_public(
    http: str, agent: Call, store: dict[str, Any]
) -> None:
    with sign_in(http, token(agent, "acme", "ada")) as hers:
        csrf = form_token(hers.get("/ui/decide").text)
        answer = hers.post(f"/ui/decide/{store['review']}", data={"csrf": csrf, "outcome": "drop"})
        assert answer.status_code == 404 or "waits for a review" in answer.text
        gone = hers.post(f"/ui/memory/{store['kept']}/forget", data={"csrf": csrf})
        assert gone.status_code == 403
    assert agent("get_review", save_id=store["review"])["is_open"]
    assert agent("find_memory", id=store["kept"])["status"] == "active"


def test_an_agents_token_looks_and_decides_nothing(http: str, agent: Call, connection: Any) -> None:
    secret = token(agent, "acme", "ada", for_person=False)
    as_tenant(connection, "acme", "ada")
    agent("save_session", objective="Begin", project_id="harbour")
    own = agent("save_decision", title="One", rationale="So.", project_id="harbour")["artifact_id"]
    with sign_in(http, secret) as client:
        page = client.get(f"/ui/memory/{own}")
        assert page.status_code == 200
        answer = client.post(f"/ui/memory/{own}/forget", data={"csrf": form_token(page.text)})
        assert answer.status_code == 403
        assert "agent's token" in answer.text.replace("&#39;", "'")
    assert agent("find_memory", id=own)["status"] == "active"


def test_an_agent_cannot_sign_in_with_a_persons_token(http: str, agent: Call) -> None:
    answer = httpx2.post(
        f"{http}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={
            "authorization": f"Bearer {token(agent, 'acme', 'ada')}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
        },
    )
    assert answer.status_code == 401


def test_revoking_a_token_ends_its_sessions_at_once(http: str, agent: Call) -> None:
    issued = agent("issue_token", org_id="acme", user_id="ada", for_person=True)
    with sign_in(http, str(issued["token"])) as client:
        assert client.get("/ui/index.json").status_code == 200
        agent("revoke_token", token_id=issued["id"])
        assert client.get("/ui/index.json").status_code == 401
        assert client.get("/ui/").headers["location"].startswith("/ui/enter")


def test_a_page_that_follows_the_activity_ends_with_its_token(
    http: str, agent: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "_QUIET_S", 0.2)
    issued = agent("issue_token", org_id="acme", user_id="ada", for_person=True)
    with sign_in(http, str(issued["token"])) as client, client.stream("GET", "/ui/activity/live") as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": open"
        agent("revoke_token", token_id=issued["id"])
        assert [line for line in lines if line.startswith("data")] == []


def test_a_wrong_token_signs_nobody_in(http: str) -> None:
    for wrong in ("", "pgmem_" + "0" * 64, "ü" * 20, "x" * 500):
        answer = httpx2.post(f"{http}/ui/enter", data={"token": wrong})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
