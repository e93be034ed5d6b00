"""Tests in several processes: what each one ran is told once, whatever becomes of it."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from tests.support.processes import MOST, shares

CONFTEST = """
from tests.support import processes

pytest_addoption = processes.add_option


def pytest_configure(config):
    config.pluginmanager.register(processes.Processes(config.getoption("numprocesses")))
"""
CASES = """
import os, signal, pytest

@pytest.fixture(scope="session")
def mine(tmp_path_factory, pytestconfig):
    yield tmp_path_factory.mktemp("mine")
    with open("torn down", "a") as file:
        file.write(f"{os.getpid()}\\n")

@pytest.mark.parametrize("n", range(12))
def test_one(n, mine):
    print("what", n, "says")
    with open("begun", "a") as file:
        file.write(f"{n}\\n")
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    assert n != 5, "five"
"""


HANGS = """
import threading

def test_one():
    threading.Thread(target=threading.Event().wait).start()

def test_two():
    pass
"""


def run(folder: Path, *options: str, cases: str = CASES, more: str = "") -> subprocess.CompletedProcess[str]:
    """Run the cases in two processes. ``more``: of their `conftest.py`."""
    (folder / "conftest.py").write_text(CONFTEST + more)
    (folder / "test_cases.py").write_text(cases)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-n2", *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("count", [1, 2, 7, 40, 12_345])
@pytest.mark.parametrize("processes", [1, 3])
def test_each_test_is_in_one_share_and_the_last_ones_are_small(count: int, processes: int) -> None:
    given = list(shares(count, processes))
    assert list(chain(*given)) == list(range(count))
    assert all(1 <= len(share) <= MOST for share in given)
    assert len(given[-1]) == 1


def test_a_process_that_dies_costs_one_test(tmp_path: Path) -> None:
    done = run(tmp_path, "-q")
    assert done.returncode == 1, done.stderr
    assert "2 failed, 10 passed" in done.stdout
    assert "test_cases.py::test_one[3] - The process of this test ended in it, with exit code -9." in done.stdout
    assert "AssertionError: five" in done.stdout
    assert "what 5 says" in done.stdout
    assert sorted(map(int, (tmp_path / "begun").read_text().split())) == list(range(12))
    processes = (tmp_path / "torn down").read_text().split()
    assert len(processes) == len(set(processes)) == 2, "the one that took the place of the one that died, and the other"


def test_it_stops_when_it_is_told_to(tmp_path: Path) -> None:
    done = run(tmp_path, "-x", "-k", "3 or 4 or 6")
    assert done.returncode == 1, done.stderr
    assert "stopping after 1 failures" in done.stdout
    assert "1 failed" in done.stdout


def test_a_thread_of_a_test_that_never_ends_ends_the_session(tmp_path: Path) -> None:
    done = run(tmp_path, cases=HANGS, more="processes.END_SECONDS = 0.5\n")
    assert done.returncode == 1, done.stderr
    assert "a process of the tests did not end 0.5 seconds after its last one" in done.stdout
