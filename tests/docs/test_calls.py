"""The reading of a verb: the files from its method to its tables, and the chapters in their order."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path

from pgmem import registry
from pgmem._verbs import VERBS
from pgmem.calls.around import AROUND as OF_CORE

AROUND = OF_CORE | {
    each.__name__: each for place in registry.found("AROUND") for each in registry.imported(f"{place}:AROUND")
}
ROOT = Path(__file__).parent.parent.parent
CHANGES = r"(?:insert into|update|delete from) pgmem\.(\w+)"
READS = r"(?:from|join) pgmem\.(\w+)"
LONGER = {
    *("finish_intent", "get_relevant_memory", "manage_engineering_memory", "propose_from_receipt"),
    *("record_candidate", "refresh_from_run", "route_analysis"),
}
"""The verbs that take five files; every other verb takes at most four."""

AHEAD = {
    *("add_state update_node", "enable_graph give_to_owner", "project_cards vertex_properties"),
    *("hold_both require_no_twin", "search_answer with_replaced"),
    *(
        "run_save approved_texts",
        "run_save check_token",
        "run_save spend_token",
        "run_save store",
        "store steers",
        "open_project name_project",
        "open_project require_no_steering",
        "secure_table visible_tenants",
    ),
}
"""The functions that call one of a later chapter."""


@cache
def bodies() -> dict[str, tuple[str, str]]:
    """The functions and views of sql/, each with its chapter and its text without comments."""
    found = {}
    for path in sorted((ROOT / "sql").rglob("[0-9][0-9]-*.sql")):
        for part in re.split(r"^create or replace (?=function|view)", path.read_text("utf-8"), flags=re.M)[
            1:
        ]:
            text, _, _ = re.sub(r"--.*", "", part).partition("\ncomment on ")
            if named := re.match(
                r"(?:function|view) pgmem\.(\w+)", text
            ):  # not one that is made of a declaration
                found[named[1]] = (path.name, text)
        for verb, rest in re.findall(
            r"^select pgmem\.declare_kind\('\w+', '(\w+)'(.*?)\);\n", path.read_text("utf-8"), re.M | re.S
        ):
            store = re.search(r"p_store => '(\w+)'", rest)
            found[verb] = (path.name, f"pgmem.run_save pgmem.{store[1] if store else 'store_node'}")
    return found


@cache
def tables() -> set[str]:
    """The names of the tables."""
    made = r"create (?:unlogged )?table (?:if not exists )?pgmem\.(\w+)"
    versions = (ROOT / "migrations" / "versions").glob("*.py")
    return {name for path in versions for name in re.findall(made, path.read_text("utf-8"))}


def ways(verb: str) -> dict[str, list[str]]:
    """The chapters on the shortest chain of calls to each table that a verb changes, or reads if it changes none."""
    chains = {verb: [verb]}
    for name in (order := [verb]):
        for called in sorted(set(re.findall(r"pgmem\.(\w+)", bodies()[name][1]))):
            if called in bodies() and called not in chains:
                chains[called] = [*chains[name], called]
                order.append(called)
    reached: dict[str, dict[str, list[str]]] = {CHANGES: {}, READS: {}}
    for pattern, found in reached.items():
        for name in order:
            for table in re.findall(pattern, bodies()[name][1]):
                if table in tables():
                    found.setdefault(table, list(dict.fromkeys(bodies()[link][0] for link in chains[name])))
    only_reads = VERBS[verb].effect in ("read", "look")
    return (not only_reads and reached[CHANGES]) or reached[READS] or {"": [bodies()[verb][0]]}


def files(verb: str) -> list[str]:
    """The files that one reads for a verb: method, function around it, chapters down to a table that it works on."""
    found = ways(verb)
    nearest = min(found.values(), key=len)
    around = AROUND.get(verb)
    python = ["methods.py", *([Path(inspect.getfile(around)).name] if around else [])]
    return [*python, *max(nearest, found.get("node", nearest), key=len)]


def test_at_most_four_files_lead_from_a_method_to_its_table() -> None:
    assert {verb for verb in VERBS if len(files(verb)) > 4} == LONGER


def test_a_function_calls_what_an_earlier_chapter_or_its_own_defines() -> None:
    found = {
        f"{name} {called}"
        for name, (chapter, text) in bodies().items()
        for called in re.findall(r"pgmem\.(\w+)\(", text)
        if called in bodies() and bodies()[called][0] > chapter
    }
    assert found == AHEAD


def test_the_core_calls_no_feature_and_a_feature_those_that_it_needs() -> None:
    """The graph and extraction belong to every store; their folders are for the reader."""
    needed = {
        (feature.rpartition(".")[2], needs)
        for feature, named in registry.by_feature("NEEDS")
        for needs in named
    }
    parts = {
        path.name: "core" if path.parts[-3] == "core" else path.parent.name
        for path in (ROOT / "sql").rglob("[0-9][0-9]-*.sql")
    }
    crossed = {
        (parts[chapter], parts[bodies()[called][0]], name, called)
        for name, (chapter, text) in bodies().items()
        for called in re.findall(r"pgmem\.(\w+)", text)
        if called in bodies() and parts[bodies()[called][0]] not in ("core", parts[chapter])
    }
    assert {
        (caller, name, called)
        for caller, owner, name, called in crossed
        if (caller, owner) not in needed and (caller == "core" or owner not in ("graph", "extraction"))
    } == set()


def test_the_core_names_no_label_but_in_the_chapter_that_declares_it() -> None:
    """How a label behaves is declared (02-labels), so that no other chapter knows a card, an item, a turn or an insight."""
    declared = {
        label: path.name
        for path in (ROOT / "sql").rglob("[0-9][0-9]-*.sql")
        for label in re.findall(r"declare_label\('(\w+)'", path.read_text("utf-8"))
    }
    own = {label for label, chapter in declared.items() if chapter == "02-labels.sql"}
    assert {"Card", "File", "Insight", "Item", "Message", "Trajectory", "Turn"} <= {*declared} - own
    named = {
        (path.name, label)
        for path in (ROOT / "sql" / "core").rglob("[0-9][0-9]-*.sql")
        for label in re.findall(r"(?<=['{,])(\w+)(?=[',}])", re.sub(r"--.*", "", path.read_text("utf-8")))
        if label in {*declared} - own and path.name != declared[label]
    }
    assert named == set()
