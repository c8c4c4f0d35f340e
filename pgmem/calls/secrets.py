"""Secrets in the arguments of a write, found by their forms before anything leaves the process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pgmem.errors import InvalidArgument
from pgmem.secret_forms import AWS_SECRET, forms

Scrubbing = Literal["off", "redact", "refuse"]


def scrubbed(params: Mapping[str, Any], mode: Scrubbing) -> dict[str, Any]:
    """Return the arguments of a write without secrets in their texts and in the keys of their objects.

    Raises:
        InvalidArgument: the mode is refuse and a text holds a secret; the message names the argument and the kind.
    """
    if mode == "off":
        return dict(params)
    return {name: _scrub(name, value, mode) for name, value in params.items()}


def _scrub(name: str, value: Any, mode: Scrubbing) -> Any:
    if isinstance(value, Mapping):
        found: dict[Any, Any] = {}
        for key, item in value.items():
            kept = _scrub(f"a key of {name}", key, mode)
            while kept in found:  # two keys that held secrets
                kept += "'"
            if isinstance(item, str) and AWS_SECRET.search(f"{key}={item}"):
                found[kept] = _without(f"{name}.{key}", "AWS Secret Key", mode)
            else:
                found[kept] = _scrub(f"{name}.{key}", item, mode)
        return found
    if isinstance(value, list | tuple):
        return [_scrub(name, item, mode) for item in value]
    if not isinstance(value, str):
        return value
    for kind, pattern in forms():
        if pattern.search(value):
            value = pattern.sub(_without(name, kind, mode), value)
    return value


def _without(name: str, kind: str, mode: Scrubbing) -> str:
    if mode == "refuse":
        raise InvalidArgument(f"{name} holds what looks like a secret ({kind}); send it without.")
    return f"[redacted: {kind}]"
