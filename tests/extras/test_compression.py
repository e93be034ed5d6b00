"""Long threads reach a page over a slow line: their JSON is compressed for who takes that, and nothing else is."""

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.http import views
from tests.product.inprocess import Answer, Parrot, request, run_body, started

pytestmark = pytest.mark.anyio

LONG = "What does the kettle cost, and when will it be here? "


@pytest.fixture
async def served() -> AsyncIterator[Any]:
    app = create_app(Agent(name="support", model=Parrot()), store="memory://", settings=Settings())
    async with started(app) as served:
        for thread, text in (("long", LONG * 100), ("longer", LONG * 2000), ("short", "Hi")):
            body = run_body(thread, {"id": "u1", "role": "user", "content": text})
            run = await request(served, "POST", "/", json.dumps(body).encode(), {"accept-encoding": "gzip"})
            assert "content-encoding" not in run.headers, "a stream of events goes out as it comes"
        yield served


async def read(served: Any, thread: str, query: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await request(served, "GET", f"/threads/{thread}", headers=named, query=query)


@pytest.mark.parametrize("thread", ["long", "longer"])
async def test_a_long_thread_is_compressed_for_who_takes_that(served: Any, thread: str) -> None:
    plain = await read(served, thread)
    packed = await read(served, thread, accept_encoding="br, gzip;q=0.5")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(packed.body) < len(plain.body) / 5
    assert gzip.decompress(packed.body) == plain.body
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding, Origin"
    assert (await read(served, thread, accept_encoding="gzip;q=0")).body == plain.body


async def test_a_short_one_is_not(served: Any) -> None:
    assert "content-encoding" not in (await read(served, "short", accept_encoding="gzip")).headers


async def test_what_is_known_is_known_in_both_forms(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "COMPRESSED", 0)
    plain = await read(served, "short", "view=calls")
    packed = await read(served, "short", "view=calls", accept_encoding="gzip")
    assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
    for answer in (plain, packed):
        again = await read(served, "short", "view=calls", accept_encoding="gzip", if_none_match=answer.headers["etag"])
        assert (again.status, again.body) == (304, b"")


async def test_where_the_extra_is_not_there_all_is_as_it_was(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "find", lambda name: None)
    assert "content-encoding" not in (await read(served, "long", accept_encoding="gzip")).headers
