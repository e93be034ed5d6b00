"""The routes of the Responses API besides creating, and of the Conversations API.

Items that are added to a conversation by hand get the shape checks and the duplicate check, but not the pairing rules.
This is the way to repair a conversation in which a call was left without its output.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from agui_gate_adapters.testkit.faults import Refused, Reply, Violation
from agui_gate_adapters.testkit.kinds import KINDS, kind_of
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.violations import no_such_route
from agui_gate_adapters.testkit.responses import violations as sv
from agui_gate_adapters.testkit.responses.api import Responses
from agui_gate_adapters.testkit.responses.checks import check_duplicates
from agui_gate_adapters.testkit.responses.item_checks import check_items
from agui_gate_adapters.testkit.responses.state import Conversation, conversation_view, item_view, page
from agui_gate_adapters.testkit.wire import Json, decode, encode, sse_frame

_MAX_ITEMS: Final = 20
"""How many items one request may add."""


def paging(request: Request) -> Any:
    """Return `after`, `limit` and `order` of a list request. Raises `Refused` for a limit outside 1..100."""
    query = request.query_params
    text = query.get("limit", "20")
    limit = int(text) if text.isdigit() else 0
    if limit < 1:
        raise Refused(v.out_of_bounds("limit", "integer", "min", 1, limit))
    if limit > 100:
        raise Refused(v.out_of_bounds("limit", "integer", "max", 100, limit))
    return {"after": query.get("after"), "limit": limit, "order": query.get("order", "desc")}


def _found(api: Responses, request: Request) -> Conversation:
    """Finds the conversation that a request names. Raises `Refused` if there is none."""
    conversation_id = request.path_params["id"]
    found = api.state.conversations.get(conversation_id)
    if found is None:
        raise Refused(sv.conversation_not_found(conversation_id, None))
    return found


def _item(conversation: Conversation, item_id: str) -> Json:
    for item in conversation.items:
        if item["id"] == item_id:
            return item
    raise Refused(Violation("R9", 404, f"Item with id '{item_id}' not found."))


async def _body(request: Request) -> Json:
    raw = await request.body()
    try:
        body = decode(raw) if raw else {}
    except msgspec.DecodeError:
        body = None
    if not isinstance(body, dict):
        raise Refused(v.bad_json())
    return body


def _add(api: Responses, conversation: Conversation, given: object) -> list[Json]:
    """Check the items and append them; raises `Refused` and appends nothing if one is wrong."""
    if not isinstance(given, list):
        raise Refused(v.missing("items"))
    if len(given) > _MAX_ITEMS:
        raise Refused(v.too_many_items("items", _MAX_ITEMS, len(given)))
    for violation in check_items(given, api.profile, root="items"):
        raise Refused(violation)
    for violation in check_duplicates(conversation.items, given):
        raise Refused(violation)
    added = [
        item if item.get("id") else {**item, "id": api.state.mint(f"{KINDS[kind_of(item)].id_prefix}_")}
        for item in given
    ]
    conversation.items.extend(added)
    api.state.remember_input(added, stored=True)
    return added


async def _create_conversation(api: Responses, request: Request) -> Reply:
    if api.profile.continuation != "kept":
        raise Refused(sv.no_conversations())
    body, state = await _body(request), api.state
    conversation = Conversation(state.mint("conv_"), state.clock.now(), body.get("metadata") or {}, [])
    _add(api, conversation, body.get("items") or [])
    state.conversations[conversation.id] = conversation
    return Reply(200, encode(conversation_view(conversation)))


async def _retrieve_conversation(api: Responses, request: Request) -> Reply:
    return Reply(200, encode(conversation_view(_found(api, request))))


async def _update_conversation(api: Responses, request: Request) -> Reply:
    conversation = _found(api, request)
    conversation.metadata = (await _body(request)).get("metadata") or {}
    return Reply(200, encode(conversation_view(conversation)))


async def _delete_conversation(api: Responses, request: Request) -> Reply:
    conversation = _found(api, request)
    del api.state.conversations[conversation.id]
    return Reply(200, encode({"id": conversation.id, "object": "conversation.deleted", "deleted": True}))


async def _list_items(api: Responses, request: Request) -> Reply:
    return Reply(200, encode(page(_found(api, request).items, **paging(request))))


async def _create_items(api: Responses, request: Request) -> Reply:
    conversation, body = _found(api, request), await _body(request)
    if conversation.locked_by is not None:
        raise Refused(v.conversation_locked())
    added = _add(api, conversation, body.get("items"))
    return Reply(200, encode(page(added, limit=_MAX_ITEMS, order="asc")))


async def _retrieve_item(api: Responses, request: Request) -> Reply:
    return Reply(200, encode(item_view(_item(_found(api, request), request.path_params["item"]))))


async def _delete_item(api: Responses, request: Request) -> Reply:
    conversation = _found(api, request)
    if conversation.locked_by is not None:
        raise Refused(v.conversation_locked())
    item = _item(conversation, request.path_params["item"])
    conversation.items.remove(item)
    api.state.drop_item(item["id"])
    return Reply(200, encode(conversation_view(conversation)))


async def _retrieve(api: Responses, request: Request) -> Any:
    response_id = request.path_params["id"]
    if request.query_params.get("stream") != "true":
        return _reply(api.retrieve(response_id))
    after = request.query_params.get("starting_after", "-1")
    events = api.replay(response_id, int(after) if after.lstrip("-").isdigit() else -1)
    return Response(b"".join(map(sse_frame, events)), media_type="text/event-stream")


async def _compact(api: Responses, request: Request) -> Reply:
    raise Refused(no_such_route("POST", request.url.path))


async def _delete(api: Responses, request: Request) -> Reply:
    return _reply(api.delete(request.path_params["id"]))


async def _cancel(api: Responses, request: Request) -> Reply:
    return _reply(api.cancel(request.path_params["id"]))


async def _input_items(api: Responses, request: Request) -> Reply:
    response_id = request.path_params["id"]
    api.retrieve(response_id, advance=False)
    return _reply(page(api.state.responses[response_id].input, **paging(request)))


def _reply(value: object) -> Reply:
    return Reply(200, encode(value))


ROUTES: Final[tuple[tuple[str, str, Callable[[Responses, Request], Awaitable[Any]]], ...]] = (
    ("/responses/compact", "POST", _compact),
    ("/responses/{id}", "GET", _retrieve),
    ("/responses/{id}", "DELETE", _delete),
    ("/responses/{id}/cancel", "POST", _cancel),
    ("/responses/{id}/input_items", "GET", _input_items),
    ("/conversations", "POST", _create_conversation),
    ("/conversations/{id}", "GET", _retrieve_conversation),
    ("/conversations/{id}", "POST", _update_conversation),
    ("/conversations/{id}", "DELETE", _delete_conversation),
    ("/conversations/{id}/items", "GET", _list_items),
    ("/conversations/{id}/items", "POST", _create_items),
    ("/conversations/{id}/items/{item}", "GET", _retrieve_item),
    ("/conversations/{id}/items/{item}", "DELETE", _delete_item),
)
