"""Growth as scripts/soak defines it; the soak itself needs an engine and half an hour."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from tests.docker.stack import ROOT

MCP = "python3 /opt/pgmem/bin/pgmem mcp --transport http"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The program `scripts/soak`."""
    spec = spec_from_loader("soak", SourceFileLoader("soak", str(ROOT / "scripts" / "soak")))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["soak"] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_a_container_grows_by_what_its_processes_have_together(script: ModuleType) -> None:
    def sample(backends: float, shared: float) -> dict[str, dict[str, tuple[float, float]]]:
        found = {service: {"python3 pgmem": (80.0, 0.0)} for service in script.LIMITED}
        found["postgres"] = {"postgres": (10.0, shared), "postgres: pgmem memory": (backends, 0.0)}
        return found

    start = [sample(90, 20)] * 6
    assert script.show_memory(start, [sample(99, 200)] * 6) == []
    assert script.show_memory(start, [sample(101, 20)] * 6) == ["postgres"]
    # Files of one reading in six, such as those of a vacuum, do not count as growth.
    assert script.show_memory(start, [*[sample(90, 20)] * 5, sample(900, 20)]) == []


def test_processes_are_named_by_what_they_do(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    read = (
        "/proc/1/cmdline:" + MCP.replace(" ", "\0") + "\0\n"
        "/proc/7/cmdline:postgres: pgmem memory 172.18.0.3(40112) idle\0\n"
        "/proc/8/cmdline:postgres: pgmem memory 172.18.0.3(40113) idle\0\n"
        "/proc/9/cmdline:grep\0-HE\0\n"
        "/proc/1/smaps_rollup:Pss_Anon:            2048 kB\n"
        "/proc/7/smaps_rollup:Pss_Anon:            1024 kB\n"
        "/proc/7/smaps_rollup:Pss_Shmem:           512 kB\n"
        "/proc/8/smaps_rollup:Pss_Anon:            1024 kB\n"
        "/proc/9/smaps_rollup:Pss_Anon:            9999 kB\n"
    )
    monkeypatch.setattr(script, "run", lambda *command: read)
    assert script.memory("any") == {
        "python3 pgmem mcp --transport ": (2.0, 0.0),
        "postgres: pgmem memory": (2.0, 0.5),
    }
