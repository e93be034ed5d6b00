"""One turn of the model: ask it, stream what it says, and deal with the calls it makes."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from agui_gate.adapter import ToolChoice, ToolSpec, TurnDone, TurnRequest, UserTurn
from agui_gate.agent import Agent
from agui_gate.core.approvals import Approval
from agui_gate.core.sanitizer import carrying
from agui_gate.core.schemas import of_arguments
from agui_gate.core.transcript import (
    CARD_TOOL,
    CallKind,
    CallPart,
    LeftOutEntry,
    Output,
    ResultEntry,
    Transcript,
    TurnEntry,
)
from agui_gate.engine import belonging, outcomes
from agui_gate.engine.consents import Consents
from agui_gate.engine.judging import Judged, look_at
from agui_gate.engine.open_thread import committed_ref
from agui_gate.engine.recorder import Recorder
from agui_gate.engine.refusals import Withheld, blamed, left_out
from agui_gate.engine.runner import ToolRunner
from agui_gate.engine.scope import Scope
from agui_gate.engine.waiting import Asker
from agui_gate.engine.words import Words
from agui_gate.errors import (
    ConsentLost,
    ContentRefused,
    ContextLength,
    LimitReached,
    MediaRefused,
    ProviderError,
    ProviderUnavailable,
)
from agui_gate.off_loop import LARGE, LARGE_BYTES
from agui_gate.protocol.messages import result_id
from agui_gate.protocol.tool_choice import chosen
from agui_gate.tool import Gate

BREATH_SECONDS = 0.005
"""How long one answer may keep the event loop busy, where its batches come without any wait between them."""


class Turns:
    """Runs turns of one agent in one run. ``done`` collects how each ended, for the usage."""

    def __init__(self, agent: Agent, scope: Scope, asker: Asker, consents: Consents, tools: ToolRunner) -> None:
        self._agent, self._scope, self._run = agent, scope, scope.input
        self._thread, self._seq = scope.thread, scope.seq
        self._asker, self._consents, self._tools = asker, consents, tools
        run = scope.input
        self._client_tools = {n: t for n, t in run.client_tools.items() if n not in agent.by_name and n != CARD_TOOL}
        self._words = Words(agent, run)
        self._specs = (*agent.specs, *self._client_specs())
        self._judged: dict[str, Judged] = {}
        self._one_by_one = asyncio.Lock()
        self.done: list[TurnDone] = []

    async def one(self) -> TurnEntry:
        """Ask the model, record the turn, and run its free calls. What was agreed to is passed on with the request.

        The turn is saved before any of its tools starts; a turn that makes no calls is left to the caller's final
        commit. A stream that breaks off is recorded as far as it came, its calls closed, and the error goes on.
        """
        await self._consents.pass_on()
        try:
            recorder = await self._ask()
        except ConsentLost:
            await self._consents.lost()
            recorder = await self._ask()
        return await self._record_turn(recorder)

    async def _ask(self) -> Recorder:
        """Ask the model; without what the provider refuses, if it does. What it refused is remembered."""
        self._thread.capacity.check_turn()
        await self._thread.prepare()
        withheld = Withheld(self._thread)
        while True:
            try:
                return await self._ask_once(withheld)
            except MediaRefused as refused:
                unsure = refused.accepted and self._consents.passing
                if withheld.taken or unsure or not withheld.more(refused):
                    raise
                if refused.accepted or withheld.whole:
                    self._thread.ref = None  # what is refused may be in what the provider remembers
            except (ContentRefused, ContextLength) as refused:
                self._leave_out(blamed(self._thread, refused))
                raise

    def _leave_out(self, entries: Sequence[LeftOutEntry]) -> None:
        """From now on."""
        self._thread.append(entries)
        for entry in entries:
            self._seq.other(left_out(entry))

    async def _ask_once(self, withheld: Withheld) -> Recorder:
        limits, origin = self._thread.limits, self._agent.adapter.origin
        recorder = Recorder(self._seq, self._scope.new_id, self._thread.journal.call_ids, origin, limits)
        transcript = carrying(self._thread.transcript(withheld.entries), self._thread.journal.consents())
        choice = self._choice(transcript)
        told, transcript = self._words.told(transcript, self._thread.journal, self._thread.note())
        request = TurnRequest(transcript, told, self._specs, self._thread.ref, choice, self._is_large(told))
        await self._thread.doubt()
        try:
            await self._listen(request, recorder, limits.turn_seconds, withheld)
        except BaseException as error:
            self._cut(recorder)
            if isinstance(error, ProviderError) and not isinstance(error, ProviderUnavailable):
                self._thread.ref = request.ref  # refused: nothing of it is kept there
            raise
        if recorder.done is None:  # an adapter that ends without saying so: treat it as what it looks like
            self._cut(recorder)
            raise ProviderUnavailable("The provider's answer ended early.")
        recorder.close_calls()
        return recorder

    def _is_large(self, told: str) -> bool:
        return self._thread.capacity.is_large or len(told) > LARGE_BYTES or len(self._specs) > LARGE

    async def _listen(self, request: TurnRequest, recorder: Recorder, seconds: float, withheld: Withheld) -> None:
        """Take the answer, for at most ``seconds``. Others get their turn, however fast a model talks."""
        loop, passing = asyncio.get_running_loop(), self._consents.passing
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline, aclosing(self._agent.adapter.stream(request)) as batches:
                since = loop.time()
                async for batch in batches:
                    if not withheld.taken:
                        withheld.taken = True
                        self._leave_out(withheld.entries)
                    if passing:
                        passing = False
                        await self._consents.taken()
                    recorder.feed(batch)
                    if loop.time() - since > BREATH_SECONDS:
                        await asyncio.sleep(0)
                        since = loop.time()
        except TimeoutError:
            if not deadline.expired():
                raise
            raise LimitReached(
                f"The model's answer was cut off: it took longer than {seconds:g} seconds. "
                "What it said is kept. Send a message to go on."
            ) from None

    async def _record_turn(self, recorder: Recorder) -> TurnEntry:
        assert recorder.done is not None  # `_ask` said so
        turn = await self._looked_at(recorder)
        self.done.append(recorder.done)
        self._thread.ref = committed_ref(recorder.done.ref, turn.id, self._scope.clock())
        turn = msgspec.structs.replace(turn, ref=self._thread.ref)
        self._thread.append([turn])
        if turn.calls:
            self._hosted(turn, recorder)
            await self._calls(turn, recorder)
        return turn

    async def _looked_at(self, recorder: Recorder) -> TurnEntry:
        """The turn, with who resolves each of its calls. A stop while a predicate is at work cuts the turn off."""
        turn = recorder.entry()
        local = [call for call in turn.calls if call.local and not call.malformed]
        try:
            self._judged = await look_at(local, self._agent.by_name, self._thread.thread.principal, self._thread.limits)
        except BaseException:
            self._cut(recorder)
            raise
        return self._classified(turn)

    def _hosted(self, turn: TurnEntry, recorder: Recorder) -> None:
        """Keep the results of what the provider ran. Every such call has one, also where the provider gave none."""
        self._thread.append(recorder.results.values())
        for call in turn.calls:
            if call.kind == "hosted" and call.id not in recorder.results:
                self._scope.result(call, outcomes.NO_RESULT)
            elif call.kind == "held" and call.malformed:  # can't be shown, so nobody can agree to it
                self._scope.result(call, _unrunnable(call, recorder))

    async def _calls(self, turn: TurnEntry, recorder: Recorder) -> None:
        """Record the gated calls, then run the free ones in parallel. Their results are saved as they come."""
        gates = ((call, self._gate(call, recorder)) for call in turn.calls)
        gated = [self._record(call, gate, turn.id) for call, gate in gates if gate is not None]
        await self._thread.commit(approvals=gated, patient=True)
        self._seq.leave_open([call.id for call in turn.calls if call.kind != "server"])
        free = [call for call in turn.calls if call.kind == "server"]
        slots = asyncio.Semaphore(self._thread.limits.tools_at_once)
        async with asyncio.TaskGroup() as group:
            for call in free:
                group.create_task(self._in_turn(call, recorder, slots))

    async def _in_turn(self, call: CallPart, recorder: Recorder, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._thread.has_large_state:  # it is encoded when a call begins, and when it ends
                async with self._one_by_one:
                    await asyncio.sleep(0)
            await self._free(call, recorder)

    async def _free(self, call: CallPart, recorder: Recorder) -> None:
        judged = self._judged.get(call.id)
        self._scope.begun.add(call.id)
        if call.malformed:
            output = _unrunnable(call, recorder)
        elif judged is None:
            output = await self._tools.run(call.id, self._run.run_id, call.name, call.arguments, judged=False)
        elif judged.problem is not None:
            output = outcomes.failed(judged.problem)
        else:
            output = await self._tools.run(call.id, self._run.run_id, call.name, judged.arguments, judged=True)
        self._thread.append([ResultEntry(call.id, result_id(call.id), output)])
        await self._thread.commit(patient=True)  # it ran, and nobody else knows what came of it
        self._seq.result(call.id, result_id(call.id), output.content)

    def _record(self, call: CallPart, gate: Gate, turn_id: str) -> Approval:
        """The record of a call that waits. What the provider runs has the arguments that the provider gave it."""
        if call.kind == "held":
            return self._asker.record(call, gate, turn_id)
        approval = self._asker.record(call, gate, turn_id, self._judged[call.id].arguments)
        return belonging.signed(approval, self._agent)

    def _gate(self, call: CallPart, recorder: Recorder) -> Gate | None:
        """What has to happen before the call runs, if a person is to be asked."""
        if call.kind == "gated":
            return self._agent.by_name[call.name].gate
        if call.kind == "held" and not call.malformed:
            asks = recorder.held[call.id]
            return Gate(expires_after=asks.expires_after, message=asks.message)
        return None

    def _cut(self, recorder: Recorder) -> None:
        """Keep what a broken stream said; none of its calls run (B25). What the provider ran, it ran."""
        recorder.close_calls()
        turn = msgspec.structs.replace(recorder.entry(), cut=True)
        if turn.parts:
            self._thread.append([turn])
        self._thread.append(recorder.results.values())
        for call in turn.calls:
            if call.id not in recorder.results:
                self._scope.result(call, outcomes.CUT_OFF_HOSTED if call.kind == "hosted" else outcomes.CUT_OFF)

    def _classified(self, turn: TurnEntry) -> TurnEntry:
        parts = tuple(
            msgspec.structs.replace(part, kind=self._kind(part)) if isinstance(part, CallPart) else part
            for part in turn.parts
        )
        return msgspec.structs.replace(turn, parts=parts)

    def _kind(self, call: CallPart) -> CallKind:
        """Who resolves the call. One that can't run anyway is not worth a person's time: it is `server` and fails."""
        if not call.local:
            return call.kind
        if call.name in self._client_tools:
            return "server" if call.malformed else "client"
        judged = self._judged.get(call.id)
        return "gated" if judged is not None and judged.asks else "server"

    def _choice(self, transcript: Transcript) -> ToolChoice | None:
        """What the client says about tools. One is forced for the answer to a message, not for what follows its
        result: that would never end.
        """
        choice = chosen(self._run.forwarded_props, [spec.name for spec in self._specs])
        speaks = bool(transcript) and isinstance(transcript[-1], UserTurn)
        return choice if speaks or choice == "none" else None

    def _client_specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(t.name, t.description or "", of_arguments(t.parameters)) for t in self._client_tools.values()
        )


def _unrunnable(call: CallPart, recorder: Recorder) -> Output:
    """What a malformed call came to: a limit cut the answer before its end, or it is the model's mistake."""
    if call.id in recorder.unended:
        return outcomes.CUT_OFF
    return outcomes.failed(f"The arguments of {call.name} are not a JSON object.")
