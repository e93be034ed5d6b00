"""How much a store takes."""

import msgspec

from agui_gate.errors import TooLarge


class Bounds(msgspec.Struct, frozen=True):
    """What a store refuses; None: nothing.

    ``thread_bytes``: how large a thread may be to be read as a whole. ``principal_bytes``, ``principal_threads``: what
    a store that keeps everything in memory keeps of one principal.
    """

    thread_bytes: int | None = None
    principal_bytes: int | None = None
    principal_threads: int | None = None

    def check_readable(self, size: int) -> None:
        """Raise `TooLarge` if a thread of ``size`` bytes may not be read as a whole: it takes several times as much."""
        if self.thread_bytes is not None and size > self.thread_bytes:
            raise TooLarge(
                f"This thread has {size:,} bytes; more than {self.thread_bytes:,} are not read. "
                "Begin a new thread. Deleting this one is possible."
            )

    def check_principal(self, size: int, threads: int) -> None:
        """Raise `TooLarge` if a principal who has that much can't have more."""
        if self.principal_threads is not None and threads > self.principal_threads:
            raise TooLarge(f"You have {self.principal_threads:,} threads, which is the limit. Delete some of them.")
        if self.principal_bytes is not None and size > self.principal_bytes:
            raise TooLarge(
                f"Your threads have {self.principal_bytes:,} bytes, which is the limit of this server's memory. "
                "Delete some of them."
            )


NO_BOUNDS = Bounds()
