"""Connects a client that comes back to a thread with what is at work there.

`readers/private_frames.py` has what it is sent first. The built-in page doesn't keep such a connection for what is
decided elsewhere: it asks for the thread's records from time to time (`extras/page/files/session.js`).

A run that goes on is told as the client that came back knows it (`Rejoined`). The thread may have another id there than
the run was begun with (S2), and the run may be told by other rules than the client's. It may be a part of what its
client reads, under another run id. All of that is in the last frame, and the shapes of messages in snapshots (VER-6).
The rest is as it was said: every client reads it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakSet

import msgspec

from agui_gate.agents.team import Team
from agui_gate.bus.base import Bus, Published, Reader
from agui_gate.concurrency import if_large
from agui_gate.core import events as ev
from agui_gate.core.sequencer import RunName
from agui_gate.core.sse import FrameEncoder
from agui_gate.errors import AguiGateError, Interrupted, NotFound, Unavailable
from agui_gate.log_events import Downgrades
from agui_gate.protocol.dialects.base import Choice, Shapes
from agui_gate.protocol.run_input import RunInput
from agui_gate.readers.private_frames import PrivateFrames, Reserving, Whole, as_it_stands, failed, unheard_of
from agui_gate.readers.remote_run import Over, RemoteRun
from agui_gate.readers.thread_poller import ThreadPoller
from agui_gate.readers.wake_ups import Watch
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Store, Thread
from agui_gate.threads.budget import Budget, Reservation
from agui_gate.threads.history import heaviness


class Rejoined:
    """``reader`` of a run, to a client to which it is ``run_id``. ``lost`` is called with what the client's ``shapes``
    have no word for.
    """

    __slots__ = ("_lost", "_reader", "_run", "_shapes")

    def __init__(
        self, reader: Reader, thread_id: str, run_id: str, shapes: Shapes, lost: Callable[[Iterable[str]], None]
    ) -> None:
        self._reader, self._run = reader, RunName(thread_id, run_id)
        self._shapes, self._lost = shapes, lost

    async def read(self) -> bytes:
        """See `Reader`."""
        data, lost = self._shapes.frames(await self._reader.read())
        if lost:
            self._lost(lost)
        at = max(map(data.rfind, _ENDS))
        if at < 0:
            return data
        begin = at + len(_DATA)
        end = data.index(b"\n\n", begin)
        last, lost = self._shapes.last_event(_decode(data[begin:end]), self._run)
        self._lost(lost)
        return data[:begin] + _encode(last) + data[end:]

    def ping(self) -> None:
        """See `Reader`."""
        self._reader.ping()

    def close(self) -> None:
        """See `Reader`."""
        self._reader.close()


Live = Callable[[str, str], LiveRun | None]
"""The run of a principal's thread that is in flight here."""

ReadThread = Callable[[str, str], Awaitable[tuple[Thread, Reservation] | None]]
"""Reads a whole thread, with its part of the budget: `Engine.read_thread`."""

NewId = Callable[[], str]


class Connected(NamedTuple):
    """A reader of a thread; the run that it reads, if that is here; and that run's key, wherever it is."""

    reader: Reader
    live: LiveRun | None = None
    run_key: str | None = None


class Connector:
    """Connects clients to the threads of one store."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        watch: Watch,
        budget: Budget,
        live: Live,
        read_thread: ReadThread,
        dialects: Choice,
        downgrades: Downgrades,
        new_id: NewId,
    ) -> None:
        self._store, self._bus, self._watch, self._budget, self._live = store, bus, watch, budget, live
        self._read_thread = read_thread
        self._dialects, self._downgrades, self._new_id = dialects, downgrades, new_id
        self._readers: WeakSet[RemoteRun] = WeakSet()

    async def connect(
        self, team: Team, run: RunInput, principal: str, *, watching: bool = False, reads_stops: bool = False
    ) -> Connected:
        """Returns the conversation as it stands, then what is said of it.

        ``watching``: the reader neither keeps the run going nor stops it by leaving (else `LiveRun.leave` it), and is
        not told again that an earlier one failed or was stopped. ``reads_stops``: it tells a stop from a failure.
        """
        live, thread = self._live(principal, run.thread_id), None
        reservation = self._budget.expect(principal, run.thread_id)
        if live is None:
            thread = await self._store.read_thread(principal, run.thread_id)
            # One may have begun meanwhile, or the thread has another name here than there.
            live = self._live(principal, thread.id if thread else run.thread_id)
        who = self._client(run, principal, watching, reads_stops)
        if live is not None:
            reservation = reservation.found(run.thread_id, live.thread_bytes)
            joined = await live.join(who.frames(live.run_id).opening, watching=who.watching)
            if joined is not None:
                return Connected(Reserving(who.rejoined(joined, live.run_id), reservation), live, live.key)
            thread = await self._store.read_thread(principal, run.thread_id)
        if thread is None:
            return Connected(Whole(unheard_of(run, who.frames(run.run_id))))
        reservation = reservation.found(run.thread_id, thread.bytes)
        if thread.run_status != "running":
            whole = await if_large(heaviness(thread), as_it_stands, team, run, thread, who.frames(run.run_id))
            return Connected(Reserving(Whole(whole), reservation))
        elsewhere = await self._elsewhere(team, run, thread, who, None)
        if elsewhere is not None:
            return Connected(Reserving(elsewhere, reservation), None, thread.run_key)
        return Connected(self._following(team, run, thread, reservation, who, who.frames(run.run_id)))

    async def read(self, run_key: str, after: int) -> Reader | None:
        """See `Engine.read`."""
        published, reader = await self._bus.find(run_key), await self._bus.read(run_key, after)
        if published is None or reader is None:
            return None
        frame = FrameEncoder(f"connect_{self._new_id()}").frame

        async def its_end(why: Exception | None, _: Sequence[ev.Event]) -> Reader:
            if why is not None:  # the client goes on from where it is
                raise why
            return Whole(frame(ev.RunError(Interrupted().message, Interrupted.code, ())))

        return self._far(reader, published, its_end)

    def stop(self) -> None:
        """Lets nobody follow another replica's runs here any more: this one stops."""
        for reader in list(self._readers):
            reader.stop()

    async def _elsewhere(
        self, team: Team, run: RunInput, thread: Thread, who: "Client", frames: PrivateFrames | None
    ) -> Reader | None:
        """Returns a reader of the run that another replica has at work there; None where its events can't be had.

        ``frames``: what the client was told already, if it was told anything.
        """
        try:
            published = await self._bus.find(thread.run_key or "")
            if published is None:
                return None
            told = frames or who.frames(published.run_id)
            joined = await self._bus.join(published.run_key, told.opening, watching=who.watching)
        except Unavailable:  # the bus is away: what is saved is all there is to tell
            return None
        if joined is None:
            return None

        async def what_stands(_: Exception | None, ends: Sequence[ev.Event]) -> Reader:
            for event in ends:
                told.sequencer.other(event)
            try:
                found = await self._read_thread(thread.principal, thread.id)
            except AguiGateError as error:
                return Whole(failed(told, error))
            if found is None:
                return Whole(failed(told, NotFound("This thread has been deleted.")))
            return self._following(team, run, *found, who, told)

        return self._far(who.rejoined(joined, told.run_id), published, what_stands)

    def _far(self, reader: Reader, published: Published, over: Over) -> Reader:
        made = RemoteRun(reader, published, self._watch, over)
        self._readers.add(made)
        return made

    def _following(
        self,
        team: Team,
        run: RunInput,
        thread: Thread,
        reservation: Reservation,
        who: "Client",
        frames: PrivateFrames,
    ) -> ThreadPoller:
        async def join(now: Thread) -> Reader | None:
            return await self._elsewhere(team, run, now, who, frames)

        again = partial(self._read_thread, thread.principal, thread.id)
        return ThreadPoller(team, run, thread, reservation, frames, self._watch, again, join)

    def _client(self, run: RunInput, principal: str, watching: bool, reads_stops: bool) -> "Client":
        shapes = self._dialects.choose(run, reads_stops=reads_stops)

        def lost(words: Iterable[str]) -> None:
            for what in words:
                self._downgrades.lost(what, principal, run.thread_id, shapes.remedy)

        return Client(run.thread_id, f"connect_{self._new_id()}", shapes, lost, watching)


class Client(msgspec.Struct, frozen=True):
    """A client as it is told of its thread: by which id of it, in which shapes, under which ``key`` of frames.

    ``watching``: see `Connector.connect`.
    """

    thread_id: str
    key: str
    shapes: Shapes
    lost: Callable[[Iterable[str]], None]
    watching: bool

    def frames(self, run_id: str) -> PrivateFrames:
        """Returns the frames that are made for this client alone, in a run of that id."""
        return PrivateFrames(self.thread_id, run_id, self.key, self.shapes, self.lost, retold=not self.watching)

    def rejoined(self, reader: Reader, run_id: str) -> Rejoined:
        """Returns a reader of what a run of that id says, as this client reads it."""
        return Rejoined(reader, self.thread_id, run_id, self.shapes, self.lost)


_DATA = b"\ndata: "
_ENDS = tuple(_DATA + b'{"type":"' + name for name in (b"RUN_FINISHED", b"RUN_ERROR"))
"""The beginning of a run's last frame, after its id. (JSON has no raw line feed: nothing else looks so.)"""

_decode, _encode = msgspec.json.decode, msgspec.json.encode
