"""Routes that list, show, change, stop and delete threads: those of the principal who asks, and of nobody else."""

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from agui_gate.core.approvals import Approval
from agui_gate.errors import InvalidRequest, NotFound
from agui_gate.http.auth import caller_of
from agui_gate.http.request_body import json_body
from agui_gate.http.server import HttpServer
from agui_gate.http.views import (
    approval_view,
    calls_view,
    compressed,
    head_view,
    json_response,
    thread_response,
    unless_known,
    with_freezes,
    with_people,
)
from agui_gate.protocol.request_decoder import decode_json
from agui_gate.protocol.run_input import check_id
from agui_gate.runs.stop_and_delete import Ended

MAX_PAGE = 100
PAGE = 50
MAX_TITLE = 200
"""Characters."""
MAX_CHANGES = 64 * 1024
"""Bytes of a change."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FLAGS = {"true": True, "false": False}


class _Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `PATCH /threads/{thread_id}`. A title of null removes it: the next run gives the thread another."""

    title: str | None | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET


class ThreadRoutes:
    """Handlers over one server. A thread that never was and one of another principal are the same 404."""

    def __init__(self, server: HttpServer) -> None:
        self._server, self._engine, self._guard = server, server.engine, server.guard

    async def page(self, request: Request) -> Response:
        """`GET /threads?limit=&cursor=&archived=`, newest first."""
        principal = await self._guard.principal(request)
        query = request.query_params
        limit, archived, cursor = limit_of(query), _archived(query), query.get("cursor") or None
        await self._engine.start()
        page = await self._engine.store.list_threads(principal, limit=limit, cursor=cursor, archived=archived)
        return json_response({"threads": [head_view(head) for head in page.threads], "next_cursor": page.next_cursor})

    async def show(self, request: Request) -> Response:
        """`GET /threads/{thread_id}`; ``?view=calls``: without its messages and state, which makes it cheap."""
        principal, thread_id = await self._named(request)
        if _view(request.query_params) == "calls":
            return await self._show_calls(request, principal, thread_id)
        found = await self._engine.read_thread(principal, thread_id)
        if found is None:
            raise _missing()
        thread, reservation = found
        meter = next((one for one in self._engine.extensions.all if hasattr(one, "usage_of")), None)
        more = {} if meter is None else {"usage": await cast(Any, meter).usage_of(thread)}
        if any(approval.is_pending for approval in thread.approvals):
            views = [approval_view(approval, self._engine.members) for approval in thread.approvals]
            more["calls"] = await self._as_read(request, views, thread.approvals)
        return await compressed(request, await thread_response(thread, self._engine.members, reservation, more))

    async def _show_calls(self, request: Request, principal: str, thread_id: str) -> Response:
        calls = await self._engine.store.read_calls(principal, thread_id)
        if calls is None:
            raise _missing()
        view = calls_view(calls, self._engine.members)
        view["calls"] = await self._as_read(request, view["calls"], calls.approvals)
        return await compressed(request, unless_known(request, json_response(view)))

    async def _as_read(
        self, request: Request, views: list[dict[str, Any]], approvals: Sequence[Approval]
    ) -> list[dict[str, Any]]:
        store = self._engine.store
        views = await with_people(views, approvals, store, self._engine.members, caller_of(request))
        return await with_freezes(store, approvals, views)

    async def change(self, request: Request) -> Response:
        """`PATCH /threads/{thread_id}`: its title, and whether it is archived. Possible while it runs."""
        principal, thread_id = await self._named(request)
        changes = _changes(await json_body(request, min(self._server.max_body, MAX_CHANGES)))
        head = await self._engine.store.update_thread(
            principal, thread_id, title=changes.title, archived=changes.archived
        )
        if head is None:
            raise _missing()
        return json_response(head_view(head))

    async def delete(self, request: Request) -> Response:
        """`DELETE /threads/{thread_id}`: stops its run; waits for an approved call at work, or answers 409."""
        principal, thread_id = await self._named(request)
        if not await self._engine.delete_thread(principal, thread_id):
            raise _missing()
        return json_response({"id": thread_id, "deleted": True})

    async def cancel(self, request: Request) -> Response:
        """`POST /threads/{thread_id}/cancel`: stop the thread's run. Stopping what is over is a no-op that says so."""
        match await self._engine.cancel(*await self._named(request)):
            case Ended.STOPPED:
                return json_response({"cancelled": True})
            case Ended.MISSING:
                raise _missing()
            case Ended.GOING:
                return json_response(
                    {"cancelled": False, "message": "The run was asked to stop and has not ended yet."}
                )
            case Ended.IDLE:
                return json_response({"cancelled": False, "message": "No run of this thread is active."})

    async def _named(self, request: Request) -> tuple[str, str]:
        """Returns the principal who asks, and the thread's id; the engine is started."""
        principal = await self._guard.principal(request)
        thread_id: str = request.path_params["id"]
        check_id(thread_id, "thread_id")
        await self._engine.start()
        return principal, thread_id


def limit_of(query: QueryParams) -> int:
    """Returns how long a page of a list is to be. Raises `InvalidRequest`."""
    text = query.get("limit", str(PAGE))
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 0 < int(text) <= MAX_PAGE):
        raise InvalidRequest(f"limit must be a number from 1 to {MAX_PAGE}.", well_formed=True)
    return int(text)


def _view(query: QueryParams) -> str:
    view = query.get("view", "all")
    if view not in ("all", "calls"):
        raise InvalidRequest("view must be all or calls.", well_formed=True)
    return view


def _archived(query: QueryParams) -> bool:
    flag = _FLAGS.get(query.get("archived", "false"))
    if flag is None:
        raise InvalidRequest("archived must be true or false.", well_formed=True)
    return flag


def _changes(body: bytes) -> _Changes:
    try:
        changes = msgspec.convert(decode_json(body), _Changes)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Invalid change of a thread: {error}", well_formed=True) from None
    if not isinstance(changes.title, str):
        return changes
    return msgspec.structs.replace(changes, title=checked_title(changes.title))


def checked_title(text: str) -> str:
    """Returns a title as it is stored, its white space joined. Raises `InvalidRequest` for what can't be one."""
    title = " ".join(text.split())
    if not 0 < len(title) <= MAX_TITLE or _CONTROL.search(title):
        raise InvalidRequest(
            f"title must have 1 to {MAX_TITLE} characters and no control characters.", well_formed=True
        )
    return title


def _missing() -> NotFound:
    return NotFound("There is no such thread.")
