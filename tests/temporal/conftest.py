"""The fixtures of the tests of the verbs, and a thing to remember."""

from __future__ import annotations

from tests.sql.conftest import act_as, each, rows, shop

__all__ = ["act_as", "each", "rows", "shop"]
