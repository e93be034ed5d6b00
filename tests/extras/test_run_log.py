"""The log tells the story of a payment: by one id, over two servers and a restart."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError
from agui_gate.extras.observation import meter_of
from tests.product.inprocess import Parrot, request, run, run_body, started, user

pytestmark = pytest.mark.anyio


@tool(gate=Gate())
async def refund(order_id: str) -> str:
    """Refund."""
    return "refunded"


def app_of(place: Path, **settings: Any) -> Any:
    agent = Agent(name="support", model=Parrot(), tools=[refund])
    return create_app(agent, store=f"sqlite:///{place}/store.db", settings=Settings(**settings))


async def test_one_payment_is_read_from_two_logs_by_one_id(tmp_path: Path) -> None:
    with capture_logs() as of_a:
        app = app_of(tmp_path, log_principals="names")
        async with started(app):
            await run(app, run_body("the-thread", user("refund", "1")))
            (asked,) = (await request(app, "GET", "/approvals")).json()["approvals"]
    with capture_logs() as of_b:
        app = app_of(tmp_path, log_principals="pseudonyms")
        async with started(app):
            resume = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
            await run(app, run_body("the-thread", resume=resume, runId="r2"))
    a = [line for line in of_a if line.get("thread") == "the-thread"]
    b = [line for line in of_b if line.get("thread") == "the-thread"]
    assert [line["event"] for line in a] == ["run_begun", "run_ended"]
    assert [line["event"] for line in b] == ["run_begun", "decided", "run_ended"]
    begun, ended = a
    assert (begun["agent"], begun["principal"], ended["outcome"]) == ("support", "local", "waiting")
    decided = b[1]
    assert (decided["approval"], decided["run"], decided["client_run"]) == (
        asked["id"],
        begun["run"],
        begun["client_run"],
    )
    assert b[0]["principal"].startswith("p_")
    assert (b[0]["run"], b[2]["run"], b[2]["outcome"]) == (b[0]["run"], b[0]["run"], "finished")
    assert b[0]["run"] != begun["run"]


@pytest.mark.parametrize("more", [{}, {"metrics": "on"}, {"traces": True}])
async def test_it_is_told_with_whatever_else_is_counted(tmp_path: Path, more: dict[str, Any]) -> None:
    with capture_logs() as lines:
        app = app_of(tmp_path, log_principals="names", **more)
        async with started(app):
            await run(app, run_body("t", user("hello", "1")))
    told = [line["event"] for line in lines if line["event"].startswith("run_")]
    assert told == ["run_begun", "run_ended"]


def test_nobody_is_logged_unless_that_is_asked_for() -> None:
    assert meter_of(Settings()) is None
    with pytest.raises(ConfigurationError, match="log_principals must be"):
        Settings(log_principals="all")  # type: ignore[arg-type]
