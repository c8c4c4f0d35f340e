"""docker/kubernetes: valid by the schemas of Kubernetes, and in step with the images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent.parent.parent / "docker" / "kubernetes"
FOUND: list[dict[str, Any]] = [
    found for path in sorted(FOLDER.glob("*.yaml")) for found in yaml.safe_load_all(path.read_text("utf-8"))
]


@pytest.mark.parametrize("found", FOUND, ids=lambda found: str(found["kind"]))
def test_a_manifest_is_valid(found: dict[str, Any]) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="of the extra docker")
    validator.validate(found, validator.latest_version(), strict=True)


def test_a_pod_has_the_rights_the_probes_and_the_places_of_the_image() -> None:
    pods = {
        one["kind"]: one["spec"]["template"]["spec"] for one in FOUND if one["kind"] in ("Job", "Deployment")
    }
    dockerfile = (FOLDER.parent / "Dockerfile").read_text("utf-8")
    for pod in pods.values():
        (container,) = pod["containers"]
        rights = container["securityContext"]
        assert rights["runAsNonRoot"] is rights["readOnlyRootFilesystem"] is True
        assert f"--uid {rights['runAsUser']} pgmem" in dockerfile
        assert {volume["name"] for volume in pod["volumes"]} == {
            mount["name"] for mount in container["volumeMounts"]
        }
    (program,) = pods["Deployment"]["containers"]
    assert program["livenessProbe"]["httpGet"]["path"] == "/health/live"
    assert program["readinessProbe"]["httpGet"]["path"] == "/health/live"
    places = {mount["name"]: mount["mountPath"] for mount in program["volumeMounts"]}
    assert f"PGMEM_DATA_DIR={places['outbox']} " in dockerfile


def test_the_cells_are_those_of_compose_and_no_container_has_rights() -> None:
    cells = [*yaml.safe_load_all((FOLDER / "cells.yaml").read_text("utf-8"))]
    named = {(one["kind"], one["metadata"]["name"]): one for one in cells}
    assert named["ConfigMap", "cells"]["data"]["cells.ini"] == (FOLDER.parent / "cells.ini").read_text(
        "utf-8"
    )
    services = yaml.safe_load((FOLDER.parent / "compose.yaml").read_text("utf-8"))["services"]
    (job,) = named["Job", "cells"]["spec"]["template"]["spec"]["containers"]
    assert job["args"] == services["cells"]["command"]
    assert {one["name"]: one["value"] for one in job["env"]} == services["cells"]["environment"]
    pods = [one["spec"]["template"]["spec"] for one in cells if one["kind"] in ("Job", "Deployment")]
    assert len(pods) == 4
    for pod in pods:
        (container,) = pod["containers"]
        rights = container["securityContext"]
        assert rights["runAsNonRoot"] is rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert {one["name"] for one in pod["volumes"]} == {one["name"] for one in container["volumeMounts"]}
