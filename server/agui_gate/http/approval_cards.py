"""Records with what a card needs besides: `?view=card` of `/approvals` and of `/approvals/{id}`.

So a page shows forty cards after one request, without asking for agents and chats. What a card says of its chat is
read once for each chat: its title, its other calls, and which answers were not taken (of the audit trail, which has
that across replicas). All of it is the principal's own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agui_gate.approvals.answer_validation import tool_of
from agui_gate.approvals.expiry import with_result
from agui_gate.core import open_questions
from agui_gate.core.approvals import Approval
from agui_gate.core.browser_numbers import schema_for_browser
from agui_gate.core.json_text import parse_object
from agui_gate.http.views import Agents, listed_view
from agui_gate.protocol.cards import already_ran
from agui_gate.stores.base import Calls, Store
from agui_gate.stores.cursor import fitting
from agui_gate.stores.lookup import capabilities

MAX_EVENTS = 200
"""Events of one chat that are looked through for answers that were not taken."""

Json = dict[str, Any]


class _Chat(msgspec.Struct, frozen=True):
    """What cards say of their chat. ``refused``: why the last answer wasn't taken, by approval."""

    calls: Calls | None
    refused: dict[str, str]


async def card_views(store: Store, agents: Agents, approvals: Sequence[Approval], principal: str) -> list[Json]:
    """Returns the cards of ``approvals``, which are this principal's."""
    by_thread: dict[str, list[Approval]] = {}
    for approval in (one for one in approvals if one.principal == principal):
        by_thread.setdefault(approval.thread_id, []).append(approval)
    chats = {name: await _chat(store, principal, name, of) for name, of in by_thread.items()}
    of_others = _Chat(None, {})  # of their conversations an approver sees the call alone
    of = {one.id: chats[one.thread_id] if one.principal == principal else of_others for one in approvals}
    return [_card_view(approval, agents, of[approval.id]) for approval in approvals]


def number_fitting(cards: Iterable[Json]) -> int:
    """Returns how many of the first cards make a page: schemas and earlier calls count, too."""
    return fitting(len(msgspec.json.encode(card)) for card in cards)


async def _chat(store: Store, principal: str, thread_id: str, asked: Sequence[Approval]) -> _Chat:
    calls = await store.read_calls(principal, thread_id)
    audit = capabilities(store).audit
    waiting = {approval.id for approval in asked if approval.is_pending}
    if audit is None or not waiting:
        return _Chat(calls, {})
    since = min(approval.asked_at for approval in asked if approval.is_pending)
    page = await audit.read_events(limit=MAX_EVENTS, principal=principal, thread_id=thread_id, since=since)
    told = (event for event in page.events if event.kind == "refused" and event.approval_id in waiting)
    return _Chat(calls, {event.approval_id: _sentence(event.body) for event in told})


def _sentence(body: str) -> str:
    why = str((parse_object(body) or {}).get("why", "")).rstrip(".")
    return f"{why or 'The last answer was not taken'}."


def _card_view(approval: Approval, agents: Agents, chat: _Chat) -> Json:
    tool = tool_of(agents.get(approval.agent), approval)
    parameters = tool.parameters if tool else {"type": "object"}
    calls = [] if chat.calls is None else [with_result(one) for one in chat.calls.approvals]
    ran = already_ran(approval, parameters, calls, ())
    wanted = open_questions.parameters(approval) or (tool and tool.parameters)
    thread = None if chat.calls is None else {"title": chat.calls.head.title, "agent": chat.calls.head.agent}
    return listed_view(approval, agents) | {
        "schema": wanted and schema_for_browser(wanted, parse_object(approval.arguments) or {}),
        "refused": chat.refused.get(approval.id),
        "already_ran": ran.calls if ran else [],
        "thread": thread,
    }
