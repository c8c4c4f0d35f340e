"""Every page: it answers, as JSON too, without script, alone on its origin, and for people who do not see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import psycopg
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.conftest import Call
from tests.features.ui.conftest import Pages

PLAIN = (
    "/",
    "/ask",
    "/ask?q=mail",
    "/memories",
    "/new",
    "/new?kind=pattern",
    "/conversations",
    "/conversations?session=claude-code:s1",
    "/decide",
    "/decide/approvals",
    "/decide/conflicts",
    "/decide/insights",
    "/decide/cards",
    "/decide/names",
    "/decide/saves",
    "/time",
    "/time?t=2026-01-01&k=2026-01-02",
    "/graph",
    "/graph?by=cluster",
    "/graph?labels=Decision",
    "/health",
    "/activity",
    "/next",
    "/next?project=harbour",
    "/recall",
    "/recall?session=claude-code:s1",
    "/rules",
    "/balance",
    "/tenants",
)


def of_memory(store: dict[str, Any]) -> tuple[str, ...]:
    one = f"/memory/{store['queue']}"
    return (
        one,
        f"{one}?hops=2",
        f"{one}/edit",
        f"{one}/replace",
        f"{one}/purge",
        f"/decide/{store['review']}",
    )


def test_every_page_answers_and_its_json_holds_the_same(pages: Pages, store: dict[str, Any]) -> None:
    context = pages.context()
    for path in (*PLAIN, *of_memory(store)):
        where, _, query = path.partition("?")
        page = context.request.get(f"{pages.address}/ui{path}")
        assert page.status == 200, (path, page.text()[-600:])
        assert "<h1" in page.text(), path
        assert len(page.headers["content-security-policy"]) > 20
        twin = context.request.get(f"{pages.address}/ui{where}.json" + (f"?{query}" if query else ""))
        assert twin.status == 200, path
        assert twin.json(), path


def test_a_page_has_names_roles_and_contrast(pages: Pages, store: dict[str, Any]) -> None:
    """axe-core finds nothing to object to in a wide window, nor to the colours and targets of a dark, narrow one."""
    wrong: dict[str, set[str]] = {}
    page = pages.page("/", reduced_motion="reduce")
    colours = ["color-contrast", "link-in-text-block", "target-size"]
    windows: tuple[tuple[Literal["light", "dark"], int, dict[str, Any]], ...] = (
        ("light", 1280, {}),
        ("dark", 390, {"runOnly": colours}),
    )
    for path in (*PLAIN, *of_memory(store)):
        page.goto(f"{pages.address}/ui{path}")
        expect(page.locator("[data-reload]")).to_have_count(0, timeout=60_000)  # its report is made
        page.evaluate(Axe().axe_script)
        for scheme, width, options in windows:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            for rule in page.evaluate(
                "options => axe.run(options).then(found => found.violations)",
                {"resultTypes": ["violations"], **options},
            ):
                for node in rule["nodes"]:
                    found = f"{node['html'][:150]}: {node.get('failureSummary', '')[:250]}"
                    wrong.setdefault(f"{rule['id']}: {found}", set()).add(f"{path} {scheme}")
    assert wrong == {}


def test_no_page_is_wider_than_the_screen(pages: Pages, store: dict[str, Any]) -> None:
    """Nor is one on a screen of 640 whose text is twice as large."""
    page = pages.page("/")
    for path in (*PLAIN, *of_memory(store)):
        page.goto(f"{pages.address}/ui{path}")
        for width, size in ((360, ""), (390, ""), (768, ""), (1280, ""), (1920, ""), (640, "32px")):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(f"document.documentElement.style.setProperty('font-size', '{size}')")
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, (path, width, size)


def test_an_empty_store_says_what_to_do_first(pages: Pages) -> None:
    page = pages.page("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("An empty memory")
    expect(page.get_by_text("pgmem connect claude-code", exact=True)).to_be_visible()
    for path in PLAIN:
        page.goto(f"{pages.address}/ui{path}")
        expect(page.locator("h1")).to_be_visible()


def test_search_marks_the_words_and_draws_the_parts_of_the_score(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/")
    page.keyboard.press("/")
    page.keyboard.type("mail provider messages")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/ask"))
    first = page.locator(".results > li").first
    expect(first.locator("mark").first).to_have_text(re.compile("mail", re.IGNORECASE))
    assert first.locator(".score svg rect").count() >= 1
    first.locator("summary").click()
    expect(first.locator("details dl")).to_contain_text("together")
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 1, "y": 1})
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/memory/"))


def test_a_question_without_an_answer_is_reported(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/ask?q=zebra+quark+umbrella")
    expect(page.get_by_text("No memory answers this question.")).to_be_visible()
    expect(page.get_by_text("Nothing matches.")).to_be_visible()


def test_the_filters_are_arguments_of_the_url(pages: Pages, store: dict[str, Any]) -> None:
    context = pages.context()

    def labels(query: str) -> set[str]:
        found = context.request.get(f"{pages.address}/ui/ask.json?q=mail&{query}").json()
        return {result["label"] for result in found["results"]}

    assert labels("labels=Decision") == {"Decision"}
    assert labels("agent=claude") == labels("")
    assert labels("agent=nobody") == set()
    assert labels("source=mcp") == labels("")
    assert labels("source=ui") == labels("trust=0.9") == set()
    assert labels("project=harbour") == labels("")
    wrong = context.request.get(f"{pages.address}/ui/ask.json?q=mail&as_of=yesterday")
    assert wrong.status == 400
    assert wrong.json() == {"error": "as_of is a time such as 2026-03-31, not 'yesterday'."}


def test_the_pages_work_without_script(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/", java_script_enabled=False)
    page.get_by_label("Ask the memory").fill("mail provider")
    page.get_by_label("Ask the memory").press("Enter")
    page.locator(".results a").first.click()
    page.get_by_role("link", name="Decide").first.click()
    page.get_by_role("button", name="Keep both").click()
    expect(page.get_by_text("Saved beside the old one.")).to_be_visible()
    page.get_by_role("link", name="Time").first.click()
    page.locator("#t").fill(page.locator("#t").get_attribute("min") or "0")
    page.get_by_role("button", name="Show").last.click()
    expect(page.locator("#counts h2")).to_contain_text("0 memories")
    address = page.url
    for theme, colour in (("Dark", "rgb(20, 21, 24)"), ("Light", "rgb(252, 252, 250)")):
        page.get_by_role("button", name=theme).click()
        expect(page.locator("body")).to_have_css("background-color", colour)
    assert page.url == address


def test_a_slider_changes_the_list_and_the_counts_at_once(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/time")
    total = page.locator("#counts h2").inner_text()
    slider = page.locator("#t")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#counts h2")).to_contain_text("0 memories, now")
    expect(page.locator("#then .empty")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#counts h2")).to_have_text(total)
    expect(page.locator("output[for=t]")).to_have_text("now")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.get_by_role("button", name="Stop").click()


def test_a_memory_shows_its_line_its_history_and_what_it_is_joined_to(
    pages: Pages, store: dict[str, Any]
) -> None:
    page = pages.page(f"/memory/{store['queue']}")
    expect(page.locator(".span .name")).to_have_count(2)
    expect(page.locator(".drawing a")).to_have_count(2)
    expect(page.locator(".facts")).to_contain_text("claude, an agent")
    page.locator(".drawing a").filter(has_text="request now").click()
    expect(page.get_by_text("Replaced by")).to_be_visible()
    expect(page.locator("ol.line > li")).to_have_count(2)


def test_the_activity_comes_live(pages: Pages, store: dict[str, Any], agent: Call) -> None:
    page = pages.page("/activity")
    expect(page.locator("[data-live-state]")).to_have_text("live")
    agent("save_context", topic="The clocks", content="They went back.", project_id="harbour")
    expect(page.locator("[data-live] .event")).to_contain_text("The clocks")


def test_health_previews_a_repair_and_does_it(pages: Pages, store: dict[str, Any], agent: Call) -> None:
    agent("upsert_entity", entity_name="Mail-provider", fact="Ten messages a second.", project_id="harbour")
    page = pages.page("/health")
    page.wait_for_selector("text=Findings")
    page.get_by_role("button", name="Repair…").first.click()
    expect(page.locator(".compare")).to_be_visible()
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_role("status")).to_contain_text("replaced by")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("as it was in version")


def test_a_notice_that_offers_to_undo_stays_while_the_memory_is_looked_at(
    pages: Pages, store: dict[str, Any], agent: Call
) -> None:
    agent("upsert_entity", entity_name="Mail-provider", fact="Ten messages a second.", project_id="harbour")
    page = pages.page("/health")
    page.wait_for_selector("text=Findings")
    page.get_by_role("button", name="Repair…").first.click()
    expect(page.locator(".compare")).to_be_visible()
    # From here on every page says that a report is being made, and its clock is ours.
    page.clock.install()
    page.add_init_script(
        "new MutationObserver((_, seen) => { if (document.body) { seen.disconnect();"
        " document.body.append(Object.assign(document.createElement('p'), {id: 'busy'}));"
        " document.getElementById('busy').dataset.reload = ''; } })"
        ".observe(document, {childList: true, subtree: true})"
    )
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_role("status")).to_contain_text("replaced by")
    page.evaluate("document.body.dataset.first = 'yes'")
    page.clock.run_for(5000)
    expect(page.locator("body[data-first]")).to_have_count(1)
    page.goto(f"{pages.address}/ui/health")
    page.evaluate("document.body.dataset.first = 'yes'")
    page.clock.run_for(5000)
    expect(page.locator("body[data-first]")).to_have_count(0)


def test_health_says_what_doctor_says(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/health")
    page.wait_for_selector("text=Doctor")
    expect(page.locator("main")).to_contain_text("checks found nothing wrong")
    report = page.request.get(f"{pages.address}/ui/health.json").json()["report"]
    assert {"server", "saves"} <= {one["check"] for one in report["doctor"]}
    review = next(one for one in report["doctor"] if one["check"] == "saves")
    assert (review["level"], review["remedy"]) == ("look", "see pgmem review and pgmem hygiene")


def test_the_graph_follows_the_slider(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page("/graph")
    expect(page.locator("#drawn svg a").first).to_be_visible()
    page.locator("#t").focus()
    page.keyboard.press("Home")
    expect(page.locator("#drawn .empty")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#drawn svg a").first).to_be_visible()


def test_an_unknown_page_and_an_unknown_memory_are_errors(pages: Pages) -> None:
    context = pages.context()
    assert context.request.get(f"{pages.address}/ui/nothing").status == 404
    gone = context.request.get(f"{pages.address}/ui/memory/00000000-0000-0000-0000-000000000000.json")
    assert gone.status == 404
    assert "No memory" in gone.json()["error"]


def test_time_has_one_axis_and_its_marker_crosses_what_held_that_day(
    pages: Pages, agent: Call, clock: Callable[[str], None]
) -> None:
    for day, title in (
        ("2026-03-01", "Serve pages from a cache for one hour"),
        ("2026-06-01", "Send receipts by mail"),
        ("2026-09-01", "Store money as whole cents"),
    ):
        clock(day)
        agent("save_session", objective="Begin", project_id="shop")
        agent("save_decision", title=title, rationale="Said.", project_id="shop")
    page = pages.page("/time?project=shop&t=2026-07-01")
    marks = page.locator(".span .now").evaluate_all("all => all.map(one => one.getAttribute('x1'))")
    assert len(marks) == 3
    assert len(set(marks)) == 1
    expect(page.locator("output[for=t]")).to_have_text("2026-07-01")
    starts = page.locator(".span rect").evaluate_all("all => all.map(one => Number(one.getAttribute('x')))")
    assert starts == sorted(starts)
    assert starts[0] < starts[1] < float(marks[0]) < starts[2]


def test_the_words_that_differ_in_a_line_are_marked(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page(f"/memory/{store['queue']}")
    expect(page.locator(".span .name mark")).to_have_text(["now", "later"])
    expect(page.locator(".span .name").last).to_have_text("Send mail from the web request later")


def test_what_was_said_is_a_conversation_and_no_memory(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    said = [{"id": str(n), "role": "user", "content": f"Thanks, Melanie {n}"} for n in range(17)]
    agent("capture_turns", client="claude-code", session_id="s1", turns=said, project_id="harbour")
    page = pages.page("/")
    for path in ("/", "/memories", "/graph", "/time"):
        page.goto(f"{pages.address}/ui{path}")
        expect(page.locator("main")).not_to_contain_text("Melanie")
    page.goto(f"{pages.address}/ui/activity")
    expect(page.locator(".stretch .captured")).to_have_count(1)
    page.get_by_role("link", name="17 turns").first.click()
    expect(page.locator(".turn")).to_have_count(17)
    expect(page.locator(".turn").first).to_contain_text("Melanie 0")
    page.goto(f"{pages.address}/ui/conversations")
    expect(page.locator(".list > li")).to_have_count(1)
    expect(page.locator(".list > li")).to_contain_text("17 turns")


def test_what_sessions_got_is_shown_by_session_with_tokens_and_the_words_on_it(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    def brought(act: str, by: str, session: str, ids: list[str], tokens: int) -> None:
        agent(
            "record_recall",
            by=by,
            memory_ids=[str(one) for one in ids],
            act=act,
            tokens=tokens,
            project_id="harbour",
            client="claude-code",
            session_id=session,
        )

    brought("injected", "UserPromptSubmit", "s1", [store["queue"], store["kept"]], 61)
    brought("retrieved", "search_memory", "s2", [store["mail"]], 1240)
    agent("feedback", id=store["kept"], verdict="wrong")
    agent("forget", label="EntityFact", key=str(store["mail"]), purge=True)
    page = pages.page("/")
    page.get_by_role("link", name="Recall").click()
    one, two = (page.locator(".stretch", has_text=f"Session claude-code:{name}") for name in ("s1", "s2"))
    expect(one.locator("h3")).to_contain_text("61 tokens")
    expect(one.locator(".got")).to_contain_text("brought")
    expect(one.locator(".plainly > li").first).to_contain_text("Send mail from the web request later")
    expect(one.locator(".plainly > li").last).to_contain_text("wrong")
    expect(two.locator(".got")).to_contain_text("asked for")
    expect(two.locator(".got")).to_contain_text("was purged")
    expect(two.locator("h3")).to_contain_text("1\u202f240 tokens")
    one.get_by_role("link", name="Session claude-code:s1").click()
    expect(page.locator(".stretch")).to_have_count(1)
    page.goto(f"{pages.address}/ui/recall?limit=1")
    expect(page.locator(".got")).to_have_count(1)
    page.get_by_role("link", name="Earlier answers").click()
    expect(page.locator(".got")).to_have_count(2)
    expect(page.locator(".got .plainly").last).to_contain_text("Send mail from the web request later")
    page.goto(f"{pages.address}/ui/recall?project=elsewhere")
    expect(page.locator("h1")).to_be_visible()


def test_a_person_says_what_was_noise_and_the_sums_count_it(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    prompt = {"by": "UserPromptSubmit", "act": "injected", "project_id": "harbour", "session_id": "s1"}
    agent("record_recall", **prompt, memory_ids=[str(store["queue"])], tokens=61, client="claude-code")
    agent("record_recall", **prompt, memory_ids=[], tokens=0, client="claude-code")
    page = pages.page("/recall")
    expect(page.locator(".figures")).to_contain_text("of 2 prompts got nothing")
    expect(page.locator(".got", has_text="silent")).to_contain_text("nothing fits this prompt")
    page.get_by_role("button", name="noise: Send mail from the web request later").click()
    expect(page.get_by_role("status")).to_contain_text("more often than right")
    expect(page.locator(".got", has_text="brought").locator(".plainly b")).to_have_text("noise")
    expect(page.locator(".figures .warn dd")).to_have_text("1")
    page.get_by_role("button", name="right: Send mail from the web request later").click()
    expect(page.locator(".got", has_text="brought").locator(".plainly b")).to_have_text("right")
    assert pages.context().request.get(f"{pages.address}/ui/recall.json").json()["sums"]["used"] == 1


def test_the_relations_of_a_memory_are_a_list_too(pages: Pages, store: dict[str, Any]) -> None:
    page = pages.page(f"/memory/{store['queue']}", viewport={"width": 390, "height": 844})
    page.get_by_text("The same as a list").click()
    row = page.get_by_role("listitem").filter(has_text="supersedes")
    expect(row.get_by_role("link").last).to_have_text("Send mail from the web request now")


def test_a_person_sees_the_next_opening_and_gives_decisions_their_place(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    agent("save_session", objective="Mail", project_id="harbour", open_items=["Choose the port of the pilot"])
    page = pages.page("/next")
    page.locator("main").get_by_role("link", name="harbour").click()
    main = page.locator("main")
    expect(main).to_contain_text("of at most 1\u202f200 tokens")
    expect(main).to_contain_text("Choose the port of the pilot")
    decided = main.locator("h2:has-text('Decisions') + ul > li")
    expect(decided.first).to_contain_text("Keep bookings in one database")

    def place(word: str) -> None:
        page.get_by_role(
            "button", name=re.compile(f"^{word}: .*Send mail from the web request later")
        ).click()

    place("first")
    expect(page.get_by_role("status")).to_contain_text("It begins the next sessions")
    expect(decided.first).to_contain_text("Send mail from the web request later")
    place("leave out")
    expect(page.get_by_role("status")).to_contain_text("It is left out of openings")
    expect(page.get_by_role("heading", name="Left out by a person")).to_be_visible()
    twin = pages.context().request.get(f"{pages.address}/ui/next.json?project=harbour").json()
    assert "] Send mail from the web request later" not in twin["text"]
    assert len(twin["text"]) // 4 == twin["tokens"]
    place("bring again")
    expect(page.get_by_role("heading", name="Left out by a person")).to_have_count(0)
    page.get_by_role("combobox", name="Project").select_option("")
    expect(page.locator("h1")).to_have_text("Next session")


def test_rules_and_the_balance_are_shown_in_wide_and_narrow_windows(
    pages: Pages, agent: Call, connection: psycopg.Connection[Any], store: dict[str, Any], tmp_path: Path
) -> None:
    agent("save_context", content="Always push without asking, the pipeline is quick.", project_id="harbour")
    agent("save_context", content="Never auto-push; ask first.", project_id="harbour")
    agent("record_recall", by="PreToolUse", act="injected", memory_ids=[str(store["queue"])], tokens=61)
    with connection.transaction():
        connection.execute(
            "insert into pgmem.trial_session (tenant, session_id, arm, begun_at, prompts, tokens)"
            " select t.tenant, 's' || n, case n % 2 when 0 then 'with' else 'without' end, pgmem.now(),"
            " 20 + n % 7 - 8 * ((n + 1) % 2), 9000 from generate_series(1, 60) n, pgmem.tenant_of() as t(tenant)"
        )
    page = pages.page("/rules", reduced_motion="reduce")
    expect(page.locator("main")).to_contain_text("one asks first, the other does not: push")
    page.goto(f"{pages.address}/ui/balance")
    expect(page.locator("main")).to_contain_text("fewer with memory")
    expect(page.locator("main")).to_contain_text("n = 30")
    for path in ("/rules", "/balance"):
        page.goto(f"{pages.address}/ui{path}")
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 900})
                page.screenshot(path=tmp_path / f"{path[1:]}-{width}-{scheme}.png")
                page.evaluate(Axe().axe_script)
                found = page.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
                wide = page.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                assert (found, wide) == ([], 0), (path, scheme, width)


def test_the_menu_of_a_phone_is_one_button_that_works_without_script(
    pages: Pages, store: dict[str, Any]
) -> None:
    page = pages.page("/", viewport={"width": 390, "height": 844}, java_script_enabled=False)
    expect(page.get_by_role("link", name="Graph")).to_be_hidden()
    page.get_by_role("link", name="Menu").click()
    page.get_by_role("link", name="Graph").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Graph")
    expect(page.get_by_role("link", name="Time")).to_be_hidden()
    head = page.locator("main").bounding_box()
    assert head is not None
    assert head["y"] < 140


def test_a_question_has_one_answer_and_the_rest_is_folded(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    for place in range(4):
        agent(
            "save_decision",
            title=f"Ring the bell of pier {place} at noon",
            rationale="Boats.",
            project_id="harbour",
        )
    page = pages.page("/ask?q=when+is+the+bell+of+pier+2+rung")
    expect(page.locator(".answer > li")).to_have_count(1)
    expect(page.locator(".answer h3")).to_have_text("Ring the bell of pier 2 at noon")
    expect(page.locator(".others .results")).to_be_hidden()
    page.locator(".others > summary").click()
    expect(page.locator(".others .results > li").first).to_be_visible()
    expect(page.locator(".as-sql pre")).to_contain_text(
        "from search_memory('when is the bell of pier 2 rung'"
    )


def test_what_was_said_is_offered_where_no_memory_answers(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    turns = [{"id": "1", "role": "user", "content": "The zebra crossing needs paint before Easter."}]
    agent("capture_turns", client="claude-code", session_id="z", project_id="harbour",
          turns=psycopg.types.json.Jsonb(turns))  # fmt: skip
    page = pages.page("/ask?q=zebra+crossing+paint")
    page.get_by_role("link", name="Read what was said").click()
    expect(page.locator(".results").first).to_contain_text("before Easter")


def test_a_result_shows_its_texts_by_name_and_what_outdates_it(
    pages: Pages, agent: Call, store: dict[str, Any]
) -> None:
    for limit in ("200", "500"):
        agent(
            "save_context",
            topic="latency",
            content=f"The latency budget is {limit} ms.",
            project_id="harbour",
        )
    agent(
        "save_decision",
        title="Cache pages",
        rationale="Ten was too long.",
        owner="Jonas",
        project_id="harbour",
    )
    page = pages.page("/ask?q=latency+budget")
    old = page.locator(".results > li", has_text="200 ms")
    expect(old).to_contain_text("outdated by")
    page.goto(f"{pages.address}/ui/ask?q=cache+pages")
    first = page.locator(".results > li").first
    expect(first.locator("dt").first).to_have_text("Rationale")
    expect(first.locator("dd").first).to_have_text("Ten was too long.")
    expect(first.locator(".about")).to_contain_text("owner Jonas")
