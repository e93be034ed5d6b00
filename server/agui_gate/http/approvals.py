"""Routes that list, show and decide approvals: always those of the principal who asks, and of nobody else."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from agui_gate.core.answers import Way
from agui_gate.core.approvals import Approval
from agui_gate.errors import ApprovalRefused, ArgumentsChanged, Forbidden, Gone, InvalidRequest, NotFound
from agui_gate.extra_loader import load
from agui_gate.http.approval_cards import card_views, number_fitting
from agui_gate.http.approval_lists import read_records, what_is_left
from agui_gate.http.auth import caller_of
from agui_gate.http.request_body import json_value
from agui_gate.http.server import HttpServer
from agui_gate.http.threads import limit_of
from agui_gate.http.views import (
    approval_view,
    compressed,
    json_response,
    listed_view,
    with_freezes,
    with_people,
)
from agui_gate.protocol.late_answers import already
from agui_gate.protocol.run_input import check_id
from agui_gate.stores.base import ApprovalPage, Which

if TYPE_CHECKING:
    from agui_gate.approvals.out_of_band import Decided
    from agui_gate.core.principals import By


class ApprovalRoutes:
    """Handlers over one server. An approval that never was and one of another principal are the same 404."""

    def __init__(self, server: HttpServer) -> None:
        self._server, self._engine, self._guard = server, server.engine, server.guard

    async def page(self, request: Request) -> Response:
        """`GET /approvals?state=&limit=&cursor=&view=`: what waits, oldest first; anything else newest first."""
        principal = await self._guard.principal(request)
        query = request.query_params
        which, limit, cursor = _which(query), limit_of(query), query.get("cursor") or None
        is_cards = _is_cards(query)
        await self._engine.start()
        if "id" in query:
            return await read_records(self, self._engine, request, principal, is_cards)
        list_approvals = partial(self._list_approvals, request, principal, cursor=cursor, which=which)
        page = await list_approvals(limit=limit)
        if is_cards:
            approvals = await self.cards(request, principal, page.approvals)
            if (number := number_fitting(approvals)) < len(approvals):
                page, approvals = await list_approvals(limit=number), approvals[:number]
        else:
            approvals = [listed_view(approval, self._engine.members) for approval in page.approvals]
        approvals = await with_freezes(self._engine.store, page.approvals, approvals)
        return await compressed(request, json_response({"approvals": approvals, "next_cursor": page.next_cursor}))

    async def _list_approvals(
        self, request: Request, principal: str, *, limit: int, cursor: str | None, which: Which
    ) -> ApprovalPage:
        """Returns a page: of the owner's, and behind those what this principal may decide of others'."""
        store, by = self._engine.store, caller_of(request)
        if by is None or which != "pending":
            return await store.list_approvals(principal, limit=limit, cursor=cursor, which=which)
        people = load("people.approvers")
        in_emergency = _in_emergency(request.query_params, by)
        own = ApprovalPage([], None)
        if cursor is None or not _of_others(cursor, people.PREFIX):
            own = await store.list_approvals(principal, limit=limit, cursor=cursor, which=which)
            cursor = None
            if own.next_cursor is not None or len(own.approvals) >= limit:
                return own if own.next_cursor else ApprovalPage(own.approvals, f"{people.PREFIX}0")
        room = limit - len(own.approvals)
        more, after = await people.waiting(
            store, self._engine.members, by, principal, limit=room, cursor=cursor, in_emergency=in_emergency
        )
        return ApprovalPage([*own.approvals, *more], after)

    async def cards(self, request: Request, principal: str, approvals: list[Approval]) -> list[dict[str, Any]]:
        """Returns what cards show of ``approvals``: this principal's, or such as they may decide."""
        store, agents = self._engine.store, self._engine.members
        views = await card_views(store, agents, approvals, principal)
        return await with_people(views, approvals, store, agents, caller_of(request))

    async def show(self, request: Request) -> Response:
        """`GET /approvals/{id}?view=`: its record. Of one whose thread was deleted: 410, with what is kept."""
        principal = await self._guard.principal(request)
        is_card = _is_cards(request.query_params)
        approval_id: str = request.path_params["id"]
        check_id(approval_id, "id")
        await self._engine.start()
        approval = await self.find(request, principal, approval_id)
        if approval is None:
            return await self._what_is_left(principal, approval_id)
        whole = approval_view(approval, self._engine.members)
        view = (await self.cards(request, principal, [approval]))[0] if is_card else whole
        views = await with_freezes(self._engine.store, [approval], [view])
        return json_response(views[0])

    async def find(self, request: Request, principal: str, approval_id: str) -> Approval | None:
        """Returns a call of this principal's, or one of somebody else's that they may decide; None if there is none."""
        store = self._engine.store
        approval = await store.approval(principal, approval_id)
        if approval is None and (by := caller_of(request)) is not None:
            approval = await load("people.approvers").find(store, self._engine.members, by, approval_id)
        return approval

    async def _what_is_left(self, principal: str, approval_id: str) -> Response:
        """410 with what is kept of a call whose thread was deleted. Raises `NotFound` where nothing is."""
        record = await what_is_left(self._engine.store, principal, approval_id)
        if record is None:
            raise NotFound("There is no such approval.")
        message = "Its thread was deleted. `record` contains what remains of it."
        return json_response({"error": {"code": Gone.code, "message": message, "record": record}}, 410)

    async def decide(self, request: Request) -> Response:
        """`POST /approvals/{id}`. Already decided: 409 with the record. Said of arguments that were edited since: 422
        with the record, as it would run now.
        """
        principal = await self._guard.principal(request)
        payload = await json_value(await self._server.body(request))
        way, go_on, approval_id = _way(payload), _go_on(payload), request.path_params["id"]
        await self._engine.start()
        try:
            decided = await self._engine.decide(
                principal, approval_id, payload, way=way, go_on=go_on, by=caller_of(request)
            )
        except ArgumentsChanged as refused:
            if (asked := await self.find(request, principal, approval_id)) is None:
                raise
            record = approval_view(asked, self._engine.members)
            error = {"code": refused.code, "message": refused.message, "record": record}
            return json_response({"error": error}, refused.status)
        return self._answer(decided, go_on)

    def _answer(self, decided: "Decided", go_on: bool) -> Response:
        record = decided.record
        view: dict[str, Any] = {"id": record.id, "state": str(record.state.public)}
        if record.output is not None:
            view["result"] = record.output.content
        if decided.ours and record.decision is not None and record.decision.grant:
            view["grant"] = record.decision.grant
        if not decided.ours:
            error = {
                "code": ApprovalRefused.code,
                "message": already(record, self._engine.store.now()),
                "record": approval_view(record, self._engine.members),
            }
            return json_response({"error": error, **view}, 409)
        if record.is_begun and not decided.run_key:
            view["message"] = "The task begins with the thread's next run."
        if go_on:
            view["run"] = {"key": decided.run_key} if decided.run_key else None
        if decided.not_continued:
            view["not_continued"] = decided.not_continued
        return json_response(view)


def _which(query: QueryParams) -> Which:
    state = query.get("state", "pending")
    if state not in get_args(Which):
        raise InvalidRequest(f"state must be one of: {', '.join(get_args(Which))}.", well_formed=True)
    return cast(Which, state)


def _of_others(cursor: str, prefix: str) -> bool:
    """Returns whether a cursor is of the part of a list that has others' calls. Raises `InvalidRequest`."""
    if not cursor.startswith(prefix):
        return False
    place = cursor.removeprefix(prefix)
    if not (place.isascii() and place.isdigit() and len(place) <= 18):
        raise InvalidRequest("cursor is not one of this list.", well_formed=True)
    return True


def _is_cards(query: QueryParams) -> bool:
    view = query.get("view", "all")
    if view not in ("all", "card"):
        raise InvalidRequest("view must be all or card.", well_formed=True)
    return view == "card"


def _in_emergency(query: QueryParams, by: "By") -> bool:
    """Returns whether calls are asked for that may be decided in an emergency. Raises `InvalidRequest`, `Forbidden`."""
    said = query.get("break_glass", "false")
    if said not in ("true", "false"):
        raise InvalidRequest("break_glass must be true or false.", well_formed=True)
    if said == "true" and not load("people.approvers").may_break_glass(by):
        raise Forbidden("Breaking the glass needs the role break-glass.")
    return said == "true"


def _way(payload: Any) -> Way:
    """Returns the way in which the decision says it was made.

    Only what can't be told apart here may be said: no answer in a run.
    """
    way = payload.get("way", "http") if isinstance(payload, dict) else "http"
    if way not in ("http", "shell"):
        raise InvalidRequest("Not a decision: 'way' must be http or shell.", well_formed=True)
    return cast(Way, way)


def _go_on(payload: Any) -> bool:
    go_on = payload.get("continue", False) if isinstance(payload, dict) else False
    if not isinstance(go_on, bool):
        raise InvalidRequest("Not a decision: 'continue' must be true or false.", well_formed=True)
    return go_on
