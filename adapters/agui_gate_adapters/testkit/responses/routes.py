"""What `/v1/responses` offers besides creating: retrieving, replaying, deleting, cancelling, listing the input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agui_gate_adapters.testkit.faults import Reply
from agui_gate_adapters.testkit.openai.violations import no_such_route
from agui_gate_adapters.testkit.responses.api import Responses
from agui_gate_adapters.testkit.responses.conversations import paging
from agui_gate_adapters.testkit.responses.views import page
from agui_gate_adapters.testkit.violations import Refused
from agui_gate_adapters.testkit.wire import encode, sse_frame

__all__ = ["ROUTES"]


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
)
