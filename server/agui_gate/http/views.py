"""Records as the JSON of docs/http-api.md. Times are ISO 8601 in UTC."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ParamSpec

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_gate.agents.agent import Agent
from agui_gate.approvals.answer_validation import tool_of
from agui_gate.approvals.expiry import with_result
from agui_gate.concurrency import if_large, json_list
from agui_gate.core.approvals import Approval
from agui_gate.core.transcript import CallPart, Entry, TurnEntry, WindowEntry
from agui_gate.extra_loader import find, load
from agui_gate.protocol.cards import iso, record
from agui_gate.protocol.snapshot import agui_messages
from agui_gate.stores.base import MAX_LISTED, Calls, Store, Thread, ThreadHead
from agui_gate.stores.tombstones import Tombstone
from agui_gate.threads.budget import Reservation
from agui_gate.threads.history import heaviness

if TYPE_CHECKING:
    from agui_gate.core.principals import By


def json_response(value: Any, status: int = 200) -> Response:
    """Returns ``value`` as a JSON answer."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def unless_known(request: Request, response: Response) -> Response:
    """Returns ``response``, or a 304 if the client has it already: for what is asked for again and again."""
    tag = f'"{blake2b(response.body, digest_size=16).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


async def compressed(request: Request, response: Response) -> Response:
    """Returns ``response`` as small as the client takes it, where the page's files are installed, whose need it is."""
    extra = find("page.compression") if len(response.body) >= COMPRESSED else None
    return response if extra is None else await extra.compressed(request, response)


COMPRESSED = 1024
"""Bytes from which on compressing an answer gains something."""

Agents = Mapping[str, Agent]

P = ParamSpec("P")

PIECE = 256 * 1024
"""Bytes of a large answer that are sent at once."""


def approval_view(approval: Approval, agents: Agents) -> dict[str, Any]:
    """Returns a record, its arguments in the order in which the tool of one of ``agents`` names them."""
    tool = tool_of(agents.get(approval.agent), approval)
    told = record(with_result(approval), tool.parameters if tool else None)
    offers = tool.gate.grants if tool is not None and tool.gate is not None and approval.is_pending else ()
    return told | {"grants": [offer.view() for offer in offers]} if offers else told


async def with_people(
    views: list[dict[str, Any]], approvals: Sequence[Approval], store: Store, agents: Agents, by: "By"
) -> list[dict[str, Any]]:
    """Returns the views of ``approvals``, with what ``by`` may do (``you``) in those that wait for people."""
    if not any(approval.people is not None and approval.is_pending for approval in approvals):
        return views
    told: list[dict[str, Any]] = await load("people.cards").with_people(views, approvals, store, agents, by)
    return told


async def with_freezes(
    store: Store, approvals: Sequence[Approval], views: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the views, with ``frozen`` in those of calls that wait and that nobody can let go now."""
    read = getattr(store, "freezes", None)
    if read is None or not any(approval.is_pending for approval in approvals):
        return views
    freezes = await read()
    words = [[one.words for one in freezes if approval.is_pending and one.is_about(approval)] for approval in approvals]
    return [view | {"frozen": said[0]} if said else view for view, said in zip(views, words, strict=True)]


def tombstone_view(left: Tombstone) -> dict[str, Any]:
    """Returns what is kept of a call whose thread was deleted."""
    decided_at = left.decided_at and iso(left.decided_at)
    decision = {"approved": left.approved, "by": left.decided_by, "at": decided_at, "way": left.way}
    return {
        "id": left.id,
        "thread_id": left.thread_id,
        "agent": left.agent,
        "tool": left.tool,
        "source": left.source,
        "state": left.state,
        "decision": None if left.approved is None else decision,
        "asked_at": iso(left.asked_at),
        "deleted_at": iso(left.deleted_at),
        "arguments_sha256": left.arguments_digest,
        "result_sha256": left.output_digest,
    }


def listed_view(approval: Approval, agents: Agents) -> dict[str, Any]:
    """Returns a record in a list that is asked for often: of a long result its beginning."""
    view = approval_view(approval, agents)
    result = view["result"]
    return view if result is None or len(result) <= MAX_LISTED else view | {"result": f"{result[:MAX_LISTED]}…"}


def thread_view(thread: Thread, agents: Agents) -> dict[str, Any]:
    """Returns a thread's snapshot. Overdue approvals count as expired, whether or not the store has noticed yet."""
    approvals = [with_result(approval) for approval in thread.approvals]
    pending = [a for a in approvals if a.waits_at(thread.now)]
    agent = agents.get(thread.agent)
    return {
        "id": thread.id,
        "agent": thread.agent,
        "title": thread.title,
        "created_at": iso(thread.created_at),
        "updated_at": iso(thread.updated_at),
        "archived": thread.archived,
        "run": {"key": thread.run_key, "status": thread.run_status} if thread.run_key else None,
        "messages": agui_messages(thread.entries, approvals),
        "state": agent.shown_state(thread.state) if agent else {} if thread.state is None else thread.state,
        "approvals": [approval_view(approval, agents) for approval in pending],
        "calls": [approval_view(approval, agents) for approval in approvals],
        "window": window_view(thread.entries),
    }


def window_view(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Returns what the model was sent last of the conversation, if that was less than all of it (`Agent(history=…)`).

    ``from`` and ``then`` are ids of messages.
    """
    windows = (entry for entry in reversed(entries) if isinstance(entry, WindowEntry) and not entry.task)
    window = next(windows, None)
    if window is None or not window.start:
        return None
    turns = (entry for entry in reversed(entries) if isinstance(entry, TurnEntry) and entry.id == window.then)
    then = next((turn.parts[0] for turn in turns if turn.parts), None)
    shown = then.parent_id if isinstance(then, CallPart) else then.id if then else None
    return {"from": window.start, "then": shown, "summary": window.summary or None}


async def thread_response(
    thread: Thread, agents: Agents, reservation: Reservation, more: Mapping[str, Any] | None = None
) -> Response:
    """`thread_view`, and ``more`` members, as a JSON answer. A long thread keeps nobody waiting but who asks for it."""
    return await large_response(thread, reservation, _thread_json, thread, agents, more or {})


async def large_response(
    thread: Thread, reservation: Reservation, made: Callable[P, bytes], *args: P.args, **more: P.kwargs
) -> Response:
    """Returns what is ``made`` of a thread, as a JSON answer. It is made off the loop where the thread is long."""
    body = await if_large(heaviness(thread), made, *args, **more)
    return LargeResponse(body, media_type="application/json", reservation=reservation)


class LargeResponse(Response):
    """Sent in pieces, so that what a client doesn't take is here once, not twice. ``reservation`` ends with it."""

    def __init__(self, content: bytes, *, media_type: str, reservation: Reservation) -> None:
        super().__init__(content, media_type=media_type)
        self._reservation = reservation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the answer."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            body = memoryview(self.body)
            for start in range(0, len(body), PIECE):
                await send(
                    {"type": "http.response.body", "body": bytes(body[start : start + PIECE]), "more_body": True}
                )
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._reservation.release()


def _thread_json(thread: Thread, agents: Agents, more: Mapping[str, Any]) -> bytes:
    view = {**thread_view(thread, agents), **more}
    return msgspec.json.encode({**view, "messages": json_list(view["messages"])})


def calls_view(calls: Calls, agents: Agents) -> dict[str, Any]:
    """Returns a thread without what was said: what a page asks for again and again, to see what was decided
    elsewhere.
    """
    return {**head_view(calls.head), "calls": [listed_view(approval, agents) for approval in calls.approvals]}


def head_view(head: ThreadHead) -> dict[str, Any]:
    """Returns a thread as lists show it. ``pending``: number of approvals that wait."""
    return {
        "id": head.id,
        "agent": head.agent,
        "title": head.title,
        "created_at": iso(head.created_at),
        "updated_at": iso(head.updated_at),
        "archived": head.archived,
        "run": {"key": head.run_key, "status": head.run_status} if head.run_key else None,
        "pending": head.pending,
    }
