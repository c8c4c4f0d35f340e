"""The first line of a run says which server its tests use."""

from __future__ import annotations

import pytest

from tests.conftest import chosen_server


def test_a_run_of_containers_does_not_name_the_server_of_the_other_tests(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = chosen_server(pytestconfig)
    monkeypatch.setattr(pytestconfig.option, "markexpr", "docker")
    assert chosen_server(pytestconfig) == "separate containers, by docker/compose.yaml" != other
