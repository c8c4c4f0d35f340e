"""The SDK's own tests of its sessions (test_sqlalchemy_session.py), run against PgmemSession."""

from __future__ import annotations

import pytest

from tests.features.integrations import openai_upstream as theirs
from tests.features.integrations.upstream import applying

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("openai_agents")]

SUITE = "openai-agents-session"
_module = theirs.suite("test_sqlalchemy_session")
globals().update(applying(SUITE, _module, without=("pytest", "pytestmark")))
