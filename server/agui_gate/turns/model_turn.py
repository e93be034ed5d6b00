"""One turn of the model: ask it, stream what it says, and record it. Its calls are dealt with by `TurnCalls`."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from agui_gate.adapter import CallStart, ToolChoice, ToolSpec, TurnDone, TurnRequest, UserTurn
from agui_gate.agents.team import Member
from agui_gate.approvals.prompts import ApprovalPrompter
from agui_gate.approvals.provider_approvals import ProviderApprovals
from agui_gate.core import outcomes
from agui_gate.core.lane import Lane
from agui_gate.core.sanitizer import carrying
from agui_gate.core.schemas import of_arguments
from agui_gate.core.stop_reasons import cut_off
from agui_gate.core.transcript import (
    CARD_TOOL,
    LeftOutEntry,
    Transcript,
    TurnEntry,
)
from agui_gate.core.view import View
from agui_gate.errors import (
    ConsentLost,
    ContentRefused,
    ContextLength,
    FormRefused,
    LimitReached,
    MediaRefused,
    ProviderError,
    ProviderUnavailable,
)
from agui_gate.extras.context_windows import ContextWindow
from agui_gate.extras.instructions import instructions_for
from agui_gate.extras.remote_state import RemoteState, shared_with
from agui_gate.extras.shared_state.previews import Previews
from agui_gate.extras.structured_output import StructuredOutput
from agui_gate.fairness import Breath
from agui_gate.protocol.tool_choice import chosen
from agui_gate.runs.run_context import RunContext
from agui_gate.threads.leased_thread import committed_ref
from agui_gate.turns.call_kinds import CallKind
from agui_gate.turns.client_context import ClientContext
from agui_gate.turns.content_refusals import Withheld, blamed, left_out
from agui_gate.turns.gate_evaluation import GateEvaluation, evaluate_gates
from agui_gate.turns.provider_continuation import ProviderContinuation
from agui_gate.turns.tool_dispatch import TurnCalls
from agui_gate.turns.toolbox import Toolbox
from agui_gate.turns.turn_recorder import TurnRecorder
from agui_gate.worker_thread import LARGE, LARGE_BYTES


class Turns:
    """Runs turns of one member in one run, in one task. ``done`` collects how each ended, for the usage.

    ``lane`` is where what it says goes. ``kinds`` are those of calls besides the trunk's own.
    """

    def __init__(
        self,
        member: Member,
        scope: RunContext,
        asker: ApprovalPrompter,
        consents: ProviderApprovals,
        tools: Toolbox,
        done: list[TurnDone],
        lane: Lane,
        kinds: Sequence[CallKind],
    ) -> None:
        agent = member.agent
        self._member, self._agent, self._scope, self._run = member, agent, scope, scope.input
        self._thread, self._seq, self._kinds = scope.thread, lane, kinds
        self._memory = ProviderContinuation(scope.thread, member.who)
        self.was_cut_off = ""
        """Why the last turn was no complete answer, if it was none."""
        self._asker, self._consents, self._tools, self._done = asker, consents, tools, done
        run = scope.input
        ours = {CARD_TOOL, *member.heirs, *agent.by_name}
        self._client_tools = {name: tool for name, tool in run.client_tools.items() if name not in ours}
        gates = {tool.name for tool in agent.by_name.values() if tool.gate is not None}
        self._gated: frozenset[str] | None = frozenset(gates) if scope.thread.view is View.CARDS else None
        if (
            scope.thread.view.v1 and run.client_tools
        ):  # a task that waits for the page ends the run as a success (TOOL-5)
            tasks = {tool.name for tool in agent.by_name.values() if tool.agent is not None}
            self._gated = (self._gated or frozenset()) | tasks if tasks else self._gated
        streaming = any(tool.place is not None for tool in agent.by_name.values())
        self._beside = getattr(agent.adapter, "shares_state", False) is True
        self._previews = Previews(agent.by_name, self._thread, self._seq.other) if streaming else None
        self._words = ClientContext(agent, run)
        self._specs = (*agent.specs, *member.transfers, *self._client_specs())
        form = agent.output_form
        self.answering = None if form is None else StructuredOutput(form, agent.adapter, tools=bool(self._specs))
        """What becomes of answers that have a form."""
        owner, task = scope.thread.thread, member.who.task
        named = (owner.principal, owner.id, str(owner.created_at))
        self._conversation = (*named, task) if task else named
        self._windowing = ContextWindow(agent, self._thread, self._seq, done.append, self._memory, member.who)

    async def next_turn(self) -> TurnEntry:
        """Ask the model, record the turn, and run its free calls. What was agreed to is passed on with the request.

        The turn is saved before any of its tools starts; a turn that makes no calls is left to the caller's final
        commit. A stream that breaks off is recorded as far as it came, its calls closed, and the error goes on.
        """
        await self._consents.pass_on(self._agent)
        try:
            recorder = await self._ask()
        except ConsentLost:
            await self._consents.lost()
            recorder = await self._ask()
        turn = await self._record_turn(recorder)
        if self.answering is not None:
            self.answering.check()
        return turn

    @property
    def said(self) -> bytes | None:
        """The newest answer as JSON, if it has a given form."""
        return None if self.answering is None else self.answering.said

    @property
    def asks_again(self) -> bool:
        """Whether the newest answer did not fit, and the model is asked once more."""
        return self.answering is not None and self.answering.asks_again

    async def _ask(self) -> TurnRecorder:
        """Ask the model; without what the provider refuses, if it does. What it refused is remembered."""
        await self._prepare()
        withheld = Withheld(self._thread)
        while True:
            try:
                return await self._ask_once(withheld)
            except MediaRefused as refused:
                unsure = refused.accepted and self._consents.passing
                if withheld.accepted or unsure or not withheld.more(refused):
                    raise
                if refused.accepted or withheld.whole:
                    self._memory.ref = None  # what is refused may be in what the provider remembers
            except FormRefused:
                if self.answering is None or not self.answering.tell_in_words():
                    raise
            except (ContentRefused, ContextLength) as refused:
                if not self._member.who.task:  # a task has no messages of the user's
                    self._leave_out(blamed(self._thread, refused))
                raise

    async def _prepare(self) -> None:
        """What has to be there before it is asked."""
        self._thread.capacity.check_turn()
        if not isinstance(self._agent.instructions, str):
            self._words.instructions = await instructions_for(self._agent, self._run, self._thread)
        if not self._member.who.task:  # others work on the thread beside a task
            await self._thread.history.prepare(self._member.to)

    def _leave_out(self, entries: Sequence[LeftOutEntry]) -> None:
        """From now on."""
        self._thread.append(entries)
        for entry in entries:
            self._seq.other(left_out(entry))

    async def _ask_once(self, withheld: Withheld) -> TurnRecorder:
        limits, origin = self._thread.limits, self._agent.adapter.origin
        recorder = TurnRecorder(
            self._seq,
            self._scope.new_id,
            self._thread.journal.call_ids,
            origin,
            limits,
            self._client_tools,
            None if self._gated is None else self._holds_back,
            self._member.who,
            self._previews,
        )
        journal = self._thread.journal
        transcript = carrying(self._thread.history.transcript(self._member.to, withheld.entries), journal.consents())
        if self._agent.history is not None or journal.windows:
            transcript = await self._windowing.shown(transcript)
        choice = self._choice(transcript)
        note = "" if self._member.who.task else self._thread.history.replaced_note()
        output = None
        if self.answering is not None:
            output, note = self.answering.spec, self.answering.noted(note)
        instructions, transcript = self._words.for_model(transcript, journal, note)
        ref, large = self._memory.ref, self._is_large(instructions)
        request = TurnRequest(transcript, instructions, self._specs, ref, choice, large, self._conversation, output)
        if self._beside:
            request = msgspec.structs.replace(request, state=shared_with(self._agent, self._thread))
            recorder.beside = RemoteState(self._agent, self._thread, self._seq, recorder.turn_id, request.state)
        await self._memory.suspend()
        try:
            await self._listen(request, recorder, limits.turn_seconds, withheld)
        except BaseException as error:
            self._cut(recorder)
            if isinstance(error, ProviderError) and not (isinstance(error, ProviderUnavailable) and error.reached):
                self._memory.ref = request.ref  # refused, or it never came there: nothing of it is kept there
            raise
        if recorder.done is None:  # an adapter that ends without saying so: treat it as what it looks like
            self._cut(recorder)
            raise ProviderUnavailable("The provider's answer ended early.")
        self._done.append(recorder.done)
        self.was_cut_off = cut_off(recorder.done.reason).message if recorder.done.status == "incomplete" else ""
        recorder.close_calls()
        return recorder

    def _holds_back(self, call: CallStart) -> bool:
        """Whether a person may be asked about it, by a card: then nothing but the card is left to the page (TOOL-6)."""
        return call.asks or (not call.hosted and call.name in (self._gated or ()))

    def _is_large(self, instructions: str) -> bool:
        return self._thread.capacity.is_large or len(instructions) > LARGE_BYTES or len(self._specs) > LARGE

    async def _listen(self, request: TurnRequest, recorder: TurnRecorder, seconds: float, withheld: Withheld) -> None:
        """Take the answer, for at most ``seconds``. Others get their turn, however fast a model talks."""
        await self._consents.begin()
        passing = self._consents.passing
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline, aclosing(self._agent.adapter.stream(request)) as batches:
                breath = Breath()
                async for batch in batches:
                    if not withheld.accepted:
                        withheld.accepted = True
                        self._leave_out(withheld.entries)
                    if passing:
                        passing = False
                        await self._consents.accepted()
                    recorder.feed(batch)
                    if breath.due:
                        await breath.take()
        except TimeoutError:
            if not deadline.expired():
                raise
            raise LimitReached(
                f"The model's answer was cut off: it took longer than {seconds:g} seconds. "
                "What it said is kept. Send a message to continue."
            ) from None

    async def _record_turn(self, recorder: TurnRecorder) -> TurnEntry:
        assert recorder.done is not None  # `_ask` said so
        turn = recorder.entry()
        judged = await self._looked_at(turn, recorder)
        calls = TurnCalls(self._member, self._scope, self._asker, self._tools, recorder, judged, self._kinds)
        turn = calls.classified(turn)
        ref = self._memory.ref = committed_ref(recorder.done.ref, turn.id, self._scope.clock())
        turn = msgspec.structs.replace(turn, ref=ref)
        if self.answering is not None:
            turn = self.answering.judged(turn, recorder.done)
        self._thread.append([turn])
        if recorder.beside is not None:
            recorder.beside.over()
        if turn.calls:
            await calls.resolve(turn)
            self._thread.parts.calls_ended(self._seq.other, {call.id for call in turn.calls})
        return turn

    async def _looked_at(self, turn: TurnEntry, recorder: TurnRecorder) -> dict[str, GateEvaluation]:
        """What gates say of the turn's calls. A stop while a predicate is at work cuts the turn off."""
        local = [call for call in turn.calls if call.local and not call.malformed]
        try:
            return await evaluate_gates(local, self._agent.by_name, self._thread.thread.principal, self._thread.limits)
        except BaseException:
            self._cut(recorder)
            raise

    def _cut(self, recorder: TurnRecorder) -> None:
        """Keep what a broken stream said; none of its calls run (B25). What the provider ran, it ran."""
        recorder.close_calls()
        turn = msgspec.structs.replace(recorder.entry(), cut=True)
        if turn.parts:
            self._thread.append([turn])
        if recorder.beside is not None:
            recorder.beside.over()
        self._scope.show_freed(turn)
        self._thread.append(recorder.results.values())
        for call in turn.calls:
            if call.id not in recorder.results:
                self._scope.result(call, outcomes.CUT_OFF_HOSTED if call.kind == "hosted" else outcomes.CUT_OFF)
        self._thread.parts.calls_ended(self._seq.other, {call.id for call in turn.calls})

    def _choice(self, transcript: Transcript) -> ToolChoice | None:
        """What the client says about tools. One is forced for the answer to a message, not for what follows its
        result: that would never end.
        """
        if self._member.who.task:
            return None
        choice = chosen(self._run.forwarded_props, [spec.name for spec in self._specs])
        last = transcript[-1] if transcript else None
        speaks = isinstance(last, UserTurn) and not last.is_note
        return choice if speaks or choice == "none" else None

    def _client_specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(t.name, t.description or "", of_arguments(t.parameters)) for t in self._client_tools.values()
        )
