"""What the log tells, and what it doesn't."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.logs import ensure_configured
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.product.inprocess import run, run_body, started, user
from tests.product.kit import TIMEOUT, product
from tests.product.live import cancel
from tests.product.shop import Shop, call, refund, say, script

pytestmark = pytest.mark.anyio

YES, NO = {"approved": True}, {"approved": False}
SECRET = "swordfish"


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Every line from level info on, as keys and values."""
    ensure_configured()
    with structlog.testing.capture_logs() as captured:
        yield captured


def told(lines: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == event]


async def test_a_decision_is_one_line(lines: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(SECRET))) as p:
        chat = p.chat()
        asked = (await chat.say("refund it")).interrupts[0]["id"]
        await chat.resume((asked, {**YES, "reason": SECRET}))
        p.emulator.load(script(refund(SECRET)))
        rejected = (await p.chat().say("refund it")).interrupts[0]["id"]
        await p.decide(rejected, {**NO, "reason": SECRET})
    first, second = told(lines, "decided")
    assert (first.pop("run").startswith("run_"), first.pop("client_run").startswith("run-")) == (True, True)
    assert first.pop("call").startswith("call_")
    assert first == {
        "event": "decided",
        "log_level": "info",
        "approval": asked,
        "tool": "refund",
        "thread": chat.thread_id,
        "agent": "support",
        "approved": True,
        "state": "done",
        "by": "local",
        "way": "resume",
        "principal": "local",
    }
    assert (second["approval"], second["approved"], second["state"], second["way"]) == (
        rejected, False, "rejected", "http",
    )  # fmt: skip
    assert SECRET not in repr(lines)


async def test_a_run_that_goes_well_is_silent(lines: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, [{"output": [call("search", q="x")]}, {"output": [say("Found it.")]}]) as p:
        await p.chat().say("search")
    assert lines == []


async def test_refused_and_late_answers(lines: list[dict[str, Any]]) -> None:
    shop = Shop(editable=["amount"])
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = (await chat.say("refund it")).interrupts[0]["id"]
        await p.decide(asked, {**YES, "edited_arguments": {"order_id": SECRET, "amount": SECRET}})
        await chat.resume((asked, {**YES, "editedArgs": {"order_id": SECRET, "amount": SECRET}}))
        await p.decide(asked, YES)
        await p.decide(asked, NO)
        await p.chat().resume(("apr_unknown", YES))
    refused = told(lines, "answer_refused")
    assert [line.get("approval") for line in refused] == [asked, asked]
    assert {line["log_level"] for line in refused} == {"warning"}
    assert [(line["log_level"], line["answers"]) for line in told(lines, "answer_unknown")] == [("warning", 1)]
    assert [line["state"] for line in told(lines, "answer_late")] == ["done"]
    assert SECRET not in repr(lines)


async def test_what_nobody_knows(lines: list[dict[str, Any]]) -> None:
    begun = asyncio.Event()

    @tool(gate=True)
    async def pay(order_id: str) -> str:
        """Pay."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with product([pay], script(call("pay", order_id=SECRET))) as p:
        chat = p.chat()
        asked = (await chat.say("pay")).interrupts[0]["id"]
        deciding = asyncio.create_task(p.decide(asked, YES))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            await cancel(p, chat)
            await deciding
    (line,) = told(lines, "outcome_unknown")
    assert (line["log_level"], line["approval"], line["tool"], line["by"]) == ("warning", asked, "pay", "local")
    assert SECRET not in repr(lines)


async def test_a_provider_that_fails(lines: list[dict[str, Any]]) -> None:
    fault = {"kind": "status", "status": 401, "code": "invalid_api_key", "message": f"Incorrect API key {SECRET}."}
    async with product([], [{"output": [], "fault": fault}]) as p:
        await p.chat().say("hello")
    (line,) = told(lines, "provider_failed")
    assert (line["log_level"], line["code"], line["status"]) == ("warning", "provider_auth", 401)
    assert line["cause"] == "AuthenticationError"
    assert line["provider_code"] == "invalid_api_key"
    assert SECRET not in repr(lines)


async def test_a_provider_that_can_not_be_reached(lines: list[dict[str, Any]]) -> None:
    model = OpenAIResponses("gpt-5.4-mini", base_url="http://127.0.0.1:9/v1", api_key="k")
    app = create_app(Agent(name="a", model=model), store="memory://", settings=Settings())
    async with started(app):
        await run(app, run_body("t", user("hello")))
    (line,) = told(lines, "provider_failed")
    assert line["code"] == "provider_unavailable"
    assert line["cause"].startswith("APIConnectionError/")


async def test_a_5xx(lines: list[dict[str, Any]]) -> None:
    async with product([], []) as p:
        await p.app.state.engine.store.aclose()
        assert (await p.get("/approvals"))["status_code"] == 503
    (line,) = told(lines, "request_refused")
    assert (line["status"], line["code"], line["method"], line["path"]) == (503, "unavailable", "GET", "/approvals")


async def test_the_level_is_a_setting(caplog: pytest.LogCaptureFixture) -> None:
    structlog.reset_defaults()
    for level, expected in (("error", 0), ("warning", 0), ("info", 1)):
        caplog.clear()
        async with product(Shop().tools, script(refund()), settings=Settings(log_level=level)) as p:
            asked = (await p.chat().say("refund it")).interrupts[0]["id"]
            await p.decide(asked, NO)
        assert len([record for record in caplog.records if "event=decided" in record.getMessage()]) == expected
    ensure_configured()


def test_an_id_can_not_begin_a_line_or_steer_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    structlog.reset_defaults()
    ensure_configured()
    with caplog.at_level(logging.INFO):
        structlog.get_logger("agui_gate.test").info("decided", thread="a\nevent=decided by=alice \x1b[2J")
    (record,) = caplog.records
    assert "\n" not in record.getMessage()
    assert "\x1b" not in record.getMessage()
