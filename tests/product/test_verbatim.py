"""Nothing of the user's is rewritten: what was sent comes back as it was sent, to each generation of clients."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, create_app
from tests.conforming import conforms
from tests.product.inprocess import Parrot, request, run, run_body, started
from tests.protocol.test_verbatim import FILE, HISTORY, META, PNG
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17"), conforms("VER-6", "STATE-2")]

Json = dict[str, Any]
V1 = {"protocolVersion": "1.0"}
NEW = {
    "id": "new",
    "role": "user",
    "content": [{"type": "text", "text": "Look", "id": "p"}, {"type": "image", "source": FILE, "metadata": META}],
    "name": "Bo",
    "metadata": META,
}


def served(path: Path) -> Any:
    return create_app(Agent(name="a", model=Parrot()), store=f"sqlite:///{path}")


async def connected(app: Any, **more: Any) -> list[Json]:
    """The messages that a client is told that comes back with nothing but the thread's id."""
    events = (await run(app, run_body("t", **more), "/agents/a/connect")).events()
    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    messages: list[Json] = snapshot["messages"]
    return messages


async def test_a_history_of_an_unknown_thread_comes_back_as_it_came_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "agui-gate.db"
    async with started(served(path)) as app:
        events = (await run(app, run_body("t", *HISTORY, **V1))).events()
        assert events[-1]["type"] == "RUN_FINISHED"
        assert (await connected(app, **V1))[: len(HISTORY)] == HISTORY
    async with started(served(path)) as app:
        assert (await connected(app, **V1))[: len(HISTORY)] == HISTORY
        (await run(app, run_body("t", *HISTORY, NEW, **V1))).events()
        assert (await connected(app, **V1))[len(HISTORY) + 1] == NEW
        thread = (await request(app, "GET", "/threads/t")).json()
        assert thread["messages"][: len(HISTORY)] == HISTORY


async def test_on_a_known_thread_messages_come_back_as_they_came(tmp_path: Path) -> None:
    async with started(served(tmp_path / "agui-gate.db")) as app:
        await run(app, run_body("t", {"id": "u", "role": "user", "content": "hi"}, **V1))
        await run(app, run_body("t", {"id": "u", "role": "user", "content": "hi"}, NEW, **V1))
        assert (await connected(app, **V1))[2] == NEW
        edited = {**NEW, "content": [{"type": "image", "source": PNG, "id": "other"}], "name": "Jo"}
        await run(app, run_body("t", {"id": "u", "role": "user", "content": "hi"}, edited, **V1))
        assert (await connected(app, **V1))[2] == edited


async def test_a_client_of_0_x_is_not_sent_what_its_schema_refuses(tmp_path: Path) -> None:
    async with started(served(tmp_path / "agui-gate.db")) as app:
        await run(app, run_body("t", NEW))
        (told, _) = await connected(app)
        assert told == {**NEW, "content": NEW["content"][:1]}
        assert (await connected(app, **V1))[0] == NEW
        await run(app, run_body("t", {"id": "v", "role": "user", "content": [{"type": "image", "source": FILE}]}))
        assert [message["content"] for message in await connected(app) if message["id"] == "v"] == [""]


@conforms("VER-7")
async def test_what_a_client_of_0_x_is_not_told_is_told_developers_once_a_thread(tmp_path: Path) -> None:
    async with started(served(tmp_path / "agui-gate.db")) as app:
        with capture_logs() as lines:
            await run(app, run_body("t", NEW))
            for _ in range(2):
                await connected(app)
            await connected(app, **V1)
        (found,) = [line for line in lines if line["event"] == "told_less"]
        assert (found["log_level"], found["thread"]) == ("warning", "t")
        assert "file handle" in found["lost"]
        assert "1.0 or newer" in found["upgrade"]


async def test_what_only_the_page_has_is_not_taken_on_a_known_thread(tmp_path: Path) -> None:
    """IN-2, a departure: what was said, called and run on a thread is what its server says."""
    async with started(served(tmp_path / "agui-gate.db")) as app:
        hello = {"id": "u", "role": "user", "content": "hi"}
        await run(app, run_body("t", hello, **V1))
        before = await connected(app, **V1)
        note = {"id": "page", "role": "assistant", "content": "A note of the page's."}
        await run(app, run_body("t", hello, note, {**NEW, "content": "go on"}, **V1))
        assert [message["id"] for message in (await connected(app, **V1))[: len(before) + 1]] == [
            *(message["id"] for message in before),
            "new",
        ]
