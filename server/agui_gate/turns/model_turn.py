"""Runs one turn of the model: asks it, streams what it says, and records it. `TurnCalls` deals with its calls.

Where its provider remembers the conversation, the request goes on from there (`ProviderContinuation`). What adds to the
request, or looks at the answer, are the member's steps (`turns/steps.py`).
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from agui_gate.adapter import CallStart, ToolSpec, TurnDone, TurnRequest
from agui_gate.agents.team import Member
from agui_gate.approvals.execution import HeldCalls
from agui_gate.concurrency import LARGE, LARGE_BYTES, Deadline, Pacer, rounds
from agui_gate.core import result_texts
from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.sanitizer import carrying
from agui_gate.core.schemas import of_arguments
from agui_gate.core.sequencer import Lane
from agui_gate.core.stop_reasons import cut_off
from agui_gate.core.transcript import CARD_TOOL, ConversationRef, TurnEntry, WindowEntry
from agui_gate.errors import ConsentLost, LimitReached, ProviderError, ProviderUnavailable
from agui_gate.extra_loader import load
from agui_gate.turns.client_context import ClientContext
from agui_gate.turns.content_refusals import ContentRefusals
from agui_gate.turns.gate_evaluation import evaluate_gates
from agui_gate.turns.steps import DONE, Draft, Speaker, Steps, TurnStep
from agui_gate.turns.tool_dispatch import CallKind, TurnCalls
from agui_gate.turns.turn_recorder import TurnRecorder

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext
    from agui_gate.threads.leased_thread import LeasedThread

AT_ONCE = 100
"""Events of a batch that are recorded until readers get a turn: a provider may be read faster than they are written
to, and they must not fall behind.
"""


class Turns:
    """Runs turns of one member in one run, in one task. ``done`` collects how each ended, for the usage.

    ``lane`` is where what it says goes. ``kinds`` are those of calls besides the trunk's own.
    """

    def __init__(
        self,
        member: Member,
        scope: "RunContext",
        consents: HeldCalls,
        done: list[TurnDone],
        lane: Lane,
        kinds: Sequence[CallKind],
    ) -> None:
        agent = member.agent
        self._member, self._agent, self._scope = member, agent, scope
        self._thread, self._lane, self._kinds = scope.thread, lane, kinds
        self._continuation = ProviderContinuation(scope.thread, member.who)
        self.was_cut_off = ""
        """The reason for which the last turn was no complete answer; "" if it was one."""
        self._consents, self._done = consents, done
        run = scope.input
        ours = {CARD_TOOL, *member.heirs, *agent.by_name}
        self._client_tools = {name: tool for name, tool in run.client_tools.items() if name not in ours}
        gates = {tool.name for tool in agent.by_name.values() if tool.gate is not None}
        tasks = {tool.name for tool in agent.by_name.values() if tool.agent is not None}
        self._gated = scope.dialect.held_back(gates, tasks)
        theirs = self._client_tools.values()
        client_specs = [ToolSpec(one.name, one.description or "", of_arguments(one.parameters)) for one in theirs]
        self._specs = (*agent.specs, *member.transfers, *client_specs)
        owner, task = scope.thread.thread, member.who.task
        named = (owner.principal, owner.id, str(owner.created_at))
        self._conversation = (*named, task) if task else named
        self._steps = Steps(
            steps_for(Speaker(member, run, scope.thread, lane, self._continuation, consents, done.append, self._specs))
        )
        self.verdict = DONE
        """The verdict on what follows the newest turn."""

    async def next_turn(self) -> TurnEntry:
        """Asks the model, records the turn, and runs its free calls. What was agreed to is passed on with the request.

        The turn is saved before any of its tools starts; a turn that makes no calls is left to the caller's final
        commit. A stream that breaks off is recorded as far as it came, its calls closed, and the error goes on.
        """
        await self._consents.pass_on(self._agent)
        await self._prepare()
        recorder, is_lost = None, False
        while recorder is None:  # once more each time that a step changes what the provider refused
            try:
                recorder = await self._ask()
            except ProviderError as error:
                if isinstance(error, ConsentLost) and not is_lost:
                    is_lost = True
                    await self._consents.lost()
                    await self._prepare()
                elif not self._steps.ask_again(error):
                    raise
        turn = await self._record_turn(recorder)
        self.verdict = self._steps.verdict()
        return turn

    async def _prepare(self) -> None:
        self._thread.capacity.check_turn()
        for step in self._steps.prepare:
            await step.prepare()
        if not self._member.who.task:  # others work on the thread beside a task
            await self._thread.history.prepare(self._member.to)

    async def _ask(self) -> TurnRecorder:
        """Asks the model and takes its answer, within the time of a turn. Others get theirs, however fast it talks."""
        recorder, seconds = self._new_recorder(), self._thread.limits.turn_seconds
        request = await self._request(recorder.turn_id)
        await self._continuation.suspend()
        accepted = False
        try:
            await self._consents.begin()  # saved before an adapter is told anything, and not in its time
            passing, pacer, deadline = self._consents.passing, Pacer(), Deadline(seconds)
            try:
                async with deadline.timeout, aclosing(self._agent.adapter.stream(request)) as batches:
                    async for batch in batches:
                        if not accepted:
                            accepted = True
                            await self._accepted(passing)
                        for step in self._steps.received:
                            await step.received(batch)
                        for start in range(0, len(batch), AT_ONCE):
                            recorder.feed(batch if len(batch) <= AT_ONCE else batch[start : start + AT_ONCE])
                            if start + AT_ONCE < len(batch) or pacer.due:
                                await pacer.pause()
                        del batch  # not kept while nothing comes
            except TimeoutError:
                if not deadline.timeout.expired():
                    raise
                raise LimitReached(
                    f"The model's answer was cut off: it took longer than {seconds:g} seconds. "
                    "What it said is kept. Send a message to continue."
                ) from None
            finally:
                rounds().leave(deadline)
            if recorder.done is None:  # an adapter that ends without saying so: treat it as what it looks like
                raise ProviderUnavailable("The provider's answer ended early.")
        except BaseException as error:  # the one that is told: who counts asks what is handled
            self._break_off(recorder, request, error)
            raise
        self._done.append(recorder.done)
        self.was_cut_off = cut_off(recorder.done.reason).message if recorder.done.status == "incomplete" else ""
        recorder.close_calls()
        return recorder

    def _new_recorder(self) -> TurnRecorder:
        return TurnRecorder(
            self._lane,
            self._scope.new_id,
            self._thread.journal.reserve_id,
            self._agent.adapter.origin,
            self._thread.limits,
            self._client_tools,
            None if self._gated is None else self._holds_back,
            self._member.who,
            self._steps.taps,
        )

    async def _request(self, turn_id: str) -> TurnRequest:
        """Builds the request: the steps of the member add to it, in their order."""
        history, agent = self._thread.history, self._agent
        transcript = carrying(history.transcript(self._member.to), history.journal.consents())
        if agent.history is None and history.journal.windows:
            self._continuation.begin_at()  # where it had a window once, its provider doesn't remember the whole
        instructions = agent.instructions if isinstance(agent.instructions, str) else ""
        draft = Draft(transcript, instructions, [] if self._member.who.task else [history.replaced_note()], turn_id)
        for step in self._steps.request:
            await step.request(draft)
        prompt = draft.prompt
        return TurnRequest(
            draft.transcript,
            prompt,
            self._specs,
            self._continuation.ref,
            draft.choice,
            self._thread.capacity.is_large or len(prompt) > LARGE_BYTES or len(self._specs) > LARGE,
            self._conversation,
            draft.output,
            draft.state,
            history.beginning(self._member.to),
            self._thread.capacity.size,
        )

    def _holds_back(self, call: CallStart) -> bool:
        """Returns whether a person may be asked about the call, by a card: then only the card is left to the page
        (TOOL-6).
        """
        return call.asks or (not call.hosted and call.name in (self._gated or ()))

    async def _accepted(self, passing: bool) -> None:
        """Tells the steps that the provider took the request, and the approvals that it was told of, if ``passing``."""
        for step in self._steps.accepted:
            await step.accepted()
        if passing:
            await self._consents.accepted()

    async def _record_turn(self, recorder: TurnRecorder) -> TurnEntry:
        assert recorder.done is not None  # `_ask` said so
        turn = recorder.entry()
        calls = await self._calls(turn, recorder) if turn.calls else None
        if calls is not None:
            turn = calls.classified(turn)
        if ref := self._continuation.keep(recorder.done.ref, turn.id, self._scope.store.now):
            turn = msgspec.structs.replace(turn, ref=ref)
        turn = self._steps.record(turn, recorder.done, self._thread)
        if calls is not None:
            await calls.resolve(turn)
            self._thread.parts.calls_ended(self._lane.other, {call.id for call in turn.calls})
        return turn

    async def _calls(self, turn: TurnEntry, recorder: TurnRecorder) -> TurnCalls:
        """Decides which of the turn's calls need a person. A stop while a predicate is at work cuts the turn off."""
        calls = [call for call in turn.calls if not call.malformed]
        owner, limits = self._thread.thread.principal, self._thread.limits
        try:
            evaluations = await evaluate_gates(calls, self._agent.by_name, owner, limits)
        except BaseException:
            self._cut(recorder)
            raise
        return TurnCalls(self._member, self._scope, recorder, evaluations, self._kinds)

    def _break_off(self, recorder: TurnRecorder, request: TurnRequest, error: BaseException) -> None:
        self._cut(recorder)
        if isinstance(error, ProviderError) and not error.reached:
            self._continuation.ref = request.ref  # refused, or it never came there: nothing of it is kept there

    def _cut(self, recorder: TurnRecorder) -> None:
        """Keeps what a broken stream said; none of its calls run (B25). What the provider ran, it ran."""
        recorder.close_calls()
        turn = self._steps.record(msgspec.structs.replace(recorder.entry(), cut=True), None, self._thread)
        self._scope.show_freed(turn)
        self._thread.append(recorder.results.values())
        for call in turn.calls:
            if call.id not in recorder.results:
                self._scope.result(call, result_texts.CUT_OFF_HOSTED if call.kind == "hosted" else result_texts.CUT_OFF)
        self._thread.parts.calls_ended(self._lane.other, {call.id for call in turn.calls})


def steps_for(speaker: Speaker) -> list[TurnStep]:
    """Makes the steps of a member, in the order in which they add to a prompt.

    Raises `ExtraMissing` for one that its agent declares and that is not installed.
    """
    agent, meter = speaker.member.agent, speaker.thread.meter
    steps: list[TurnStep] = [ContentRefusals(speaker)]
    if not isinstance(agent.instructions, str):
        steps.append(load("instructions").turn_step(speaker))
    if agent.history is not None:
        steps.append(load("context_windows").turn_step(speaker if meter is None else meter.counting(speaker)))
    if agent.output_form is not None:
        steps.append(load("structured_output").turn_step(speaker))
    steps.append(ClientContext(speaker))
    if getattr(agent.adapter, "shares_state", False) is True:
        steps.append(load("remote_state").turn_step(speaker))
    if any(tool.place is not None for tool in agent.by_name.values()):
        steps.append(load("shared_state.previews").turn_step(speaker))
    return steps if meter is None else [*steps, meter.turn_step(speaker)]


class ProviderContinuation:
    """The reference from which ``who`` goes on at its provider.

    In the conversation that is the thread's one reference. A task's is its own: that of its newest turn, if that was
    said by ``who``. A conversation that the provider keeps is gone on with within one run alone: in a later one nobody
    knows whether it holds a request that was never answered. But it holds none as long as the provider was not told of
    a call that it holds back, and that a person has agreed to: the first request would have said so.
    """

    def __init__(self, thread: "LeasedThread", who: Viewpoint) -> None:
        self._thread, self._who = thread, who
        latest = thread.journal.latest_in(who.task) if who.task else None
        ref = latest.ref if latest is not None and latest.agent == who.agent and not latest.cut else None
        self._own = ref if ref is not None and (ref.previous_response_id or self._is_newest(latest)) else None

    def _is_newest(self, turn: TurnEntry | None) -> bool:
        """Returns whether nothing was asked after ``turn``."""
        approvals = (self._thread.approvals.get(call.id) for call in turn.calls) if turn is not None else ()
        return any(approval is not None and approval.is_agreed for approval in approvals)

    @property
    def ref(self) -> ConversationRef | None:
        """The reference to go on from, if there is one."""
        if not self._who.task:
            return self._thread.journal.reference(self._who.agent)
        latest = self._thread.journal.latest_in(self._who.task)
        own = latest is not None and self._own is not None and latest.id == self._own.turn_id
        return self._own if own else None

    @ref.setter
    def ref(self, ref: ConversationRef | None) -> None:
        if self._who.task:
            self._own = ref
        else:
            self._thread.ref = ref

    async def suspend(self) -> None:
        """Marks a provider's conversation before a request in it: until its answer is there, it may hold the request
        already.

        So it is not continued after a stop, a failure or a crash, as it would hold the request twice; everything is
        sent again instead. Saved at once. A chain needs none of it: it goes on from the response before.
        """
        if self._who.task:
            if self._own is not None and self._own.conversation_id:
                self._own = None
            return
        ref = self._thread.ref
        if ref is not None and ref.conversation_id:
            self._thread.ref = msgspec.structs.replace(ref, turn_id="")
            await self._thread.commit()

    def keep(self, ref: ConversationRef | None, turn_id: str, clock: Callable[[], int]) -> ConversationRef | None:
        """Goes on from ``ref``, which an adapter gave for the turn, the next time. Returns it with what was missing."""
        kept = self.ref = msgspec.structs.replace(ref, turn_id=turn_id, committed_at=clock()) if ref else None
        return kept

    def begin_at(self, start: str = "", then: str = "", summary: str = "") -> None:
        """Notes from where on the conversation is sent; without arguments, that it is sent whole. Where that is another
        place than before, the provider's memory of it is left, as it holds more than is to be sent, or less.
        """
        window = WindowEntry(start, then, summary, *self._who)
        if window != self.window:
            self.ref = None
            self._thread.append([window])

    @property
    def window(self) -> WindowEntry:
        """The entry that says what was sent of the conversation last."""
        whole = WindowEntry(agent=self._who.agent, task=self._who.task)
        return self._thread.journal.windows.get(self._who, whole)
