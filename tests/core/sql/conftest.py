"""The names of tests/fixtures/verbs.py, for tests that still import them from here."""

from __future__ import annotations

from tests.fixtures.verbs import SAVES, ActAs, Each, Picture, Rows, act_as, each, picture, rows, shop

__all__ = ["SAVES", "ActAs", "Each", "Picture", "Rows", "act_as", "each", "picture", "rows", "shop"]
