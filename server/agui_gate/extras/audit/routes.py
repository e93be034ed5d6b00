"""`GET /audit`: the audit trail for people. Auditors and operators read their tenant's, others the part that is theirs.

What is theirs: the calls of their owner, and what they did themselves. Of a call that they decided, they may ask for
all that happened to it. A call of somebody else's is the same empty list as none.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from agui_gate.core.principals import By, tenant_of
from agui_gate.errors import InvalidRequest, NotFound
from agui_gate.extras.audit.entries import END, NAMES, Trail, read_wanted
from agui_gate.extras.audit.forms import TYPES, Form, accepted, lines, rows
from agui_gate.extras.page.assets import HEADERS, PageFiles
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.server import HttpServer
from agui_gate.http.threads import limit_of
from agui_gate.http.views import json_response
from agui_gate.stores.audit import Link, Part, TrailEntry

FILES = Path(__file__).parent / "files"
PRIVATE = {"cache-control": "no-store", "vary": "Accept", "x-content-type-options": "nosniff"}


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the routes."""
    return [Route("/audit", AuditRoute(server).show), Mount("/audit/files", PageFiles(directory=FILES))]


class AuditRoute:
    """The handler, over one server."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._store: Any = server.store

    async def show(self, request: Request) -> Response:
        """`GET /audit?format=&limit=&cursor=` and filters. A browser gets the page, which has no data, and asks
        again.
        """
        form = _form(request)
        if form == "html":
            return FileResponse(FILES / "audit.html", headers={**HEADERS, "vary": "Accept"})
        owner = await self._server.principal(request)
        query = request.query_params
        wanted, limit = read_wanted(query), limit_of(query)
        if unknown := set(query) - {*NAMES, "format", "limit", "cursor"}:
            raise InvalidRequest(f"There is no filter {min(unknown)!r}.", well_formed=True)
        if not hasattr(self._store, "trail"):
            raise NotFound("This store has no audit trail.")
        by = caller_of(request)
        sees_all = by is not None and bool({"auditor", "operator"} & rights_of(by.principal))
        parts = await self._parts(owner, by, wanted.approval, sees_all)
        trail = Trail(self._store, parts, wanted, self._server.record, sees_all=sees_all)
        if form != "json":
            entries = trail.all() if "limit" not in query else _some(trail, limit, _place(query.get("cursor")))
            body = lines(entries) if form == "jsonl" else rows(entries)
            named = {"content-disposition": f'attachment; filename="audit.{form}"'}
            return StreamingResponse(body, headers=PRIVATE | named, media_type=TYPES[form])
        found, after = await trail.page(limit, _place(query.get("cursor")))
        response = json_response({"entries": found, "next_cursor": None if after is None else _cursor(after)})
        response.headers.update(PRIVATE)
        return response

    async def _parts(self, owner: str, by: By, approval_id: str, sees_all: bool) -> tuple[Part, ...]:
        """Returns the parts of the trail that somebody may read."""
        tenant, me = tenant_of(owner), owner if by is None else by.principal.id
        if not approval_id:
            own = (Part(owner=owner), Part(tenant=tenant, by=me))
            return (Part(tenant=tenant),) if sees_all else own
        part = Part(approval_id=approval_id)
        found = await self._store.trail.read(part, END, 1)
        if not found or tenant_of(found[0].event.principal) != tenant:
            return ()
        if sees_all or found[0].event.principal == owner or await self._did(part, me):
            return (part,)
        return ()

    async def _did(self, part: Part, me: str) -> bool:
        """Returns whether somebody did anything to a call."""
        before: Link | None = END
        while before is not None:
            found: list[TrailEntry] = await self._store.trail.read(part, before, 100)
            if any(one.event.by == me for one in found):
                return True
            before = found[-1].link if found else None
        return False


async def _some(trail: Trail, limit: int, before: Link) -> AsyncIterator[dict[str, Any]]:
    for entry in (await trail.page(limit, before))[0]:
        yield entry


def _form(request: Request) -> Form:
    named = request.query_params.get("format")
    if named is None:
        return accepted(request.headers.get("accept", ""))
    if named not in ("json", "jsonl", "csv", "html"):
        raise InvalidRequest("format must be one of: json, jsonl, csv, html.", well_formed=True)
    return named  # type: ignore[return-value]  # as was checked


def _cursor(link: Link) -> str:
    return f"{link.at}.{link.thread}.{link.seq}"


def _place(cursor: str | None) -> Link:
    """Returns the place that a cursor names. Raises `InvalidRequest`."""
    if not cursor:
        return END
    parts = cursor.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 19 for part in parts):
        raise InvalidRequest("The cursor does not belong to this list. Start again without it.", well_formed=True)
    return Link(*(min(int(part), bound) for part, bound in zip(parts, msgspec.structs.astuple(END), strict=True)))
