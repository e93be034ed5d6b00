"""The file at a store's path: which one it is, and who has it open, or had the one that was there before.

A file that is removed or replaced under a server stays open there. What the server saves in it is gone at its end. So
the path is looked at before what must last is written. And each process that uses the path holds a lock on another file
beside it, which nobody puts back with a backup: so a restore sees the servers that have the old file open.
"""

import os
import sys
from contextlib import suppress

from agui_gate.errors import Unavailable

if sys.platform != "win32":
    import fcntl

SUFFIX = "-lock"


def _locked(path: str, store: os.stat_result) -> int:
    """Returns a shared lock on the file ``path``, made if it is not there. Raises `OSError`.

    Whoever may open the ``store`` may open it, too. So SQLite does it with the files that it keeps there.
    """
    while True:
        lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        with suppress(OSError):  # another user's
            os.fchmod(lock, store.st_mode & 0o666)
            if os.geteuid() == 0:
                os.fchown(lock, store.st_uid, store.st_gid)
        fcntl.flock(lock, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        os.close(lock)  # who had it before has removed it meanwhile


class OpenFile:
    """The file at ``path``, which was just opened. `close` gives the lock back. Off Unix there is no lock."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._opened = self._now()
        self._lock: int | None = None
        if sys.platform != "win32":
            with suppress(OSError):  # a folder that is read-only, or a file system without locks
                self._lock = _locked(self._path + SUFFIX, os.stat(self._path))

    def require(self) -> None:
        """Raises `Unavailable` unless the path still leads to the file that was opened."""
        if self._now() != self._opened:
            raise Unavailable(
                "The store is not available: its file is gone, or was replaced, while this server had it open. Stop "
                "the server. Where a backup was put there, run agui-gate migrate --restored before you start it again."
            )

    def is_alone(self) -> bool:
        """Returns whether no other process has it open, nor a file that was there before."""
        if self._lock is None or sys.platform == "win32":
            return True
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_SH)  # also where it could not be had alone: the attempt gave it back
        return True

    def close(self) -> None:
        """Gives the lock back. Its file goes with the last one; whoever was killed leaves it, and it does no harm."""
        lock, self._lock = self._lock, None
        if lock is None or sys.platform == "win32":
            return
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(self._path + SUFFIX)
        os.close(lock)

    def _now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
