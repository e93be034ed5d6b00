"""Sends what the runs of this process say, and its notes, from one task: together, in order, and never in the way.

Theory of operation
-------------------
A run's log is the queue. Saying a frame costs what it costs on the bus in memory; a run that was silent since the last
time has its log wake the task. What has gathered is sent together: all runs and all notes in one `Wire.send`.

A run that somebody elsewhere follows is sent every `PACE` seconds. With many such runs it is a little more (`EACH`), so
that sending takes a small part of the processor only. Any other run is sent every `LAZY` seconds. Whoever begins to
follow it asks (`Ask`), and is answered with everything.

While the wire is away the runs go on. The logs keep some of what they say. What they can't keep is lost to readers
elsewhere, who are told. The same batches are sent until that goes well; the wire knows them by their numbers.
"""

import asyncio
import contextlib

import structlog

from agui_gate.bus.base import Opening
from agui_gate.bus.log import EventLog
from agui_gate.bus.memory import LOG_BYTES
from agui_gate.bus.replicas.messages import NO_OPENING, NOT_TO_BE_HAD, Answer, Ask, Left, Opened, Watches, Word, pack
from agui_gate.bus.replicas.sent_run import Outgoing, written
from agui_gate.bus.replicas.wire import Batch, Note, Run, Wire
from agui_gate.concurrency import stop_tasks
from agui_gate.errors import Unavailable

PACE = 0.015
"""Seconds between two sends, where somebody waits for them."""

EACH = 0.0005
"""Seconds more for each run of which something was sent; `PACE_MOST` at most."""

PACE_MOST = 0.1

TELL = 0.05
"""Seconds that a note may wait for others."""

LAZY = 0.25
"""Seconds that a run may wait to be sent which nobody elsewhere follows."""

SEND_BYTES = 1024 * 1024
"""About how much is sent at once."""

SEND_SECONDS = 5.0
"""Seconds that one send may take before it is tried again, on another connection."""

SLOWEST = 1024 * 1024
"""Bytes a second: for what is large there is longer, as nothing else is sent before it."""

RETRY_SECONDS = (0.1, 2.0)
"""The first and the longest wait before another try."""

WORDS = 10_000
"""Notes that wait at most. The oldest are lost."""

DONE = 1000
"""Runs that are remembered after all of them was sent, to answer those who ask a moment too late."""

log = structlog.get_logger("agui_gate.bus")


class Sender:
    """Sends over ``wire`` what is said at ``address``.

    While the wire is away, ``kept_bytes`` of the runs that have ended wait for it, about. The oldest are lost first.
    """

    def __init__(self, wire: Wire, address: str, run_bytes: int, kept_bytes: int) -> None:
        self._wire, self._address, self._run_bytes, self._kept_bytes = wire, address, run_bytes, kept_bytes
        self._runs: dict[str, Outgoing] = {}
        self._done: dict[str, None] = {}
        self._stirred: dict[str, Outgoing] = {}
        self._lazy: dict[str, Outgoing] = {}
        self._words: dict[tuple[str, Word], None] = {}
        self._wake = asyncio.Event()
        self._telling: asyncio.TimerHandle | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self._openings: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begins to send."""
        self._task = asyncio.create_task(self._work(), name="agui-gate bus sender")

    async def aclose(self, seconds: float) -> None:
        """Sends what there is, for so many seconds, and stops."""
        if self._task is not None:
            with contextlib.suppress(Unavailable):
                await self.flush(seconds)
            await stop_tasks([self._task, *self._openings])
            self._task = None

    def add(self, run: Run, events: EventLog) -> None:
        """Adds a run that begins here."""
        self._runs[run.run_key] = out = Outgoing(run, events, self._run_bytes)
        self._stir(out)

    def tell(self, address: str, word: Word, *, now: bool = False) -> None:
        """Says something to ``address``, or to all if that is empty; ``now``, or with what is sent next."""
        while len(self._words) >= WORDS:
            del self._words[next(iter(self._words))]
        self._words.pop((address, word), None)
        self._words[address, word] = None
        self._idle.clear()
        if now:
            self._wake.set()
        elif self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TELL, self._wake.set)

    def asked(self, ask: Ask) -> None:
        """Answers somebody who wants what is known of a run, which may be another process's."""
        out = self._runs.get(ask.run_key)
        if out is not None:
            self._answer(out, ask)
        elif ask.run_key in self._done and ask.token:
            self.tell(ask.address, Answer(ask.token, NOT_TO_BE_HAD), now=True)

    def left(self, word: Left | Watches) -> None:
        """Takes the word that nobody there follows the run any more, or nobody who keeps it going."""
        out = self._runs.get(word.run_key)
        if out is None or word.address not in out.followers:
            return
        if isinstance(word, Watches):
            out.followed(word.address, keeps=False)
        else:
            out.left(word.address)

    def expire(self) -> None:
        """Loses what is too much. Called every second."""
        ended = [out for out in self._runs.values() if out.log.ended]  # the oldest first
        too_much = sum(out.log.size + LOG_BYTES for out in ended) - self._kept_bytes
        lost = 0
        while too_much > 0:
            too_much -= ended[lost].log.size + LOG_BYTES
            self._lose(ended[lost])
            lost += 1
        if lost:
            log.warning("bus_lost", runs=lost, means="They have ended. Other processes can't read their events again.")

    def has_ended_run(self, principal: str, thread_id: str) -> bool:
        """Returns whether the end of a run of the thread isn't sent yet."""
        runs = (out.run for out in self._runs.values() if out.log.ended)
        return any((run.principal, run.thread_id) == (principal, thread_id) for run in runs)

    async def flush(self, seconds: float) -> None:
        """Waits until everything is sent that was said. Raises `Unavailable` if that takes longer."""
        self._idle.clear()
        self._sweep()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            raise Unavailable("The bus is not available.") from None

    # --- what happens, and when it is sent ----------------------------------------------------------------------------

    def _answer(self, out: Outgoing, ask: Ask) -> None:
        if ask.follow:
            kept = out.followers.get(ask.address, False)  # until `Watches` says that it isn't
            out.followed(ask.address, keeps=kept or not ask.watching)
        if ask.opening is not None:
            self._answer_with_opening(out, ask, ask.opening)
        elif ask.token:
            out.answers.append((ask.address, Answer(ask.token)))
        self._stir(out)

    def _answer_with_opening(self, out: Outgoing, ask: Ask, later_than: int) -> None:
        opening = out.log.opening
        if opening is not None and opening.seq > later_than:
            out.wanted = opening.seq  # unless the frames that follow it are kept, which is seen when all of it was sent
            self._send_opening(out, opening, ask)
        elif ask.token:
            out.answers.append((ask.address, Answer(ask.token, NO_OPENING)))
        else:
            out.wanted = later_than if out.wanted is None else min(out.wanted, later_than)

    def _send_opening(self, out: Outgoing, opening: Opening, ask: Ask | None = None) -> None:
        out.openings += 1
        task = asyncio.create_task(self._put_opening(out, opening, ask), name="agui-gate bus opening")
        self._openings.add(task)
        task.add_done_callback(self._openings.discard)

    async def _put_opening(self, out: Outgoing, opening: Opening, ask: Ask | None) -> None:
        number = NOT_TO_BE_HAD
        try:
            async with asyncio.timeout(SEND_SECONDS):
                data = await written(opening)
                if data is not None:
                    await self._wire.put_opening(out.run.run_key, opening.seq, data)
                    number = opening.seq
        except (TimeoutError, Unavailable):
            pass  # who asked goes on without it
        finally:
            out.openings -= 1
            if ask is not None and ask.token:
                out.answers.append((ask.address, Answer(ask.token, number)))
            else:
                for address in out.followers:
                    self.tell(address, Opened(out.run.run_key), now=True)
            self._stir(out)

    def _stir(self, out: Outgoing) -> None:
        """Has a run looked at, of which there may be something to send."""
        if out.is_over:
            return
        self._idle.clear()
        if out.hurries:
            self._lazy.pop(out.run.run_key, None)
            self._stirred[out.run.run_key] = out
            self._wake.set()
            return
        self._lazy[out.run.run_key] = out
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(LAZY, self._sweep)

    def _sweep(self) -> None:
        """Sends what was left for later."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        self._stirred |= self._lazy
        self._lazy = {}
        self._wake.set()

    # --- the task -----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._telling is not None:
                self._telling.cancel()
                self._telling = None
            batches, notes = self._collect()
            if batches or notes:
                await self._send(batches, notes)
            if not (self._stirred or self._lazy or self._words or self._openings):
                self._idle.set()
            await asyncio.sleep(min(PACE + EACH * len(batches), PACE_MOST))

    def _collect(self) -> tuple[list[Batch], list[Note]]:
        """Returns what is sent together. Of what is too much for once, the rest comes next."""
        stirred, self._stirred = self._stirred, {}
        said, self._words = self._words, {}
        words = list(said)
        batches: list[Batch] = []
        size = SEND_BYTES
        for key, out in stirred.items():
            if (opening := out.new_opening()) is not None:
                self._send_opening(out, opening)
            taken = list(out.take(size))
            size -= sum(len(batch.data) for batch in taken)
            batches += taken
            words += out.words(taken=bool(taken))
            if out.is_over:
                del self._runs[key]
                self._remember(key)
            elif out.has_more:
                self._stirred[key] = out
                self._wake.set()
            else:
                self._listen(out)
        return batches, list(pack(words))

    def _listen(self, out: Outgoing) -> None:
        """Waits for what it says next."""
        if not (out.listens or out.log.ended):
            out.listens = True
            out.log.wait().add_done_callback(lambda _: self._heard(out))

    def _heard(self, out: Outgoing) -> None:
        out.listens = False
        self._stir(out)

    def _lose(self, out: Outgoing) -> None:
        """Sends no more of it, and lets go what it has said."""
        key = out.run.run_key
        for runs in (self._runs, self._stirred, self._lazy):
            runs.pop(key, None)
        out.close()
        self._remember(key)

    def _remember(self, key: str) -> None:
        self._done[key] = None
        if len(self._done) > DONE:
            del self._done[next(iter(self._done))]

    async def _send(self, batches: list[Batch], notes: list[Note]) -> None:
        """Sends these until it goes well."""
        wait, longest = RETRY_SECONDS
        while not await self._sent(batches, notes):
            if wait == RETRY_SECONDS[0]:
                log.warning("bus_away", means="Runs continue. Only clients of this process receive their live events.")
            await asyncio.sleep(wait)
            wait = min(2 * wait, longest)
        if wait != RETRY_SECONDS[0]:
            log.info("bus_back")

    async def _sent(self, batches: list[Batch], notes: list[Note]) -> bool:
        try:
            async with asyncio.timeout(SEND_SECONDS + sum(len(batch.data) for batch in batches) / SLOWEST):
                await self._wire.send(batches, notes)
        except (TimeoutError, Unavailable):
            return False
        except Exception:
            log.exception("bus_refused", means="The unsent events are lost to readers in other processes.")
        return True
