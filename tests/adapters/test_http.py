"""The transport without a vendor's SDK: errors by status and words, ids in paths, and nothing it should not do."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agui_gate.adapter import TRACE_HEADERS
from agui_gate.errors import ConfigurationError
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure
from agui_gate_adapters.common.http import Http
from agui_gate_adapters.testkit.agui import serving

pytestmark = pytest.mark.anyio

API = Api("Ferry API", "FERRY_API_KEY")


@asynccontextmanager
async def ferry(answer: Any) -> AsyncIterator[tuple[Http, list[Request]]]:
    seen: list[Request] = []

    async def endpoint(request: Request) -> Response:
        await request.body()
        seen.append(request)
        told: Response = answer if isinstance(answer, Response) else answer()
        return told

    app = Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST", "DELETE"])])
    async with serving(app) as url:
        http = Http(API, base_url=f"{url}/v1/", headers={"x-ferry-key": "k"}, said=said, describes=("models", "m"))
        try:
            yield http, seen
        finally:
            await http.aclose()
            await http.aclose()


def said(error: Any) -> ErrorReply:
    return ErrorReply(error["kind"], error["text"])


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (JSONResponse({"kind": "no", "text": "sk-secret"}, 401), "provider_auth"),
        (JSONResponse({"kind": "slow", "text": "x"}, 429, {"retry-after": "3"}), "rate_limited"),
        (JSONResponse({"kind": "x", "text": "maximum context length"}, 400), "context_length"),
        (JSONResponse(["another shape"], 400), "provider_rejected"),
        (JSONResponse({"kind": 17, "text": None}, 401), "provider_auth"),
        (JSONResponse({"kind": "x", "text": {"a": 1}}, 400), "provider_rejected"),
        (Response("<html>", 502, media_type="text/html"), "provider_unavailable"),
        (Response("{}", 200, media_type="application/json"), "provider_unavailable"),
        (RedirectResponse("https://example.org/elsewhere"), "provider_rejected"),
    ],
)
async def test_a_reply_that_is_no_stream_is_the_right_error(answer: Response, code: str) -> None:
    async with ferry(answer) as (http, seen):
        with pytest.raises(Failure) as failure:
            await http.at("turns").open(b"{}")
    assert failure.value.error.code == code
    assert failure.value.retry_after == (3.0 if code == "rate_limited" else None)
    assert "secret" not in failure.value.error.message
    assert len(seen) == 1, "no redirect is followed, nothing is tried again"


async def test_ids_stand_in_paths_and_the_key_in_its_own_header() -> None:
    stream = Response(b"data: {}\n\n", media_type="text/event-stream")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with ferry(stream) as (http, seen):
        token = TRACE_HEADERS.set({"traceparent": trace})
        response = await http.at("rooms", "a/../b?c#d é", "turns").open(b'{"x": 1}')
        TRACE_HEADERS.reset(token)
        assert await response.aread() == b"data: {}\n\n"
        await response.aclose()
        with pytest.raises(Failure, match="can't be a part of an address"):
            await http.at("rooms", "..", "turns").open(b"{}")
    (request,) = seen
    assert request.scope["raw_path"] == b"/v1/rooms/a%2F..%2Fb%3Fc%23d%20%C3%A9/turns"
    assert (request.headers["x-ferry-key"], request.headers["traceparent"]) == ("k", trace)
    assert "authorization" not in request.headers


async def test_what_is_no_stream_is_asked_for_as_json() -> None:
    async with ferry(lambda: JSONResponse({"id": "m"})) as (http, seen):
        assert await http.get_model() == {"id": "m"}
        assert await http.ask("POST", "rooms", body={"name": "x"}) == {"id": "m"}
    assert [(request.method, request.url.path) for request in seen] == [("GET", "/v1/models/m"), ("POST", "/v1/rooms")]
    assert json.loads(await seen[1].body()) == {"name": "x"}
    assert [request.headers["accept"] for request in seen] == ["application/json"] * 2


async def test_an_answer_without_a_body_is_none() -> None:
    async with ferry(lambda: Response(status_code=204)) as (http, _):
        assert await http.ask("DELETE", "rooms", "r1") is None
    async with ferry(lambda: Response(status_code=200)) as (http, _):
        with pytest.raises(Failure, match="is no JSON"):
            await http.ask("POST", "rooms")


async def test_nobody_there() -> None:
    http = Http(API, base_url="http://127.0.0.1:9/v1", headers={}, said=said)
    with pytest.raises(Failure) as failure:
        await http.at("turns").open(b"{}")
    await http.aclose()
    assert failure.value.error.code == "provider_unavailable"
    with pytest.raises(ConfigurationError):
        Http(API, base_url="ferry.example", headers={}, said=said)
