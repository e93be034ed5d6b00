"""Tells a run's client the outcome of each gated call, once, and the truth where the page shows something else.

How the stream says an outcome is the dialect's (`protocol/dialects/`).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agui_gate import log_events
from agui_gate.approvals.answer_validation import Refused
from agui_gate.core import audit, result_texts
from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output, ReportedEntry
from agui_gate.errors import NotSaved
from agui_gate.protocol import cards
from agui_gate.protocol.dialects.base import Result
from agui_gate.protocol.snapshot import result_id

if TYPE_CHECKING:
    from agui_gate.approvals.questions import ApprovalPrompter
    from agui_gate.runs.run_context import RunContext


SHOWN = 20
"""Names of unknown questions that are told; each is cut after as many characters as `LENGTH`."""
LENGTH = 200


class OutcomeEvents:
    """Shows outcomes in one run."""

    def __init__(self, scope: "RunContext", asker: "ApprovalPrompter") -> None:
        self._scope, self._asker, self._dialect = scope, asker, scope.dialect

    def closed(self, approval: Approval) -> None:
        """Shows the outcome of a gated call, once, and ends its cards."""
        thread = self._scope.thread
        thread.decided(approval)
        completed = thread.approvals[approval.call_id]
        if completed.is_begun:  # the call has its result when the task is done
            self._asker.close_cards(completed)
            self._dialect.snapshot_due = True
        if completed.output is None or not thread.journal.shows(approval.call_id):
            return
        call = thread.journal.call(approval.call_id)
        self._dialect.outcome(call, completed, self._result(completed, completed.output))
        self._asker.close_cards(completed)
        thread.append([ReportedEntry(approval.call_id)])
        # A client that answered may show its own answer as the result; a snapshot puts that right.
        self._dialect.snapshot_due |= completed.decision is not None

    async def keep(self, approval: Approval, to: State, output: Output) -> Approval:
        """Saves an outcome. One that can't be saved is shown as such, and the next run shows the record. Raises
        `NotSaved`.
        """
        try:
            return await self._scope.thread.keep(approval, to, output)
        except NotSaved as error:
            call_id, told = approval.call_id, result_texts.not_saved(error)
            self._dialect.decided(self._scope.thread.journal.call(call_id), approval)
            self._scope.lane_of(call_id).result(call_id, result_id(call_id), told.content)
            raise

    def known(self) -> None:
        """Sends the outcomes that the client has from `connect`: where they were told, before what is said now."""
        for approval in self._scope.thread.journal.unreported():
            if self._dialect.has_outcome(approval.call_id):
                self.closed(approval)

    def unseen(self, repeated: Iterable[Approval]) -> None:
        """Sends the outcomes that the client has not seen: decided elsewhere, expired, recovered.

        What came of ``repeated``, answered again, was told before; a snapshot tells it again (LIFE-8).
        """
        for approval in self._scope.thread.journal.unreported():
            self.closed(approval)
        self._dialect.snapshot_due |= any(result_texts.on_cards(approval) is not None for approval in repeated)

    def refused(self, refused: Iterable[Refused]) -> None:
        """Says why these answers could not be taken, here and where the call is asked about again."""
        for one in refused:
            self._asker.refused[one.approval.id] = one.error.message
            self._custom({"approvalId": one.approval.id, "message": one.error.message})
            self._scope.thread.refused(one)

    def asked(self, approvals: Iterable[Approval]) -> None:
        """Shows that a person is asked about these, (again) in this run."""
        thread, style = self._scope.thread, self._dialect.style
        thread.happened(audit.shown(approval, str(thread.actor), style, self._scope.key) for approval in approvals)

    def late(self, late: Iterable[Approval]) -> None:
        """Says what is true of calls that were decided before: the page may show what was clicked."""
        for approval in _once(late):
            from agui_gate.protocol.late_answers import already

            record = cards.record(approval, self._asker.parameters(approval))
            message = already(approval, self._scope.store.now())
            log_events.late(approval, self._scope.thread.thread.principal)
            self._custom({"approvalId": approval.id, "message": message, "record": record})

    def unknown(self, named: Sequence[str]) -> None:
        """Answers to what was never asked here: they are left aside, and said so (INT-4)."""
        if named:
            thread = self._scope.thread.thread
            log_events.unknown_answers(thread.id, thread.principal, len(named))
            shown = [name[:LENGTH] for name in dict.fromkeys(named)][:SHOWN]
            message = "This answer matches no pending question, so it changed nothing."
            self._scope.seq.other(ev.Custom("agui-gate:answer_unknown", {"ids": shown, "message": message}))

    def show_if_due(self) -> None:
        """Sends the whole conversation, where the client may show another result than the call's own.

        See docs/clients.md#answers-as-tool-messages.
        """
        if self._dialect.snapshot_due:
            self.show(self._scope.messages())

    async def restate(self) -> None:
        """Restates as `show_if_due` does, with the messages prepared beforehand where that is heavy."""
        if self._dialect.snapshot_due:
            self.show(await self.snapshot())

    async def snapshot(self) -> ev.MessagesSnapshot:
        """Returns the whole conversation as it is now, to be shown once all of it is saved."""
        await self._scope.thread.prepare_messages()
        return self._scope.messages()

    def show(self, snapshot: ev.MessagesSnapshot) -> None:
        """Sends the whole conversation."""
        self._dialect.snapshot_due = False
        self._scope.seq.other(snapshot)

    def at_end(self) -> None:
        """Does `show_if_due` before the run's end, where it is needed then."""
        if self._dialect.snapshot_due_at_end:
            self.show_if_due()

    def _result(self, approval: Approval, output: Output) -> Result:
        said = cards.metadata(approval, self._asker.parameters(approval))
        return Result(approval.call_id, result_id(approval.call_id), output.content, said)

    def _custom(self, value: dict[str, object]) -> None:
        self._scope.seq.other(ev.Custom("agui-gate:answer_refused", value))


def _once(approvals: Iterable[Approval]) -> Iterable[Approval]:
    return {approval.id: approval for approval in approvals}.values()
