"""What can't be installed is said, and what is measured is pinned; no package index is needed for that."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench import rivals
from tests.bench.rivals import RIVALS, Rival, install


@pytest.fixture
def rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rival:
    monkeypatch.setattr(rivals, "ROOT", tmp_path)
    found = Rival("strands", ("strands-agents",))
    found.requirements.parent.mkdir(parents=True)
    found.requirements.write_text("strands-agents==1.62.0\n")
    return found


def test_an_environment_is_made_once_for_each_set_of_requirements(rival: Rival) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        commands.append(command)
        rival.python.parent.mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    assert [install(rival, run), install(rival, run)] == ["", ""]
    assert [command[2] for command in commands] == ["venv", "pip"]
    rival.requirements.write_text("strands-agents==1.63.0\n")
    assert install(rival, run) == ""
    assert len(commands) == 4
    assert rival.versions == "strands-agents 1.63.0"


def test_what_can_not_be_installed_is_said_and_tried_again(rival: Rival) -> None:
    def refuse(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(command, 1, "", "Looking\nERROR: No matching distribution found\n")

    def absent(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        raise FileNotFoundError("no such interpreter")

    assert install(rival, refuse) == "ERROR: No matching distribution found"
    assert install(rival, absent) == "no such interpreter"


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.name)
def test_a_rival_is_pinned_and_has_a_server(rival: Rival) -> None:
    lines = [line for line in rival.requirements.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []
    assert all(package in rival.versions for package in rival.packages)
    assert "def create(provider: str)" in rival.server.read_text()
