"""Clients that say more than this version knows, or say it wrong, on every route that takes their input."""

import json
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.inprocess import Answer, Json, Parrot, request, run_body, started
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("GEN-1", "PROC-1", "PROC-2", "PROC-4", "IN-7", "IN-8", "IN-9"), shows("B28")]

ROUTES = [
    "/", "/agents/support", "/agents/support/connect", "/copilotkit/agent/support/run",
    "/copilotkit/agent/support/connect", "/copilotkit/agent/support/suggest", "/copilotkit",
]  # fmt: skip
STRANGE: Json = {
    "messages": [
        {"id": "0", "role": "oracle", "content": "my secret"},
        {"id": "1", "role": "activity", "activityType": "PLAN", "content": {"steps": [{"role": "oracle"}]}},
        {"id": "2", "role": "user", "mood": "my secret", "content": [
            {"type": "text", "text": "hello"}, {"type": "hologram", "value": "my secret"},
            {"type": "image", "source": {"type": "cloud", "value": "my secret"}},
        ]},
    ],
    "resume": [{"interruptId": "i", "status": "postponed", "payload": "my secret"}],
    "forwardedProps": {"mood": None, "x": {"role": "oracle"}},
    "mood": "my secret",
}  # fmt: skip
PLACES = {
    "messages[0].role", "messages[2].mood", "messages[2].content[1].type", "messages[2].content[2].source.type",
    "resume[0].status", "mood",
}  # fmt: skip
VERSIONS = [None, "0.9", "1.0", "1.7", "2.0", "garbage", ""]


class House:
    """An application, and what its model was asked."""

    def __init__(self) -> None:
        self.model = Parrot()
        self.app = create_app(Agent(name="support", model=self.model), store="memory://", settings=Settings())

    async def post(self, path: str, body: Json) -> Answer:
        """One request; the single route of CopilotKit wraps it."""
        sent: Any = body
        if path == "/copilotkit":
            sent = {"method": "agent/run", "params": {"agentId": "support"}, "body": body}
        return await request(self.app, "POST", path, json.dumps(sent).encode())

    def told(self) -> list[str]:
        """What the model was asked last, part by part."""
        turn = self.model.requests[-1].transcript[-1]
        return [getattr(part, "text", "?") for part in turn.content]  # type: ignore[union-attr]  # a user's


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_not_known_goes_unread_and_is_said_once(path: str, version: str | None) -> None:
    house = House()
    async with started(house.app):
        with capture_logs() as logs:
            answer = await house.post(path, run_body("t", **STRANGE, **declared(version)))
        assert answer.status == 200
        (said,) = [line for line in logs if line["event"] == "input_not_all_read"]
        assert set(said["paths"].split()) == PLACES
        assert said["number"] == len(PLACES)
        assert said["log_level"] == "warning"
        assert "my secret" not in str(logs)
        if "connect" not in path:
            assert answer.events()[-1]["type"] == "RUN_FINISHED"
            assert house.told() == ["hello"]


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_malformed_is_refused_before_the_stream_of_who_declares_a_version(
    path: str, version: str | None
) -> None:
    wrong = run_body("t", {"role": "user", "content": "my secret"}, **declared(version))
    house = House()
    async with started(house.app):
        answer = await house.post(path, wrong)
        if version in (None, "0.9"):
            assert answer.status == 200
            return
        assert answer.status == 422
        error = answer.json()["error"]
        assert error["code"] == "invalid_request"
        assert "`id` - at `$.messages[0]`" in error["message"]
        assert "my secret" not in answer.body.decode()
        assert house.model.requests == []
        assert (await request(house.app, "GET", "/threads/t")).status == 404


@conforms("IN-5", "IN-6")
@pytest.mark.parametrize("version", [None, "1.0"])
async def test_what_is_absent_is_empty(version: str | None) -> None:
    told = []
    for absent in (False, True):
        house = House()
        async with started(house.app):
            body = run_body("t", {"id": "1", "role": "user", "content": "hello"}, **declared(version))
            for name in ("tools", "context", "state", "forwardedProps") if absent else ():
                del body[name]
            types = [event["type"] for event in (await house.post("/", body)).events()]
            (asked,) = house.model.requests
            told.append((types, asked.instructions, asked.tools, house.told()))
    assert told[0] == told[1]


@conforms("IN-5")
@pytest.mark.parametrize("version", [None, "1.0"])
async def test_every_entry_of_the_context_reaches_the_model(version: str | None) -> None:
    context = [{"description": f"d{n}", "value": f"value-{n}"} for n in range(50)]
    house = House()
    async with started(house.app):
        said = {"id": "1", "role": "user", "content": "hello"}
        await house.post("/", run_body("t", said, **{"context": context, **declared(version)}))
        (asked,) = house.model.requests
        assert all(f"d{n}: value-{n}" in asked.instructions for n in range(50))


async def test_a_message_of_which_nothing_is_left_says_nothing() -> None:
    hologram = {"id": "1", "role": "user", "content": [{"type": "hologram"}]}
    house = House()
    async with started(house.app):
        answer = await house.post("/", run_body("t", hologram, protocolVersion="1.0"))
        assert answer.events()[-1]["type"] == "RUN_FINISHED"
        assert house.model.requests == []
        again = run_body("t", hologram, {"id": "2", "role": "user", "content": "hi"}, protocolVersion="1.0")
        assert (await house.post("/", again)).status == 200  # a history with it does not lock the thread
        assert house.told() == ["hi"]


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_ten_thousand_messages_of_junk_are_read_in_time_and_told_in_one_line(version: str | None) -> None:
    junk: list[Json] = [{"id": str(n), "role": f"r{n}", "x": {"y": [n]}} for n in range(5_000)]
    junk += [
        {"id": str(n), "role": "user", "content": [{"type": "text", "text": "hi", "z": n}], f"k{n}": n}
        for n in range(5_000, 10_000)
    ]
    house = House()
    async with started(house.app):
        with capture_logs() as logs:
            before = time.process_time()
            answer = await house.post("/", run_body("t", *junk, **declared(version)))
            assert time.process_time() - before < 10
        assert answer.status == 200
        (said,) = [line for line in logs if line["event"] == "input_not_all_read"]
        assert said["number"] == 15_000
        assert len(str(said)) < 1_000


def declared(version: str | None) -> Json:
    return {} if version is None else {"protocolVersion": version}
