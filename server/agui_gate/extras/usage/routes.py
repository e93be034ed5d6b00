"""`GET /usage`: what the models of a principal have used; for operators, those of its tenant."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.concurrency import off_loop
from agui_gate.core.principals import tenant_of
from agui_gate.errors import InvalidRequest
from agui_gate.extension import Server
from agui_gate.extras.people.rights import rights_of
from agui_gate.extras.usage.report import as_csv, usage_report, wanted
from agui_gate.http.auth import caller_of
from agui_gate.http.views import json_response
from agui_gate.stores.sql.usage import UsageLedger

FILTERS = ("principal", "agent", "provider", "model", "thread")
PARAMETERS = frozenset({"by", "since", "until", "format", *FILTERS})


def routes(server: Server, ledger: UsageLedger) -> Sequence[BaseRoute]:
    """Returns the route."""
    return [Route("/usage", UsageRoute(server, ledger).show)]


class UsageRoute:
    """The handler over one server."""

    def __init__(self, server: Server, ledger: UsageLedger) -> None:
        self._server, self._ledger = server, ledger

    async def show(self, request: Request) -> Response:
        """`GET /usage?by=&since=&until=&principal=&agent=&provider=&model=&thread=&format=`."""
        owner = await self._server.principal(request)
        by, query = caller_of(request), request.query_params
        if unknown := sorted(set(query) - PARAMETERS):
            raise InvalidRequest(f"There is no parameter {unknown[0][:50]!r} here.", well_formed=True)
        form = query.get("format", "json")
        if form not in ("json", "csv"):
            raise InvalidRequest("format must be json or csv.", well_formed=True)
        only = {name: query.get(name) for name in FILTERS}
        now = self._server.store.now()
        asked = wanted(query.get("by", ""), query.get("since", ""), query.get("until", ""), only, now)
        is_operator = by is not None and "operator" in rights_of(by.principal)
        whose = ("of_tenant", [tenant_of(owner)]) if is_operator else ("owner", [owner])
        report: dict[str, Any] = await usage_report(self._ledger, asked, *whose)
        if form == "json":
            return json_response(report)
        headers = {"content-disposition": 'attachment; filename="usage.csv"'}
        return Response(await off_loop(as_csv, report), media_type="text/csv; charset=utf-8", headers=headers)
