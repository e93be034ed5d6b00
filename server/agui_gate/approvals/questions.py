"""Asks a run's client about the gated calls that wait for a person: as cards or as interrupts, and ends its cards."""

from typing import TYPE_CHECKING, Any

from agui_gate.core import events as ev
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval
from agui_gate.core.message_index import REPLACED
from agui_gate.core.transcript import CARD_TOOL, CardClosedEntry, CardEntry
from agui_gate.protocol import cards
from agui_gate.protocol.cards import already_ran, metadata
from agui_gate.protocol.dialects.base import Result

if TYPE_CHECKING:
    from agui_gate.runs.agent_loop import Cast
    from agui_gate.runs.run_context import RunContext


class ApprovalPrompter:
    """Asks people about gated calls, in one style per run: never cards and interrupts together.

    See docs/clients.md#one-style-per-run.
    """

    def __init__(self, cast: "Cast", scope: "RunContext") -> None:
        self._cast, self._scope, self._thread, self._seq = cast, scope, scope.thread, scope.seq
        self.refused: dict[str, str] = {}

    def put_cards(self, approvals: list[Approval]) -> list[CardEntry]:
        """Returns a card for each, in the journal. It is shown (`show_cards`) when that is saved: what a page answers
        is known.

        An earlier card that is still open is replaced.
        """
        put = [self._card(approval) for approval in approvals]
        self._thread.append(put)
        return put

    def show_cards(self, put: list[CardEntry]) -> None:
        """Shows the cards to the client."""
        for card in put:
            self._seq.call(card.id, CARD_TOOL, card.message_id)
            self._seq.call_args(card.id, card.arguments)
            self._seq.call_end(card.id)
            self._seq.leave_open([card.id])

    def retire_cards(self, approvals: list[Approval]) -> None:
        """Ends the cards of what is asked again."""
        for approval in approvals:
            self._end_cards(approval, REPLACED)

    def close_cards(self, approval: Approval) -> None:
        """Ends the cards of a call that can no longer be answered, so that they lose their buttons."""
        output = result_texts.on_cards(approval)
        self._end_cards(approval, output.content if output else REPLACED)

    def interrupts(self, approvals: list[Approval]) -> ev.InterruptOutcome:
        """Returns the outcome that asks about ``approvals``."""
        return ev.InterruptOutcome(tuple(self._interrupt(approval) for approval in approvals))

    def _interrupt(self, approval: Approval) -> ev.Interrupt:
        parameters = self.parameters(approval)
        ran = self._ran(approval, parameters)
        asker, task = self._asker(approval)
        return cards.interrupt(approval, parameters, ran, self.refused.get(approval.id), asker=asker, task=task)

    def _card(self, approval: Approval) -> CardEntry:
        self._end_cards(approval, REPLACED)
        card_id, message_id = f"card_{self._scope.new_id()}", self._scope.new_id()
        parameters = self.parameters(approval)
        ran = self._ran(approval, parameters)
        asker, _ = self._asker(approval)
        arguments = cards.card_arguments(approval, parameters, self.refused.get(approval.id), ran, asker=asker)
        return CardEntry(card_id, message_id, approval.id, arguments)

    def _asker(self, approval: Approval) -> tuple[str, str]:
        """Returns the name of who is shown as asking, and the task in which it asks."""
        task = self._thread.journal.task_of(approval.call_id)
        return self._cast.team.asker(approval.agent, task), task

    def _ran(self, approval: Approval, parameters: dict[str, Any]) -> cards.AlreadyRan | None:
        return already_ran(approval, parameters, self._thread.approvals.values(), self._thread.journal.replaced)

    def parameters(self, approval: Approval) -> dict[str, Any]:
        """Returns the JSON Schema of the tool that is asked about."""
        tool = self._cast.tool_of(approval)
        return tool.parameters if tool else {"type": "object"}

    def _end_cards(self, approval: Approval, content: str) -> None:
        for card in self._thread.journal.cards.open_of(approval.id, approval.was):
            message_id, said = f"{card.id}-result", metadata(approval, self.parameters(approval))
            self._scope.dialect.card_ended(Result(card.id, message_id, content, said))
            self._thread.append([CardClosedEntry(card.id, message_id, content, retired=True)])
