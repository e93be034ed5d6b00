"""Decides who resolves each call of one turn; then people are asked about some, and others run.

A call of a function runs here, one with a gate asks a person first, one of the client's tools is the client's, and a
hosted one is the provider's: `TurnCalls` does these. Whoever takes part in a run may bring more kinds
(`Cast.call_kinds`), such as a call that hands a task to another agent.

Nothing of it runs from a turn that was cut off.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.agents.team import Member
from agui_gate.agents.tool import PLACEHOLDER, Gate
from agui_gate.approvals import answer_validation
from agui_gate.concurrency import let_others_in
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.transcript import CallKind as RecordedKind
from agui_gate.core.transcript import CallPart, Output, ResultEntry, Shown, TurnEntry
from agui_gate.core.visible_text import visible
from agui_gate.extra_loader import load
from agui_gate.protocol.snapshot import result_id
from agui_gate.stores.base import provider_id

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext
    from agui_gate.turns.gate_evaluation import GateEvaluation
    from agui_gate.turns.turn_recorder import TurnRecorder

_SIGNS = ("€", "$", "£")
_SIGN_AFTER = re.compile(r"\s?[€$£]")

End = Callable[[CallPart], None]
"""Closes a call."""


class CallKind:
    """One kind of calls in one run. Every hook is called under the thread's lease; by default it does nothing."""

    recorded: RecordedKind = "server"
    """The kind under which a call is recorded in its turn."""

    def claims(self, member: Member, call: CallPart) -> bool:
        """Returns whether a call of this member's turn is of this kind. It is well formed, and its gate lets it be
        asked.
        """
        return False

    def begin(self, member: Member, calls: Sequence[CallPart]) -> Sequence[ResultEntry]:
        """Begins these calls of one turn, none of which asks a person. What this appends is saved with the turn.

        Returns results that are among it. They are told once they are saved, and their calls don't `run`.
        """
        return ()

    async def run(self, member: Member, call: CallPart) -> None:
        """Resolves a call after its turn was saved. A result is saved before it is shown."""

    async def resume(self) -> None:
        """Goes on with what is open of earlier runs, before a model is asked."""

    def superseded(self, waited: Set[str]) -> None:
        """Closes what nobody goes on with: the user went on, and what waited in these tasks was closed."""

    def stopped(self, error: BaseException | None) -> None:
        """Closes what a run leaves that was stopped, or failed with ``error``."""


class TurnCalls:
    """Deals with the calls of the turn that ``recorder`` has taken, as ``evaluations`` say of them, by call id."""

    def __init__(
        self,
        member: Member,
        scope: "RunContext",
        recorder: "TurnRecorder",
        evaluations: "Mapping[str, GateEvaluation]",
        kinds: Sequence[CallKind],
    ) -> None:
        self._kinds = kinds
        self._kind_of: dict[str, CallKind] = {}
        self._member, self._agent, self._scope, self._thread = member, member.agent, scope, scope.thread
        self._tools, self._recorder, self._evaluations = scope.tools, recorder, evaluations
        self._need_person = {call_id for call_id, one in evaluations.items() if one.needs_person}
        self._one_by_one = asyncio.Lock()

    def classified(self, turn: TurnEntry) -> TurnEntry:
        """Returns ``turn``, with who resolves each of its calls, now that the gates have spoken."""
        parts = tuple(self._classified(part) if isinstance(part, CallPart) else part for part in turn.parts)
        return msgspec.structs.replace(turn, parts=parts)

    def _classified(self, call: CallPart) -> CallPart:
        kind, waits = self._kind(call), call.id in self._need_person
        shown: Shown = call.shown
        if call.shown == "after_turn" and (waits or kind == "task"):
            shown = "when_decided" if waits else "when_done"
        return msgspec.structs.replace(call, kind=kind, shown=shown)

    def _kind(self, call: CallPart) -> RecordedKind:
        """Returns who resolves the call. One that can't run anyway is not worth a person's time: it is `server` and
        fails.
        """
        evaluation = self._evaluations.get(call.id)
        if call.kind != "server" or call.malformed or (evaluation is not None and evaluation.problem is not None):
            return call.kind
        for kind in self._kinds:
            if kind.claims(self._member, call):
                self._kind_of[call.id] = kind
                return kind.recorded
        return "gated" if call.id in self._need_person else "server"

    async def resolve(self, turn: TurnEntry) -> None:
        """Saves the turn with the records of its gated calls and whom it hands off to, then runs the free ones in
        parallel. Their results are saved as they come. Where all of them wait, nothing comes before the end of the run,
        and they are saved with that.
        """
        self._scope.show_freed(turn)
        self._settle(turn)
        calls = turn.calls
        gates = [(call, gate) for call in calls if (gate := self._gate(call)) is not None]
        gated = [self._record(call, gate, turn.id) for call, gate in gates]
        asked = {approval.call_id for approval in gated}
        results = self._begin([call for call in calls if call.id not in asked])
        settled = asked.union(result.call_id for result in results)
        free = [call for call in calls if call.kind in ("server", "task") and call.id not in settled]
        has_rules = bool(self._thread.limits.limits) or any(gate.has_rule for _, gate in gates)
        is_alone = not (free or results or has_rules or self._member.who.task)
        if gated and is_alone and all(approval.expires_at is None for approval in gated):  # else the store says when
            self._thread.ask(gated)
        else:
            await self._thread.commit(approvals=gated, patient=True)
        self._scope.seq.leave_open([call.id for call in calls if call.kind != "server"])
        for result in results:
            self._scope.tell(result)
        if not (free or (gated and has_rules)):
            return
        slots = asyncio.Semaphore(self._thread.limits.tools_at_once)
        async with asyncio.TaskGroup() as group:
            for call in free:
                group.create_task(self._in_turn(call, slots))
            if gated and has_rules:
                group.create_task(load("people.rules").apply_rules(self._scope, self._agent, gated))

    def _begin(self, calls: Sequence[CallPart]) -> list[ResultEntry]:
        """Has each kind begin its calls, in the turn's commit. Returns the results that there are already."""
        results: list[ResultEntry] = []
        for kind in self._kinds:
            if mine := [call for call in calls if self._kind_of.get(call.id) is kind]:
                results += kind.begin(self._member, mine)
        self._scope.untold.update((result.call_id, result) for result in results)
        return results

    async def _in_turn(self, call: CallPart, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._thread.parts.are_large:  # it is encoded when a call begins, and when it ends
                async with self._one_by_one:
                    await let_others_in()
            kind = self._kind_of.get(call.id)
            await (self._free(call) if kind is None else kind.run(self._member, call))

    async def _free(self, call: CallPart) -> None:
        evaluation, run_id = self._evaluations.get(call.id), self._scope.input.run_id
        self._scope.begun += (call.id,)
        if call.malformed:
            output = self._unrunnable(call)
        elif evaluation is None:
            tool = self._agent.by_name.get(call.name)
            output = await self._tools.run(tool, call.name, call.id, run_id, call.arguments, judged=False)
        elif evaluation.problem is not None:
            output = result_texts.failed(evaluation.problem)
        else:
            tool = self._agent.by_name[call.name]
            output = await self._tools.run(tool, call.name, call.id, run_id, evaluation.arguments, judged=True)
        result = self._scope.untold[call.id] = ResultEntry(call.id, result_id(call.id), output)
        self._thread.append([result])
        await self._thread.commit(patient=True)  # it ran, and nobody else knows what came of it
        self._scope.tell(result)

    def _record(self, call: CallPart, gate: Gate, turn_id: str) -> Approval:
        """Returns the record of a call that waits, with the arguments that will run."""
        approval = self._approval(call, self._evaluations[call.id].arguments, gate, turn_id)
        return approval if call.is_held else answer_validation.signed(approval, self._agent)

    def _approval(self, call: CallPart, given: str, gate: Gate, turn_id: str) -> Approval:
        """Returns a new record for ``call``, with times relative to the store's clock, as `commit` wants them.

        ``given`` are the arguments that will run; of one that the provider runs, as they came.
        """
        thread, scope = self._thread.thread, self._scope
        return Approval(
            id=f"apr_{scope.new_id()}",
            principal=thread.principal,
            people=gate.people,
            asker=self._thread.asker or (None if self._thread.by is None else self._thread.by.asker),
            thread_id=thread.id,
            agent=self._agent.name,
            run_key=scope.key,
            run_id=scope.input.run_id,
            turn_id=turn_id,
            call_id=call.id,
            tool=call.name,
            arguments=canonical(parse_object(given) or {}) if call.is_held else given,
            style=scope.dialect.style,
            provider_ref=provider_id(self._thread.ref),
            runner="provider" if call.is_held else "agent" if call.kind == "task" else "here",
            protocol_version=scope.shapes.version,
            editable=tuple(gate.editable),
            message=gate.message and _fill(gate.message, parse_object(given) or {}),
            expires_at=None if gate.expires_after is None else int(gate.expires_after * 1000),
        )

    def _gate(self, call: CallPart) -> Gate | None:
        """Returns the gate that has to open before the call runs, if a person is to be asked."""
        if call.id not in self._need_person:
            return None
        if not call.is_held:
            return self._agent.by_name[call.name].gate
        asks = self._recorder.held[call.id]
        return Gate(expires_after=asks.expires_after, message=asks.message, editable=asks.editable)

    def _settle(self, turn: TurnEntry) -> None:
        """Keeps the results of what the provider ran, and closes what nobody can run or be asked about.

        Every hosted call has a result, also where the provider gave none.
        """
        self._thread.append(self._recorder.results.values())
        for call in turn.calls:
            if call.kind == "hosted" and call.id not in self._recorder.results:
                self._scope.result(call, result_texts.NO_RESULT)
            elif call.malformed and call.kind in ("held", "client"):
                self._scope.result(call, self._unrunnable(call))

    def _unrunnable(self, call: CallPart) -> Output:
        """Returns the output of a malformed call: a limit cut the answer before its end, or it is the model's
        mistake.
        """
        if call.id in self._recorder.unended:
            return result_texts.CUT_OFF
        return result_texts.failed(f"The arguments of {call.name} are not a JSON object.")


def _fill(message: str, arguments: dict[str, Any]) -> str:
    """Returns ``message`` with its ``{argument}`` placeholders filled in; unknown ones stay as they are."""
    # At one go: what a model wrote into one argument must not pull in another.
    return PLACEHOLDER.sub(lambda m: _in_place(m, arguments[m[1]]) if m[1] in arguments else m[0], message)


def _in_place(place: re.Match[str], value: Any) -> str:
    """Returns a value as people are shown it. Next to the sign of a currency money has two digits behind the point, or
    none.
    """
    is_money = _SIGN_AFTER.match(place.string, place.end()) or place.string[: place.start()].rstrip().endswith(_SIGNS)
    if is_money and isinstance(value, float) and not value.is_integer() and round(value, 2) == value:
        return f"{value:.2f}"
    return _shown(value)


def _shown(value: Any) -> str:
    """Returns a value as people are shown it: with what hides characters made visible."""
    return visible(value if isinstance(value, str) else canonical([value])[1:-1])
