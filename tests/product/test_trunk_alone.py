"""The trunk without its extras: it does the main job, and threads that were written with every extra lose nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import shows

pytestmark = shows("B23")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def trunk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's source without the extras' folder."""
    folder = tmp_path_factory.mktemp("trunk")
    for name in ("agui_gate", "agui_gate_start.py"):
        source = ROOT / "server" / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("extras", "__pycache__"))
        else:
            shutil.copy(source, folder)
    return folder


def program(what: str, database: Path, server: Path = ROOT / "server") -> Any:
    """What the program prints, run with the server's source in ``server``."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (server, ROOT / "adapters", ROOT)))}
    command = [sys.executable, "-m", "tests.product.trunk", what, str(database)]
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=120, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_main_job_needs_no_extra(trunk: Path, tmp_path: Path) -> None:
    """Question, card, answer, resume, reload, on SQLite with the Responses API and a gate."""
    found = program("main", tmp_path / "a.db", trunk)
    assert (found["pending"], found["ran"]) == (["refund"], [7.0])
    assert found["ends"] == ["RUN_FINISHED", "RUN_FINISHED"]
    assert "refunded 7" in found["results"]
    assert [call["state"] for call in found["reload"]["calls"]] == ["done"]
    assert found["reload"]["messages"][0]["role"] == "user"
    assert found["loaded"] == []


def test_what_every_extra_wrote_is_told_and_stays_to_the_byte(trunk: Path, tmp_path: Path) -> None:
    written = program("write", tmp_path / "a.db")
    bodies = [json.loads(bytes.fromhex(body)) for saved in written["journal"].values() for body in saved]
    kinds = {entry["type"] for body in bodies for entry in body}
    assert kinds >= {"activity", "handed_off", "preview", "state", "window"}
    found = program("read", tmp_path / "a.db", trunk)
    for name, thread in written["threads"].items():
        assert found["threads"][name]["messages"] == thread["messages"], name
        assert found["threads"][name]["calls"] == thread["calls"], name
    assert found["threads"]["with a state"]["state"] == {"items": ["milk"]}
    assert found["journal"] == written["journal"]
    for name, saved in written["journal"].items():
        assert found["after"][name][: len(saved)] == saved, name
    (snapshot,) = [event for event in found["connected"] if event["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshot["messages"] == written["threads"]["with a state"]["messages"]


def test_what_waits_for_an_extra_says_so(trunk: Path, tmp_path: Path) -> None:
    program("write", tmp_path / "a.db")
    with_state, handed_off, with_task, with_preview = program("read", tmp_path / "a.db", trunk)["runs"]
    for events in (with_state, handed_off, with_preview):
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert with_task[-1]["type"] == "RUN_ERROR"
    assert (with_task[-1]["code"], "'teams'" in with_task[-1]["message"]) == ("unavailable", True)
