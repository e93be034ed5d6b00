"""What a run's client is shown of gated calls: what came of each, once, and what is true where it shows otherwise."""

from collections.abc import Iterable, Sequence

from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output, ReportedEntry
from agui_gate.engine import outcomes, telling
from agui_gate.engine.scope import Scope
from agui_gate.engine.waiting import Asker
from agui_gate.errors import AguiGateError, NotSaved
from agui_gate.protocol import records
from agui_gate.protocol.messages import result_id

SHOWN = 20
"""Names of unknown questions that are told; each is cut after as many characters as `LENGTH`."""
LENGTH = 200


class Showing:
    """Shows outcomes in one run. ``snapshot_due``: the client may show another result than a call's own."""

    def __init__(self, scope: Scope, asker: Asker) -> None:
        self._scope, self._asker = scope, asker
        self.snapshot_due = False

    def closed(self, approval: Approval) -> None:
        """A gated call has its outcome: show it, once, and end its cards."""
        thread = self._scope.thread
        thread.decided(approval)
        completed = thread.approvals[approval.call_id]
        if completed.output is None or not thread.journal.shows(approval.call_id):
            return
        self._result(completed, completed.output)
        self._asker.close_cards(completed)
        thread.append([ReportedEntry(approval.call_id)])
        # A client that answered may show its own answer as the result; a snapshot puts that right.
        self.snapshot_due |= completed.decision is not None

    async def keep(self, approval: Approval, to: State, output: Output) -> Approval:
        """Record an outcome. One that can't be recorded is shown as such; the next run shows the record."""
        try:
            return await self._scope.thread.keep(approval, to, output)
        except NotSaved:
            call_id = approval.call_id
            self._scope.seq.result(call_id, result_id(call_id), outcomes.NOT_SAVED.content)
            raise

    def unseen(self, repeated: Iterable[Approval]) -> None:
        """Outcomes the client has not seen: decided elsewhere, expired, recovered.

        What came of ``repeated``, answered again, was told before; a snapshot tells it again (LIFE-8).
        """
        for approval in self._scope.thread.journal.unreported():
            self.closed(approval)
        self.snapshot_due |= any(approval.output is not None for approval in repeated)

    def refused(self, refused: Iterable[tuple[Approval, AguiGateError]]) -> None:
        """Answers that could not be taken: say why, here and where the call is asked about again."""
        for approval, error in refused:
            self._asker.refused[approval.id] = error.message
            self._custom({"approvalId": approval.id, "message": error.message})
            telling.refused(approval, self._scope.thread.thread.principal, error.message)

    def late(self, late: Iterable[Approval]) -> None:
        """Say what is true of calls that were decided before: the page may show what was clicked."""
        for approval in _once(late):
            record = records.record(approval, self._asker.parameters(approval))
            message = records.already(approval, self._scope.clock())
            telling.late(approval, self._scope.thread.thread.principal)
            self._custom({"approvalId": approval.id, "message": message, "record": record})

    def unknown(self, named: Sequence[str]) -> None:
        """Answers to what was never asked here: they are left aside, and said so (INT-4)."""
        if named:
            thread = self._scope.thread.thread
            telling.unknown_answers(thread.id, thread.principal, len(named))
            shown = [name[:LENGTH] for name in dict.fromkeys(named)][:SHOWN]
            message = "This answers nothing that was asked here, so it changed nothing."
            self._scope.seq.other(ev.Custom("agui-gate:answer_unknown", {"ids": shown, "message": message}))

    def snapshot(self) -> None:
        """The whole conversation, where the client may show another result than the call's own.

        See docs/clients.md#answers-as-tool-messages.
        """
        if self.snapshot_due:
            self.snapshot_due = False
            self._scope.show_messages()

    def _result(self, approval: Approval, output: Output) -> None:
        told = records.metadata(approval, self._asker.parameters(approval))
        self._scope.seq.result(approval.call_id, result_id(approval.call_id), output.content, told)

    def _custom(self, value: dict[str, object]) -> None:
        self._scope.seq.other(ev.Custom("agui-gate:answer_refused", value))


def _once(approvals: Iterable[Approval]) -> Iterable[Approval]:
    return {approval.id: approval for approval in approvals}.values()
