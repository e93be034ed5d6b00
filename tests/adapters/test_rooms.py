"""The guide's provider with conversation ids in its paths: a second turn says what is new, a room that is gone all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agui_gate import Agent, create_app
from agui_gate_adapters.testkit.agui import serving
from examples.adapter_with_rooms import Rooms
from tests.product.inprocess import run, run_body, started, user

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def provider() -> AsyncIterator[tuple[str, dict[str, list[str]]]]:
    rooms: dict[str, list[str]] = {}

    async def made(request: Request) -> Response:
        rooms[request.path_params["room"]] = []
        return JSONResponse({})

    async def turn(request: Request) -> Response:
        room = request.path_params["room"]
        if request.headers["x-room-key"] != "k" or room not in rooms:
            return JSONResponse({"text": "no such room"}, 404)
        rooms[room].append((await request.json())["say"])
        return Response('data: {"text": "Yes."}\n\n', media_type="text/event-stream")

    routes = [Route("/rooms/{room}", made, methods=["PUT"]), Route("/rooms/{room}/turns", turn, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as url:
        yield url, rooms


async def test_a_room_is_told_what_is_new_and_a_new_one_everything() -> None:
    async with provider() as (url, rooms):
        model = Rooms(base_url=url, api_key="k")
        app = create_app(Agent(name="a", model=model), store="memory://")
        async with started(app):
            said = [user("one", "u1")]
            for text in ("two", "three"):
                assert "Yes." in (await run(app, run_body("t", *said))).body.decode()
                said.append(user(text, f"u-{text}"))
            assert list(rooms.values()) == [["one", "two"]]
            rooms.clear()
            await run(app, run_body("t", *said))
            assert list(rooms.values()) == [["one\nYes.\ntwo\nYes.\nthree"]]
        await model.aclose()
