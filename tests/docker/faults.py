"""Faults of the services: containers that are killed or frozen, and networks that are cut."""

from __future__ import annotations

from collections.abc import Iterator

from tests.docker.conftest import images
from tests.docker.stack import Stack, run


def queued(services: Stack) -> int:
    """How many saves the outbox holds; asked of the volume, because the program may be the one that is away."""
    mount = f"{services.name}_outbox:/outbox:ro"
    listed = run(
        *("docker", "run", "--rm", "--user", "0", "--network", "none", "--volume", mount),
        *("--entrypoint", "sh"),
        *(images()["PGMEM_IMAGE"], "-c", "ls /outbox/outbox 2> /dev/null || true"),
    )
    return len([name for name in listed.split() if name.endswith(".json")])


def inside(services: Stack, service: str, *command: str) -> None:
    """Run a command of this machine in the network of a container."""
    process = run("docker", "inspect", services.container(service), "--format", "{{.State.Pid}}").strip()
    run("nsenter", "--target", process, "--net", *command)


def cut(services: Stack, one: str, other: str) -> Iterator[None]:
    """Drop every packet between two containers, as a broken switch does: no connection is refused or reset."""
    there = services.address(other)
    for direction in (("INPUT", "--source"), ("OUTPUT", "--destination")):
        inside(services, one, "iptables", "-A", direction[0], direction[1], there, "-j", "DROP")
    yield
    inside(services, one, "iptables", "--flush")


def kill(services: Stack, service: str) -> Iterator[None]:
    """Kill a container; it is started again later."""
    run("docker", "kill", services.container(service))
    yield
    run("docker", "start", services.container(service))


def pause(services: Stack, service: str) -> Iterator[None]:
    """Freeze a container: its connections stay open, and nothing answers."""
    run("docker", "pause", services.container(service))
    yield
    run("docker", "unpause", services.container(service))
