"""The features: all that can be left out of pgmem. No module of the core imports one.

A feature says in its `__init__` which things it brings, by name: a place is `module:attribute` in its package. The core
asks here, and a place is imported when it is used, so that starting a command imports nothing else. Constants that a
feature may have:

- COMMANDS: each command as (panel of the help, place, the command before it, or None); EXAMPLES of them
- AROUND: the module of functions around verbs; the methods that call them are written to its methods.py
- SHAPES: the place of the types of objects that its tools take; RECALLED: the lists of memories in answers of its tools
- TOOLSETS: tools besides the verbs: the module of each toolset, with `tools`, `text_of`, and `add` if it has resources
- EXTENSIONS, RESOURCES: an extension of the MCP server of its app; a function that adds resources
- SUBSCRIPTIONS: the class that serves subscriptions to resources
- TRANSPORTS: the function that serves agents over a transport
- STEPS: steps of a round of maintenance, by the name of the count; ROUNDS: steps of `pgmem worker` alone;
  BESIDE: the function that gives work beside its rounds, or None
- CHECKS: functions of `pgmem doctor` about a home, a folder and an environment; FRONTS: its look at a front
- REPORT: the module that draws the quality report as a page; INSTRUCTIONS: the one that keeps a block in a file
- NEEDS: the features that it does not work without

`scripts/without NAME` takes a feature away and shows that all else is whole.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["AT_ONCE", "EVENTS", "FEATURES", "by_feature", "found", "imported", "merged", "one"]

FEATURES = (
    "pgmem.features.acts",
    "pgmem.features.cards",
    "pgmem.features.cells",
    "pgmem.features.editor",
    "pgmem.features.feed",
    "pgmem.features.http",
    "pgmem.features.importers",
    "pgmem.features.integrations",
    "pgmem.features.skills",
    "pgmem.features.stores",
    "pgmem.features.ui",
    "pgmem.features.vault",
)
"""The features, in the order in which they are asked."""

AT_ONCE: dict[str, str] = {
    "hook": "pgmem.features.editor.events",
    "surface": "pgmem.features.editor.surface",
}
"""Commands that a client waits for: they begin before any feature is asked, and import nothing that is slow."""

EVENTS: dict[str, tuple[str, ...]] = {
    "file": ("pgmem.features.acts.hook:before", "pgmem.features.acts.trial:withhold"),
    "result": ("pgmem.features.acts.hook:after", "pgmem.features.acts.trial:withhold"),
    "child": ("pgmem.features.acts.hook:child", "pgmem.features.acts.trial:withhold"),
    "start": ("pgmem.features.acts.hook:again", "pgmem.features.acts.trial:begin"),
    "prompt": ("pgmem.features.acts.hook:again", "pgmem.features.acts.trial:count"),
    "keep": ("pgmem.features.acts.hook:compacting", "pgmem.features.acts.trial:count"),
    "brought": ("pgmem.features.acts.hook:keep_lines",),
}
"""Functions that add to the text of an event of a session, by the kind of the event, and those that keep its
ids; they import nothing slow."""


def by_feature(name: str) -> list[tuple[str, Any]]:
    """Return the features that bring something under a name, each with the thing."""
    features = ((feature, import_module(feature)) for feature in FEATURES)
    return [(feature, getattr(module, name)) for feature, module in features if hasattr(module, name)]


def found(name: str) -> list[str]:
    """Return the places that features bring under a name, as whole names."""
    return [
        f"{feature}.{place}"
        for feature, brought in by_feature(name)
        for place in ([brought] if isinstance(brought, str) else brought)
    ]


def merged(name: str) -> dict[str, Any]:
    """Return the mappings that features bring under a name as one; a place becomes a whole name."""
    return {
        key: f"{feature}.{value}" if isinstance(value, str) else value
        for feature, mapping in by_feature(name)
        for key, value in mapping.items()
    }


def imported(place: str) -> Any:
    """Return a module, or an attribute of one."""
    module, _, attribute = place.partition(":")
    there = import_module(module)
    return getattr(there, attribute) if attribute else there


def one(name: str) -> Any:
    """Return the thing that a feature brings under a name; None if no feature has one."""
    places = found(name)
    return imported(places[0]) if places else None
