"""Who is gone and who only seems so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agui_gate.stores.lease import LeaseOwner, is_gone


def renamed(owner: LeaseOwner, **parts: str) -> str:
    machine, pid, started, instance = owner.name.split("|")
    named = {"machine": machine, "pid": pid, "started": started, "instance": instance} | parts
    return "|".join(named.values())


@pytest.fixture
def owner() -> LeaseOwner:
    return LeaseOwner()


@pytest.fixture(scope="module")
def dead() -> str:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    return str(process.pid)


def test_an_owner_is_there_until_it_closes(owner: LeaseOwner) -> None:
    assert not is_gone(owner.name)
    owner.close()
    owner.close()
    assert is_gone(owner.name)


def test_an_instance_that_this_process_does_not_know_is_gone(owner: LeaseOwner) -> None:
    assert is_gone(renamed(owner, instance="another"))


def test_a_living_process_is_there(owner: LeaseOwner) -> None:
    assert not is_gone(renamed(owner, pid=str(os.getppid()), started=""))


def test_a_dead_process_is_gone(owner: LeaseOwner, dead: str) -> None:
    assert is_gone(renamed(owner, pid=dead, started=""))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the time of a process's start is known on Linux")
def test_a_process_id_that_is_used_again_is_not_the_same_process(owner: LeaseOwner) -> None:
    assert is_gone(renamed(owner, pid=str(os.getppid()), started="1"))
    assert is_gone(renamed(owner, started="1")), "our own id, of an earlier process"


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="zombies are seen on Linux")
def test_a_process_that_ended_but_was_not_waited_for_is_gone(owner: LeaseOwner) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        name = renamed(owner, pid=str(process.pid), started=started)
        assert not is_gone(name)
        process.stdin.write(b"\n")
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(name)


def test_nothing_is_said_about_another_machine(owner: LeaseOwner, dead: str) -> None:
    assert not is_gone(renamed(owner, machine="elsewhere", pid=dead))
    assert not is_gone(renamed(owner, machine="elsewhere", instance="another"))


@pytest.mark.parametrize("name", [None, "", "x", "a|b|c|d"])
def test_a_name_that_is_not_ours_is_not_gone(name: str | None) -> None:
    assert not is_gone(name)


def test_a_process_of_another_user_is_there(owner: LeaseOwner, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(pid: int, signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", forbidden)
    assert not is_gone(renamed(owner, pid=str(os.getppid()), started=""))


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), FileNotFoundError(2, "hidden"), OSError(24, "full")])
def test_a_process_whose_entry_can_not_be_read_is_there(
    owner: LeaseOwner, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """Another user's, whose entry may be hidden (hidepid), or no descriptors are left to read it with."""

    def unreadable(path: Path) -> str:
        raise error

    def forbidden(pid: int, signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    other = renamed(owner, pid=str(os.getppid()), started="1")
    assert is_gone(other)
    monkeypatch.setattr(Path, "read_text", unreadable)
    if error.errno != 24:
        monkeypatch.setattr(os, "kill", forbidden)
    assert not is_gone(other)


def test_a_process_that_ends_while_it_is_looked_at_is_gone(
    owner: LeaseOwner, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "kill", lambda pid, signal: None)
    assert is_gone(renamed(owner, pid=dead, started="1"))


def test_where_the_platform_tells_nothing_only_what_is_certain_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **more: object) -> str:
        raise FileNotFoundError("there is no /proc")

    monkeypatch.setattr(Path, "read_text", nothing)
    monkeypatch.setattr(os, "stat", nothing)
    owner = LeaseOwner()
    assert not is_gone(owner.name)
    assert not is_gone(renamed(owner, pid=str(os.getppid())))
    assert not is_gone(renamed(owner, machine="elsewhere"))
    owner.close()
    assert is_gone(owner.name)
