"""What the machine gives: cores to pin to, file descriptors, and how busy everything else keeps it."""

import os
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

SERVER, LOAD = 0, 1
"""Who gets a core of its own: the server that is measured, and what loads it (the client and the provider)."""


def pin(role: int) -> bool:
    """Keep this process on its role's core; False where that can't be done (one core, or no such call as on macOS)."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    cores = sorted(_allowed())
    if len(cores) < 2:
        return False
    os.sched_setaffinity(0, {cores[role]})
    return True


def _allowed() -> set[int]:
    """The cores to choose from: those of the first process, as a child inherits only the one it was pinned to."""
    given = os.environ.get("BENCH_CORES")
    return {int(core) for core in given.split(",")} if given else os.sched_getaffinity(0)


def remember_cores() -> None:
    """Note the cores for children, before this process pins itself."""
    if hasattr(os, "sched_getaffinity"):
        os.environ["BENCH_CORES"] = ",".join(map(str, sorted(os.sched_getaffinity(0))))


def raise_file_limit(wanted: int = 16_384) -> int:
    """Allow this process and its children as many open files as they may have; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(soft, most)


class Load(NamedTuple):
    """A moment: the wall clock, and the CPU seconds of the machine and of this process with its dead children."""

    wall: float
    machine: float | None
    ours: float

    @classmethod
    def now(cls) -> "Load":
        """Measure. Children count once they were waited for."""
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), _busy_seconds(), sum(usage.ru_utime + usage.ru_stime for usage in usages))

    def others_since(self, before: "Load") -> float | None:
        """Cores that other work took on average since then; None where the machine doesn't say."""
        if self.machine is None or before.machine is None:
            return None
        took = (self.machine - before.machine) - (self.ours - before.ours)
        return max(0.0, took / (self.wall - before.wall))


def _busy_seconds() -> float | None:
    """CPU seconds of all processes since boot (Linux: the first line of /proc/stat, in clock ticks)."""
    if sys.platform != "linux":
        return None
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / float(os.sysconf("SC_CLK_TCK"))
