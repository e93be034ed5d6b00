"""The HTTP routes: `/v1/responses`, `/v1/models`, and the emulator's own control routes.

Thin: every rule is elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agui_gate_adapters.testkit import conversations
from agui_gate_adapters.testkit.engine import Emulator
from agui_gate_adapters.testkit.faults import Reply
from agui_gate_adapters.testkit.script import ScriptError
from agui_gate_adapters.testkit.streaming import ExchangeResponse
from agui_gate_adapters.testkit.views import page
from agui_gate_adapters.testkit.violations import Refused, Violation
from agui_gate_adapters.testkit.wire import Json, decode, encode, sse_frame

__all__ = ["create_app"]

Handler = Callable[[Emulator, Request], Awaitable[Any]]


def create_app(emulator: Emulator) -> ASGIApp:
    """Return the ASGI application that serves this emulator."""
    return Starlette(routes=[*_api_routes(emulator), *_control_routes(emulator)])


def _api_routes(emulator: Emulator) -> list[Route]:
    def route(path: str, method: str, handler: Handler) -> Route:
        return Route(f"/v1{path}", _guarded(emulator, handler), methods=[method])

    return [
        route("/responses", "POST", _create),
        route("/responses/{id}", "GET", _retrieve),
        route("/responses/{id}", "DELETE", _delete),
        route("/responses/{id}/cancel", "POST", _cancel),
        route("/responses/{id}/input_items", "GET", _input_items),
        route("/models", "GET", _models),
        route("/models/{id}", "GET", _model),
        *(route(path, method, handler) for path, method, handler in conversations.ROUTES),
    ]


def _guarded(emulator: Emulator, handler: Handler) -> Callable[[Request], Awaitable[Any]]:
    """Authorize, run, and turn a `Refused` into its recorded HTTP answer."""

    async def endpoint(request: Request) -> Any:
        try:
            emulator.authorize(request.headers.get("authorization"))
            answer = await handler(emulator, request)
        except Refused as refused:
            answer = emulator.refuse(request.method, request.url.path, refused.violation)
        return _plain(answer) if isinstance(answer, Reply) else answer

    return endpoint


def _plain(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


def _json(value: object, status: int = 200) -> Reply:
    return Reply(status, encode(value))


# -- responses ---------------------------------------------------------------------------------------------------


async def _create(emulator: Emulator, request: Request) -> Any:
    answer = emulator.create(await request.body())
    return answer if isinstance(answer, Reply) else ExchangeResponse(emulator, answer)


async def _retrieve(emulator: Emulator, request: Request) -> Any:
    response_id = request.path_params["id"]
    if request.query_params.get("stream") != "true":
        return _json(emulator.retrieve(response_id))
    after = request.query_params.get("starting_after", "-1")
    events = emulator.replay(response_id, int(after) if after.lstrip("-").isdigit() else -1)
    return Response(b"".join(map(sse_frame, events)), media_type="text/event-stream")


async def _delete(emulator: Emulator, request: Request) -> Reply:
    return _json(emulator.delete(request.path_params["id"]))


async def _cancel(emulator: Emulator, request: Request) -> Reply:
    return _json(emulator.cancel(request.path_params["id"]))


async def _input_items(emulator: Emulator, request: Request) -> Reply:
    response_id = request.path_params["id"]
    emulator.retrieve(response_id, advance=False)
    return _json(page(emulator.state.responses[response_id].input, **conversations.paging(request)))


def _model_view(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "emulator"}


async def _models(emulator: Emulator, _request: Request) -> Reply:
    names = sorted(emulator.models or ("gpt-5.4-mini",))
    return _json({"object": "list", "data": [_model_view(name) for name in names]})


async def _model(_emulator: Emulator, request: Request) -> Reply:
    return _json(_model_view(request.path_params["id"]))


# -- control -----------------------------------------------------------------------------------------------------


def _control_routes(emulator: Emulator) -> list[Route]:
    async def journal(_request: Request) -> Response:
        entries = emulator.journal.entries
        refused = sum(not entry.accepted for entry in entries)
        return _plain(_json({"entries": entries, "accepted": len(entries) - refused, "refused": refused}))

    async def reset(_request: Request) -> Response:
        emulator.reset()
        return _plain(_json({"ok": True}))

    async def script(request: Request) -> Response:
        try:
            emulator.load(await request.body())
        except ScriptError as error:
            violation = Violation("script", 400, str(error), None, "emulator_script_invalid")
            return _plain(_json(violation.body, 400))
        return _plain(_json({"turns": emulator.remaining_turns}))

    async def clock(request: Request) -> Response:
        try:
            seconds = float(decode(await request.body())["advance"])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            violation = Violation("clock", 400, 'Send {"advance": seconds}.', "advance", "invalid_value")
            return _plain(_json(violation.body, 400))
        emulator.state.clock.advance(seconds)
        return _plain(_json({"now": emulator.state.clock.now()}))

    return [
        Route("/emulator/journal", journal, methods=["GET"]),
        Route("/emulator/reset", reset, methods=["POST"]),
        Route("/emulator/script", script, methods=["PUT"]),
        Route("/emulator/clock", clock, methods=["POST"]),
    ]
