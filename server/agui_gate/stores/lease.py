"""The owners of leases: who holds a thread's lease, and whether that holder still exists.

A lease ends by itself, but after `kill -9` nobody should wait for that. So the owner's name says which process of which
machine took the lease, and which store in it. The next process on the same machine can see that it is gone. Everything
uncertain counts as alive: another machine, a platform where processes can't be asked. Then the lease simply runs out.
"""

import os
import socket
import sys
from pathlib import Path
from uuid import uuid4

DECIDES, DELETES = "decide_", "delete_"
"""The beginnings of the keys of leases that are no run's: one approval is decided, or the thread is deleted."""

LEASE_MS = 30_000
"""Milliseconds that a lease lasts that nobody renews."""

_SHARED = "@"

_live: set[str] = set()
"""Instances of this process that are open."""


class LeaseOwner:
    """An open store as the owner of leases; `name` is what goes into the record. `close` ends all of its leases.

    ``shared``: the store is one of several machines, so what another one's processes do can't be seen.
    """

    __slots__ = ("_instance", "name")

    def __init__(self, *, shared: bool = False) -> None:
        self._instance = uuid4().hex
        machine = _SHARED + _machine() if shared else _machine()
        self.name = "|".join((machine, str(os.getpid()), _started(os.getpid()) or "", self._instance))
        _live.add(self._instance)

    def close(self) -> None:
        """Says that this owner is gone; safe to call twice."""
        _live.discard(self._instance)


def lapsed(run_status: str | None, owner: str | None, until: int, ticks: int) -> bool:
    """Returns whether a run is under way whose lease, ``owner``'s until ``until``, counts no more.

    Times are of the boot clock. A lease that would last longer than any was given by that of another boot.
    """
    return run_status == "running" and (not ticks < until <= ticks + LEASE_MS or is_gone(owner))


def is_gone(owner: str | None) -> bool:
    """Returns whether the holder called ``owner`` (`LeaseOwner.name`) certainly doesn't exist any more."""
    parts = (owner or "").split("|")
    if len(parts) != 4:
        return False
    machine, shared = parts[0].removeprefix(_SHARED), parts[0].startswith(_SHARED)
    if machine != _machine():
        return not shared and _booted_before(machine)
    if shared and not boot_id():
        return False  # another machine may have the same name
    _, pid, started, instance = parts
    if int(pid) == os.getpid() and started == (_started(os.getpid()) or ""):
        return instance not in _live
    return not _alive(int(pid), started)


def is_neighbour(owner: str, other: str) -> bool:
    """Returns whether both are of one machine, and of one container of it: then each sees whether the other lives."""
    return owner.partition("|")[0] == other.partition("|")[0]


def boot_id() -> str:
    """Names this start of the machine: the same in all of its containers. Empty where the platform doesn't tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _machine() -> str:
    """Names the space in which a process id means one process: host, boot and (in containers) pid namespace."""
    try:
        return f"{socket.gethostname()}/{boot_id()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def _booted_before(machine: str) -> bool:
    """Returns whether that was an earlier start of this machine: a file with leases is used on one machine alone."""
    parts, ours = machine.split("/"), boot_id()
    return len(parts) == 3 and bool(ours) and parts[1] not in ("", ours)


def _alive(pid: int, started: str) -> bool:
    """Returns whether that very process runs: ids are reused, so the time of its start is compared where it is
    known.
    """
    if sys.platform == "win32":
        return True  # os.kill(pid, 0) would send it Ctrl+C
    unknown: tuple[str | None, ...] = ("",)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and belongs to another user, whose entries /proc may hide
        unknown = ("", None)
    return not started or _started(pid) in (started, *unknown)


def _started(pid: int) -> str | None:
    """Returns when the process started, in clock ticks since boot (proc_pid_stat(5), field 22).

    None if it is dead. "" if that can't be read: another user's process, or no descriptors are left here.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""
    return None if fields[0] == "Z" else fields[19]
