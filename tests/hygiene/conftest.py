"""What the tests of hygiene and reflection share."""

from __future__ import annotations

from tests.sql.conftest import act_as, each, picture, rows, shop

__all__ = ["act_as", "each", "picture", "rows", "shop"]
