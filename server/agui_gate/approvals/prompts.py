"""Calls that wait for a person: recording them, and showing them as cards or as interrupts."""

import re
from typing import Any

from agui_gate.agents.tool import PLACEHOLDER, Gate
from agui_gate.core import events as ev
from agui_gate.core import outcomes
from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.shown_history import REPLACED
from agui_gate.core.transcript import CARD_TOOL, CallPart, CardClosedEntry, CardEntry
from agui_gate.core.visible_text import visible
from agui_gate.protocol import cards
from agui_gate.protocol.approval_records import metadata
from agui_gate.protocol.dialects.base import Result
from agui_gate.protocol.earlier_calls import already_ran
from agui_gate.runs.cast import Cast
from agui_gate.runs.run_context import RunContext
from agui_gate.stores.base import provider_id

_SIGNS = ("€", "$", "£")
_SIGN_AFTER = re.compile(r"\s?[€$£]")


class ApprovalPrompter:
    """Asks people about gated calls, in one style per run: never cards and interrupts together.

    See docs/clients.md#one-style-per-run.
    """

    def __init__(self, cast: Cast, scope: RunContext) -> None:
        self._cast, self._scope, self._thread, self._seq = cast, scope, scope.thread, scope.seq
        self.refused: dict[str, str] = {}

    def record(self, agent: str, call: CallPart, gate: Gate, turn_id: str, judged: str | None = None) -> Approval:
        """Returns a new record for ``call``, with times relative to the store's clock, as `commit` wants them.

        ``agent`` is the member that asks, by its own name.

        ``judged`` are the arguments that will run; None where the provider runs them, as it gave them.
        """
        thread = self._thread.thread
        arguments = parse_object(call.arguments if judged is None else judged) or {}
        return Approval(
            id=f"apr_{self._scope.new_id()}",
            principal=thread.principal,
            thread_id=thread.id,
            agent=agent,
            run_key=self._scope.key,
            run_id=self._scope.input.run_id,
            turn_id=turn_id,
            call_id=call.id,
            tool=call.name,
            arguments=canonical(arguments),
            style=self._scope.dialect.style,
            provider_ref=provider_id(self._thread.ref),
            runner="provider" if call.is_held else "agent" if call.kind == "task" else "here",
            protocol_version=self._scope.shapes.version,
            editable=tuple(gate.editable),
            message=_fill(gate.message, arguments),
            expires_at=None if gate.expires_after is None else int(gate.expires_after * 1000),
        )

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
        output = outcomes.on_cards(approval)
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


def _fill(message: str | None, arguments: dict[str, Any]) -> str | None:
    """Returns ``message`` with its ``{argument}`` placeholders filled in; unknown ones stay as they are."""
    if message is None:
        return None
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
