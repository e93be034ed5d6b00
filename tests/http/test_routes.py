"""Routes whose handlers are imported with the first request to one; those of extras are matched as if they stood in the
table themselves.
"""

import asyncio
import re
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, NoMatchFound

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.errors import Unavailable
from agui_gate.http import health, routes
from tests.product.inprocess import Parrot, request, started

pytestmark = pytest.mark.anyio


def app() -> Any:
    return create_app(Agent(name="support", model=Parrot()), store="memory://", settings=Settings())


async def test_an_extra_that_is_not_installed_has_no_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "find", lambda name: None)
    async with started(app()) as served:
        for path in ("/", "/page/x/app.js", "/copilotkit/info", "/approvals/events"):
            answer = await request(served, "GET", path)
            assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found"), path
        assert (await request(served, "GET", "/agents")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/copilotkit/info", 200),
        ("HEAD", "/copilotkit/info", 200),
        ("DELETE", "/copilotkit/info", 404),
        ("GET", "/copilotkit/nowhere", 404),
        ("GET", "/copilotkits", 404),
        ("GET", "/copilotkit/info/", 307),
        ("PATCH", "/copilotkit/threads/a/b", 422),
        ("HEAD", "/", 200),
        ("PUT", "/", 404),
    ],
)
async def test_one_is_matched_as_any_other(method: str, path: str, status: int) -> None:
    async with started(app()) as served:
        answer = await request(served, method, path, b"[]" if method == "PATCH" else b"")
        assert answer.status == status
        if status == 307:
            assert re.fullmatch(r"http://\S+/copilotkit/info", answer.headers["location"])


async def test_a_store_that_is_away_is_asked_patiently_once_and_then_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", 0.1)
    asked, is_away = 0, True

    async def check() -> None:
        nonlocal asked
        asked += 1
        if is_away:
            raise Unavailable("away")

    async with started(app()) as served:
        monkeypatch.setattr(served.state.engine.store, "check", check)
        assert (await request(served, "GET", "/readyz")).status == 503
        assert asked > 1
        asked = 0
        assert (await request(served, "GET", "/readyz")).status == 503
        assert asked == 1
        is_away = False
        assert [(await request(served, "GET", "/readyz")).status for _ in range(2)] == [200, 200]


async def test_a_store_that_takes_long_keeps_no_probe_waiting_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As SQLite does while it is locked: for five seconds, on the thread that all operations need."""
    monkeypatch.setattr(health, "READY_SECONDS", 0.05)
    asked, answers = 0, asyncio.Event()

    async def check() -> None:
        nonlocal asked
        asked += 1
        await answers.wait()

    async with started(app()) as served:
        monkeypatch.setattr(served.state.engine.store, "check", check)
        async with asyncio.timeout(10):
            answers_of = [await request(served, "GET", "/readyz") for _ in range(3)]
        assert [(answer.status, answer.json()["error"]["code"]) for answer in answers_of] == [(503, "unavailable")] * 3
        assert "it takes longer than 0.05 s" in answers_of[0].json()["error"]["message"]
        assert asked == 1
        answers.set()
        assert (await request(served, "GET", "/readyz")).status == 200
        answers.clear()
        assert (await request(served, "GET", "/readyz")).status == 503
        (left,) = [task for task in asyncio.all_tasks() if "patiently" in repr(task)]
    assert left.cancelled(), "it ends with the server"


async def test_one_is_found_below_a_mount_too() -> None:
    inner = app()
    outer = Starlette(routes=[Mount("/chat", inner)])
    assert (await request(outer, "GET", "/chat/copilotkit/info")).status == 200
    assert (await request(outer, "GET", "/chat/")).status == 200
    await inner.state.engine.aclose()


def test_one_has_no_name() -> None:
    with pytest.raises(NoMatchFound):
        app().url_path_for("info")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/agents", b"", 200),
        ("GET", "/agents/support/capabilities", b"", 200),
        ("POST", "/threads/none/cancel", b"", 404),
        ("GET", "/approvals", b"", 200),
        ("GET", "/approvals/none", b"", 404),
        ("POST", "/approvals/none", b'{"approved": true}', 404),
        ("GET", "/threads", b"", 200),
        ("GET", "/threads/none", b"", 404),
        ("PATCH", "/threads/none", b'{"title": "New"}', 404),
        ("DELETE", "/threads/none", b"", 404),
    ],
)
async def test_a_route_beside_runs_has_its_handler(method: str, path: str, body: bytes, status: int) -> None:
    """A new application has looked up no handler yet: a module that can't be imported, or lacks one, shows here."""
    async with started(app()) as served:
        assert (await request(served, method, path, body)).status == status
