"""docker/: options that every service there must have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCKER = Path(__file__).parent.parent.parent / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
STAGES = dict(re.findall(r"^FROM \S+ AS (\w+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.S | re.M))
IMAGES = {name: stage for name, stage in STAGES.items() if name != "build"}  # that one is thrown away


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_somebody_who_is_not_root_and_compiles_nothing(image: str) -> None:
    users = re.findall(r"^USER (\S+)$", IMAGES[image], re.M)
    assert users
    assert users[-1] != "root"
    assert not re.search(r"\b(make|gcc|build-essential|git clone)\b", IMAGES[image])


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_service_takes_secrets_from_files_and_says_whether_it_is_well(service: str) -> None:
    found = COMPOSE["services"][service]
    assert found["build"]["target"] in IMAGES
    assert set(found.get("secrets", ())) <= set(COMPOSE["secrets"])
    assert not re.search(r"password=|PASSWORD(?!_FILE)", str(found.get("environment")))
    ends = found["restart"] == "on-failure"
    assert found["healthcheck"].get("disable", False) is ends


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_service_has_no_rights_and_no_room_that_it_does_not_need(service: str) -> None:
    found = COMPOSE["services"][service]
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opt"] == ["no-new-privileges:true"]
    assert found["read_only"] is True
    assert found["mem_limit"]


def test_every_secret_is_a_file_that_is_not_committed() -> None:
    ignored = (DOCKER.parent / ".gitignore").read_text(encoding="utf-8")
    assert {Path(secret["file"]).parent.as_posix() for secret in COMPOSE["secrets"].values()} == {"secrets"}
    assert "docker/secrets/" in ignored.splitlines()


def test_only_the_program_and_prometheus_are_published_and_only_on_this_machine() -> None:
    ports = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert set(ports) == {"mcp", "metrics"}
    assert all(port.startswith("127.0.0.1:") for found in ports.values() for port in found)


def test_what_an_image_copies_is_in_the_context() -> None:
    ignored = (DOCKER.parent / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for names in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.M):
        for name in names.split():
            assert (DOCKER.parent / name).exists(), name
            assert f"!{name.split('/')[0]}" in ignored, name


def test_images_differ_from_their_base_by_packages_alone() -> None:
    """One base for all, which docker/make-base can make: an image of another name could not be pulled there."""
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)) == {"${BASE}"}
