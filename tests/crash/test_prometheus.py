"""A real Prometheus reads a server by the configuration that we ship, and its rule for an orphan fires after a kill.
The other rules fire on series that are written down beside them.
"""

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from agui_gate.cli.commands.metrics import FILES
from tests.crash.processes import machine
from tests.product.kit import TIMEOUT
from tests.product.shop import call
from tests.support.servers import Prometheus, needs_prometheus

pytestmark = [pytest.mark.anyio, needs_prometheus]

CASES = Path(__file__).parent / "alerts_test.yml"
ORPHAN = "AguiGateOrphanedCalls"


def shipped(target: str) -> Prometheus:
    """Prometheus with what we ship, but for the address, and without its waits: between looks, and for an alert."""
    config = (FILES / "prometheus.yml").read_text()
    server = Prometheus(
        re.sub(r"targets: .*", f'targets: ["{target}"]', re.sub(r"interval: \w+", "interval: 1s", config))
    )
    rules, changed = re.subn(r"for: \w+", "for: 0s", (FILES / "alerts.yml").read_text())
    assert changed > 5
    (server.folder / "alerts.yml").write_text(rules)
    return server


async def asked(client: httpx2.AsyncClient, url: str, until: Callable[[Any], bool]) -> Any:
    """What Prometheus answers, once it is that. It is another process: only to ask tells."""
    async with asyncio.timeout(TIMEOUT):
        while not until(data := (await client.get(url)).json()["data"]):  # noqa: ASYNC110 see above
            await asyncio.sleep(0.1)
        return data


def firing(data: Any) -> set[str]:
    return {alert["labels"]["alertname"] for alert in data["alerts"] if alert["state"] == "firing"}


async def test_the_rule_for_an_orphan_fires_when_a_process_is_killed_at_work(tmp_path: Path) -> None:
    async with (
        machine(tmp_path / "store.db", [{"output": [call("stall", order_id="A1")]}], "chain") as box,
        box.server("metrics") as watched,
        box.server() as other,
    ):
        prometheus = shipped(watched.product.url.removeprefix("http://"))
        prometheus.start()
        try:
            query = f"{prometheus.url}/api/v1/query?query=agui_gate_approvals"
            await asked(box.client, query, lambda data: len(data["result"]) == 4)
            before = (await box.client.get(f"{prometheus.url}/api/v1/alerts")).json()["data"]
            (ask,) = (await other.chat().say("refund")).interrupts
            deciding = asyncio.ensure_future(other.product.decide(ask["id"], {"approved": True}))
            assert await other.line() == "ran stall A1"
            await other.kill()
            with contextlib.suppress(httpx2.HTTPError):
                await deciding
            after = await asked(box.client, f"{prometheus.url}/api/v1/alerts", lambda data: ORPHAN in firing(data))
            rules = (await box.client.get(f"{prometheus.url}/api/v1/rules")).json()["data"]["groups"][0]["rules"]
        finally:
            prometheus.close()
    assert firing(before) == set()
    assert firing(after) == {ORPHAN}
    assert {rule["health"] for rule in rules} == {"ok"}, "each rule could be evaluated"
    (summary,) = [alert["annotations"]["summary"] for alert in after["alerts"]]
    assert "it may have taken effect" in summary


def test_each_rule_fires_when_it_should_and_not_before(tmp_path: Path) -> None:
    assert "job_name: agui-gate" in (FILES / "prometheus.yml").read_text()
    for file in (FILES / "alerts.yml", CASES):
        shutil.copy(file, tmp_path)
    said = subprocess.run(
        ["promtool", "test", "rules", "alerts_test.yml"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stdout + said.stderr


def test_each_rule_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    (group,) = yaml.safe_load((FILES / "alerts.yml").read_text())["groups"]
    fires, quiet = set[str](), set[str]()
    for test in yaml.safe_load(CASES.read_text())["tests"]:
        for case in test["alert_rule_test"]:
            (fires if case["exp_alerts"] else quiet).add(case["alertname"])
    assert fires == quiet == {rule["alert"] for rule in group["rules"]}


def test_prometheus_takes_what_is_shipped_as_it_is(tmp_path: Path) -> None:
    for name in ("prometheus.yml", "alerts.yml"):
        shutil.copy(FILES / name, tmp_path)
    said = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "rules found" in said.stdout


def test_prometheus_understands_what_the_board_asks(tmp_path: Path) -> None:
    asked = [
        target["expr"]
        for panel in json.loads((FILES / "board.json").read_text())["panels"]
        for target in panel["targets"]
    ]
    rules = [{"record": f"asked:{number}", "expr": expr} for number, expr in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    said = subprocess.run(
        ["promtool", "check", "rules", "rules.yml"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{len(asked)} rules found" in said.stdout
