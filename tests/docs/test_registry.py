"""The features bring the entries of the registry, and each thing is where its name says."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from pgmem import registry

ROOT = Path(__file__).parent.parent.parent
PLACES = (
    "AROUND SHAPES EXTENSIONS RESOURCES SUBSCRIPTIONS ROUNDS BESIDE CHECKS FRONTS REPORT INSTRUCTIONS".split()
)
BY_NAME = "TOOLSETS TRANSPORTS STEPS".split()
OTHERS = "COMMANDS EXAMPLES RECALLED NEEDS".split()


def test_every_folder_of_features_is_in_the_list() -> None:
    folders = {path.parent.name for path in (ROOT / "pgmem" / "features").glob("*/__init__.py")}
    assert {f"pgmem.features.{name}" for name in folders} == set(registry.FEATURES)


@pytest.mark.parametrize("feature", registry.FEATURES)
def test_a_feature_brings_what_the_registry_describes(feature: str) -> None:
    known, module = {*PLACES, *BY_NAME, *OTHERS}, import_module(feature)
    brought = {name for name in vars(module) if re.fullmatch("[A-Z]+", name)}
    assert brought - {*getattr(module, "__all__", ())} <= known
    assert [name for name in known if name not in (registry.__doc__ or "")] == []


def test_each_thing_that_a_feature_brings_is_there() -> None:
    places = [place for name in PLACES for place in registry.found(name)]
    places += [place for name in BY_NAME for place in registry.merged(name).values()]
    commands = [
        f"{feature}.{place}"
        for feature, brought in registry.by_feature("COMMANDS")
        for _, place, _ in brought.values()
    ]
    assert (len(places) > 10, len(commands) > 10) == (True, True)
    assert [place for place in (*places, *commands) if registry.imported(place) is None] == []
    assert [name for name in registry.AT_ONCE.values() if not hasattr(import_module(name), "read")] == []
    needed = {name for _, names in registry.by_feature("NEEDS") for name in names}
    assert {f"pgmem.features.{name}" for name in needed} <= set(registry.FEATURES)


PYTHON = {feature.rpartition(".")[2]: feature for feature in registry.FEATURES}


@pytest.mark.parametrize(
    "name", sorted({*PYTHON, *(path.name for path in (ROOT / "sql" / "features").iterdir() if path.is_dir())})
)
def test_the_page_of_a_feature_names_its_verbs_tables_and_commands(name: str) -> None:
    page = (ROOT / "docs" / "features" / f"{name}.md").read_text(encoding="utf-8")
    sql = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "features" / name).glob("*.sql")
    )
    brought = set(re.findall(r"declare_(?:verb|table)\('(\w+)'", sql))
    if name in PYTHON:
        brought |= {*getattr(import_module(PYTHON[name]), "COMMANDS", {})}
    named = set(re.findall(r"`([\w-]+)`", page))
    assert brought <= named
