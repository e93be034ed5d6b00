"""A wire to a dictionary, which may be away; and a bus of two replicas: what one publishes is read on the other."""

import asyncio
from collections.abc import Callable, Sequence

from agui_gate.bus.base import Hear, Published, Publisher, Reader, Signal, Tell
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.bus.replicas.wire import Batch, Head, Note, Piece, Run, Said, Wanted
from agui_gate.errors import Unavailable


class Kept:
    """What the place has of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.pieces: dict[int, Piece] = {}  # by the number after the last frame
        self.next = 0
        self.ended = False

    def head(self) -> Head:
        first = min((piece.first for piece in self.pieces.values()), default=self.next)
        return Head(self.run, first, self.next, self.ended)


class Place:
    """What all wires lead to. While it is ``away`` none of them works; ``deaf``: notes are lost."""

    def __init__(self) -> None:
        self.runs: dict[str, Kept] = {}
        self.openings: dict[str, tuple[int, bytes]] = {}
        self.hearing: dict[str, Callable[[bytes], None]] = {}
        self.again: dict[str, Callable[[], None]] = {}
        self.away = self.deaf = False
        self.sends = self.reads = 0

    def go(self) -> None:
        """Be away."""
        self.away = self.deaf = True

    def come_back(self, *, with_nothing: bool = False) -> None:
        """Be there again, as a server that was started again."""
        self.away = self.deaf = False
        if with_nothing:
            self.runs.clear()
            self.openings.clear()
        for again in self.again.values():
            again()


class WireInMemory:
    """A `Wire`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.address = ""

    async def start(self, address: str, hear: Callable[[bytes], None], again: Callable[[], None]) -> None:
        self.address = address
        self.place.hearing[address] = hear
        self.place.again[address] = again

    async def send(self, batches: Sequence[Batch], notes: Sequence[Note]) -> None:
        await self._there()
        self.place.sends += 1
        for batch in batches:
            kept = self.place.runs.setdefault(batch.run.run_key, Kept(batch.run))
            if batch.data:
                kept.pieces[batch.next] = Piece(batch.first, batch.data)
            kept.pieces = {end: piece for end, piece in kept.pieces.items() if end > batch.keep}
            kept.next, kept.ended = batch.next, batch.ended
        loop = asyncio.get_running_loop()
        for note in notes:
            for address, hear in self.place.hearing.items():
                if note.to in ("", address) and not self.place.deaf:
                    loop.call_soon(hear, note.payload)

    async def find(self, run_key: str) -> Head | None:
        await self._there()
        kept = self.place.runs.get(run_key)
        return None if kept is None else kept.head()

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        await self._there()
        self.place.reads += 1
        return [self._said(each) for each in wanted]

    def _said(self, wanted: Wanted) -> Said | None:
        kept = self.place.runs.get(wanted.run_key)
        if kept is None:
            return None
        pieces = [kept.pieces[end] for end in sorted(kept.pieces) if end > wanted.seq]
        return Said(pieces[:4], kept.next, kept.ended)

    async def put_opening(self, run_key: str, seq: int, data: bytes) -> None:
        await self._there()
        self.place.openings[run_key] = (seq, data)

    async def opening(self, run_key: str) -> tuple[int, bytes] | None:
        await self._there()
        return self.place.openings.get(run_key)

    async def forget(self, principal: str, thread_id: str) -> None:
        await self._there()
        for key, kept in list(self.place.runs.items()):
            if kept.ended and (kept.run.principal, kept.run.thread_id) == (principal, thread_id):
                del self.place.runs[key]

    async def expire(self) -> None:
        await self._there()

    async def aclose(self) -> None:
        self.place.hearing.pop(self.address, None)
        self.place.again.pop(self.address, None)

    async def _there(self) -> None:
        await asyncio.sleep(0)
        if self.place.away:
            raise Unavailable("The place is away.")


class Replicas:
    """A `Bus` that publishes on one replica, and reads on another."""

    def __init__(self, here: SharedBus, there: SharedBus) -> None:
        self.here, self.there = here, there

    async def start(self) -> None:
        await self.here.start()
        await self.there.start()

    async def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Publisher:
        return await self.here.open(run_key, principal, thread_id, run_id)

    async def find(self, run_key: str) -> Published | None:
        return await self.there.find(run_key)

    async def read(self, run_key: str, after: int = -1) -> Reader | None:
        return await self.there.read(run_key, after)

    async def join(self, run_key: str, tell: Tell, *, watching: bool = False) -> Reader | None:
        return await self.there.join(run_key, tell, watching=watching)

    async def forget(self, principal: str, thread_id: str) -> None:
        await self.there.forget(principal, thread_id)

    async def expire(self) -> None:
        await self.here.expire()
        await self.there.expire()

    def listen(self, hear: Hear) -> None:
        self.here.listen(hear)

    def tell(self, signal: Signal) -> None:
        self.here.tell(signal)

    async def aclose(self) -> None:
        await self.here.aclose()
        await self.there.aclose()


def shared(run_bytes: int) -> tuple[SharedBus, SharedBus]:
    """Those of two replicas with a wire in memory."""
    place = Place()
    here, there = (SharedBus(WireInMemory(place), run_bytes=run_bytes) for _ in range(2))
    return here, there


def across(pair: tuple[SharedBus, SharedBus]) -> tuple[Replicas, Replicas]:
    """Each publishes on one of the two, and reads on the other."""
    here, there = pair
    return Replicas(here, there), Replicas(there, here)
