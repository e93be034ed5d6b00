"""`examples/kubernetes/`: manifests that a cluster takes, by the types of Kubernetes, and what must be in them."""

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import yaml

from agui_gate.config import settings
from tests.examples.conftest import EXAMPLES

MANIFESTS = sorted((EXAMPLES / "kubernetes").glob("*.yaml"))
OBJECTS = {path.stem: yaml.safe_load(path.read_text()) for path in MANIFESTS}
MODULES = {"apps/v1": "apps_v1", "v1": "core_v1", "policy/v1": "policy_v1"}
POD = OBJECTS["deployment"]["spec"]["template"]["spec"]
(SERVER,) = POD["containers"]


def faults(value: Any, kind: Any, path: str) -> Iterator[str]:
    """Yields what is not of this type, and members that the type doesn't have."""
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        found = [list(faults(value, one, path)) for one in typing.get_args(kind) if one is not type(None)]
        yield from min(found, key=len)
    elif typing.get_origin(kind) is list:
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for number, item in enumerate(value):
            yield from faults(item, typing.get_args(kind)[0], f"{path}[{number}]")
    elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
        yield from faults_of_members(value, kind, path)
    elif isinstance(kind, type) and not isinstance(value, kind):
        yield f"{path} is no {kind.__name__}"


def faults_of_members(value: Any, kind: type, path: str) -> Iterator[str]:
    """Yields the faults of an object."""
    if not isinstance(value, dict):
        yield f"{path} is no {kind.__name__}"
        return
    hints = typing.get_type_hints(kind)
    for name, member in value.items():
        if name not in hints:
            yield f"{path}.{name} is unknown"
        else:
            yield from faults(member, hints[name], f"{path}.{name}")
    for field in dataclasses.fields(kind):
        if field.default is field.default_factory is dataclasses.MISSING and field.name not in value:
            yield f"{path}.{field.name} is missing"


def type_of(found: dict[str, Any]) -> Any:
    """The type of Kubernetes that an object names: its types alone, without the client that they are made for."""
    schema = types.ModuleType("lightkube.core.schema")
    vars(schema).update(DictMixin=object, field=dataclasses.field, dataclass=dataclasses.dataclass)
    sys.modules.setdefault("lightkube.core.schema", schema)
    return getattr(import_module(f"lightkube.models.{MODULES[found['apiVersion']]}"), found["kind"])


@pytest.mark.parametrize("name", OBJECTS)
def test_kubernetes_knows_every_member(name: str) -> None:
    assert list(faults(OBJECTS[name], type_of(OBJECTS[name]), name)) == []


def test_an_unknown_and_a_missing_member_are_found() -> None:
    container = {"image": "x", "imagePullPolicies": "Always"}
    spoilt = OBJECTS["deployment"] | {"spec": {"template": {"spec": {"containers": [container]}}, "replicas": "2"}}
    assert set(faults(spoilt, type_of(spoilt), "d")) == {
        "d.spec.replicas is no int",
        "d.spec.selector is missing",
        "d.spec.template.spec.containers[0].imagePullPolicies is unknown",
        "d.spec.template.spec.containers[0].name is missing",
    }


def test_all_are_about_the_same_pods() -> None:
    labels = OBJECTS["deployment"]["spec"]["template"]["metadata"]["labels"]
    assert OBJECTS["deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert OBJECTS["service"]["spec"]["selector"] == labels
    assert OBJECTS["disruption-budget"]["spec"]["selector"]["matchLabels"] == labels
    assert OBJECTS["disruption-budget"]["spec"]["maxUnavailable"] < OBJECTS["deployment"]["spec"]["replicas"]


def test_probes_ask_the_port_of_the_image() -> None:
    ports = {port["name"]: port["containerPort"] for port in SERVER["ports"]}
    image = (EXAMPLES / "replicas" / "Dockerfile").read_text()
    assert re.findall(r"^EXPOSE (\d+)$", image, re.MULTILINE) == [str(ports["http"])]
    probes = {name: SERVER[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {"http"}


def test_it_migrates_first_where_no_probe_kills_it() -> None:
    (first,) = POD["initContainers"]
    assert first["command"] == ["agui-gate", "migrate"]
    assert not [name for name in first if name.endswith("Probe")]
    assert [first[name] == SERVER[name] for name in ("image", "envFrom", "securityContext")] == [True] * 3
    assert "activeDeadlineSeconds" not in POD


def test_it_runs_as_the_user_of_the_image_and_writes_nothing() -> None:
    image = (EXAMPLES / "replicas" / "Dockerfile").read_text()
    assert re.findall(r"^USER (\d+)$", image, re.MULTILINE) == [str(POD["securityContext"]["runAsUser"])]
    assert POD["securityContext"]["runAsNonRoot"]
    assert SERVER["securityContext"]["readOnlyRootFilesystem"]
    assert SERVER["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_its_settings_exist_and_no_secret_is_in_it() -> None:
    given = {one["name"]: one["value"] for one in SERVER["env"]}
    assert set(given) <= {f"AGUI_GATE_{name.upper()}" for name in settings.names()}
    assert not {"AGUI_GATE_STORE", "AGUI_GATE_TOKENS", "OPENAI_API_KEY"} & set(given)
    assert SERVER["envFrom"] == [{"secretRef": {"name": "agui-gate"}}]
    sleep = SERVER["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert POD["terminationGracePeriodSeconds"] - sleep >= float(given["AGUI_GATE_DRAIN_SECONDS"]) + 15
