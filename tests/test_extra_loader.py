"""Extras are imported by name, and one that isn't there is a clear error."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agui_gate import extra_loader
from agui_gate.errors import ExtraMissing

ROOT = Path(__file__).parents[1]


def test_an_extra_is_its_module() -> None:
    assert extra_loader.load("suggestions").__name__ == "agui_gate.extras.suggestions"


def test_an_extra_that_is_not_there_is_named() -> None:
    with pytest.raises(ExtraMissing, match=r"feature 'weather' \(agui_gate\.extras\.weather\)"):
        extra_loader.load("weather")
    assert extra_loader.find("weather") is None


def test_without_the_folder_every_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agui_gate.extras")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr("agui_gate.__path__", [])
    with pytest.raises(ExtraMissing):
        extra_loader.load("suggestions")


def test_an_extra_that_another_one_stands_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'agui_gate.extras.weather'", name="agui_gate.extras.weather")

    monkeypatch.setattr(extra_loader, "import_module", fail)
    with pytest.raises(ExtraMissing, match="'weather'"):
        extra_loader.load("suggestions")


def test_what_an_extra_itself_lacks_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(extra_loader, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        extra_loader.load("suggestions")


HELLO = """
import asyncio, json, sys
from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, request, run_body, started

def loaded():
    names = {name.split(".")[2] for name in sys.modules if name.startswith("agui_gate.extras.")}
    asked = {"copilotkit", "inbox", "page", "replica_signals", "retention_job", "suggestions"}
    return sorted(names & asked)

async def main():
    said = [loaded()]
    app = create_app(Agent(name="support", model=Parrot()), store="memory://", settings=Settings())
    async with started(app):
        body = json.dumps(run_body("t", {"id": "u", "role": "user", "content": "hello"})).encode()
        assert (await request(app, "POST", "/", body)).events()[-1]["type"] == "RUN_FINISHED"
        assert (await request(app, "GET", "/approvals")).status == (await request(app, "GET", "/healthz")).status == 200
        assert (await request(app, "GET", "/nowhere")).status == 404
        said.append(loaded())
        assert (await request(app, "GET", "/")).status == 200
        said.append(loaded())
        assert (await request(app, "GET", "/copilotkit/info")).status == 200
        said.append(loaded())
    print(json.dumps(said))

asyncio.run(main())
"""


def test_extensions_of_the_server_are_loaded_with_the_first_request_to_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELLO], capture_output=True, check=True, timeout=60, text=True, cwd=ROOT
    )
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == [[], [], ["page"], ["copilotkit", "page", "suggestions"]]
