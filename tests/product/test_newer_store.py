"""A server on a file that another version has written to: threads go on, and nothing is decided or run on a guess."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.inprocess import Json, Parrot, request, run, run_body, started, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("PROC-2", "GEN-2"), shows("T9")]

VERSIONS: list[Json] = [{}, {"protocolVersion": "1.0"}]


class House:
    """An application with one gated tool, on a file of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.ran = path, list[str]()

        @tool(gate=True)
        def refund(order_id: str) -> str:
            """Refund an order."""
            self.ran.append(order_id)
            return "refunded"

        agent = Agent(name="support", model=Parrot(), tools=[refund])
        self.app = create_app(agent, store=f"sqlite:////{path}", settings=Settings())

    def write(self, statement: str, *values: Any) -> None:
        """What another version does to the file."""
        connection = sqlite3.connect(self.path)
        with connection:
            connection.execute(statement, values)
        connection.close()

    async def get(self, path: str) -> Any:
        """One answer, as JSON."""
        return (await request(self.app, "GET", path)).json()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "store.db")


@pytest.mark.parametrize("declared", VERSIONS, ids=["0.x", "1.0"])
async def test_an_entry_of_an_unknown_kind_is_shown_as_nothing(house: House, declared: Json) -> None:
    async with started(house.app):
        await run(house.app, run_body("t", user("hello", "u1"), **declared))
        before = await house.get("/threads/t")
        hologram = b'[{"type":"hologram","content":"my secret"}]'
        house.write(
            "INSERT INTO journal (thread, seq, count, body) SELECT thread, max(seq + count), 1, ? FROM journal",
            hologram,
        )
        house.write("UPDATE threads SET entries = entries + 1")
        assert (await house.get("/threads/t"))["messages"] == before["messages"]
        connected = await run(house.app, run_body("t", **declared), "/agents/support/connect")
        assert connected.status == 200
        assert "secret" not in connected.body.decode()
        for text in ("again", "and again"):
            events = (await run(house.app, run_body("t", user(text, text), **declared))).events()
            assert events[-1]["type"] == "RUN_FINISHED"
        edited = user("hello you", "u1")  # goes back to the beginning
        assert (await run(house.app, run_body("t", edited, **declared))).events()[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("declared", VERSIONS, ids=["0.x", "1.0"])
async def test_an_approval_in_an_unknown_state_is_never_run(house: House, declared: Json) -> None:
    async with started(house.app):
        asked = (await run(house.app, run_body("t", user("refund A1", "u1"), **declared))).events()
        (interrupt,) = asked[-1]["outcome"]["interrupts"]
        house.write("UPDATE approvals SET state = 'snoozed'")
        record = await house.get(f"/approvals/{interrupt['id']}")
        assert record["state"] == "unknown"
        assert "Another version" in record["result"]
        assert (await house.get("/approvals"))["approvals"] == []
        refused = await request(house.app, "POST", f"/approvals/{interrupt['id']}", b'{"approved": true}')
        assert (refused.status, refused.json()["error"]["code"]) == (409, "approval_refused")
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        answer = {"id": "m1", "role": "tool", "toolCallId": interrupt["toolCallId"], "content": '{"approved":true}'}
        for body in (run_body("t", resume=[entry], **declared), run_body("t", answer, **declared)):
            assert (await run(house.app, body)).status == 200
        assert (await run(house.app, run_body("t", user("go on", "u2"), **declared))).events()[-1]["type"] == (
            "RUN_FINISHED"
        )
        assert house.ran == []
        assert (await house.get(f"/approvals/{interrupt['id']}"))["state"] == "unknown"


async def test_a_thread_that_cannot_be_read_safely_is_503_and_no_other_is(house: House) -> None:
    async with started(house.app):
        for thread in ("t", "other"):
            await run(house.app, run_body(thread, user("hello", "u1")))
        turn = json.dumps([{"type": "turn", "id": "a", "parts": [{"type": "hologram", "text": "my secret"}]}]).encode()
        house.write("UPDATE journal SET body = ? WHERE thread = (SELECT key FROM threads WHERE id = 't')", turn)
        house.write("UPDATE threads SET run_key = 'run_newer' WHERE id = 't'")  # as the run that wrote it did
        for answer in (
            await request(house.app, "GET", "/threads/t"),
            await run(house.app, run_body("t", user("again", "u2"))),
            await run(house.app, run_body("t"), "/agents/support/connect"),
            await run(house.app, run_body("t"), "/copilotkit/agent/support/connect"),
        ):
            assert (answer.status, answer.json()["error"]["code"]) == (503, "unavailable")
            assert "This thread contains data" in answer.json()["error"]["message"]
            assert "secret" not in answer.body.decode()
        assert {thread["id"] for thread in (await house.get("/threads"))["threads"]} == {"t", "other"}
        assert (await run(house.app, run_body("other", user("again", "u2")))).status == 200
        assert (await request(house.app, "DELETE", "/threads/t")).status == 200
        assert (await run(house.app, run_body("t", user("anew", "u1")))).events()[-1]["type"] == "RUN_FINISHED"
