"""The log tells the story of a payment: by one id, over two servers and a restart."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, Principal, create_app, tool
from agui_gate.approvals.expiry import ExpiryJob
from agui_gate.approvals.orphan_job import GRACE_SECONDS, OrphanJob
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.errors import ConfigurationError, ProviderUnavailable
from agui_gate.extras.observation import meter_of
from agui_gate.log_events import name_of
from agui_gate.stores.lease import LEASE_MS
from agui_gate.stores.memory import MemoryStore
from agui_gate.threads.lease import SaveRetrier
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio


@tool(gate=Gate(approvers="finance"))
async def refund(order_id: str) -> str:
    """Refund."""
    return "refunded"


def app_of(place: Path, auth: Any = None, **settings: Any) -> Any:
    agent = Agent(name="support", model=Parrot(), tools=[refund])
    return create_app(agent, store=f"sqlite:///{place}/store.db", auth=auth, settings=Settings(**settings))


PEOPLE = {"ada": Principal("ada", "acme"), "ben": Principal("ben", "acme", ["user", "approver", "finance"])}


def auth(request: Request) -> Principal | None:
    return PEOPLE.get(request.headers.get("authorization", ""))


async def test_one_payment_is_read_from_two_logs_by_one_id(tmp_path: Path) -> None:
    """The question is asked on A; after that B runs, on which another person says yes. Each id leads to all of it."""
    with capture_logs() as of_a:
        async with started(app_of(tmp_path, log_principals="pseudonyms", traces=True, auth=auth)) as app:
            await run(app, run_body("the-thread", user("refund", "1")), headers={"authorization": "ada"})
            (asked,) = (await request(app, "GET", "/approvals", headers={"authorization": "ada"})).json()["approvals"]
    with capture_logs() as of_b:
        async with started(app_of(tmp_path, log_principals="pseudonyms", auth=auth)) as app:
            path = f"/approvals/{asked['id']}"
            body = json.dumps({"approved": True}).encode()
            for status in (200, 409):
                assert (await request(app, "POST", path, body, {"authorization": "ben"})).status == status
    begun, ended = [line for line in of_a if line["event"].startswith("run_")]
    (decided,) = [line for line in of_b if line["event"] == "decided"]
    assert (begun["agent"], ended["outcome"]) == ("support", "waiting")
    assert (decided["approved"], decided["state"], decided["approval"]) == (True, "done", asked["id"])
    for name in ("run", "client_run", "thread", "principal"):
        assert begun[name] == ended[name] == decided[name], name
    assert begun["principal"].startswith("p_")
    assert decided["by"].startswith("p_")
    assert decided["by"] == name_of(PEOPLE["ben"].owner) != decided["principal"]
    (late,) = [line for line in of_b if line["event"] == "answer_late"]
    assert (late["by"], late["principal"]) == (decided["by"], decided["principal"])
    assert not re.search(r"\bada\b", str([of_a, of_b]))  # ids are hexadecimal: they may have the letters
    assert "ben" not in str([of_a, of_b])


async def test_what_goes_wrong_has_the_same_ids(tmp_path: Path) -> None:
    """A provider that fails, a call that nobody decides, and one whose process dies."""

    class Fails(Parrot):
        async def stream(self, turn: Any) -> Any:
            if turn.transcript:
                raise ProviderUnavailable("It is down.") from OSError("secret words")
            yield []

    with capture_logs() as lines:
        app = create_app(Agent(name="a", model=Fails()), store="memory://", settings=Settings(log_principals="names"))
        async with started(app):
            await run(app, run_body("t", user("hi"), runId="of-the-client"))
    (failed,) = [line for line in lines if line["event"] == "provider_failed"]
    (begun,) = [line for line in lines if line["event"] == "run_begun"]
    ids = ("run", "client_run", "thread", "principal")
    assert [failed[name] for name in ids] == [begun[name] for name in ids]
    assert failed["client_run"] == "of-the-client"
    clock = Clock()
    store = MemoryStore(clock=clock)
    await store.start()
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    about = {"run_id": "client-1", "trace": trace}
    await ask(store, gated("late", expires_at=10, **about), gated("lost", **about))
    await store.move("lost", State.CLAIMED, decision=Decision(True, "bob", way="http"))
    clock.advance(LEASE_MS + 1)
    with capture_logs() as lines:
        await ExpiryJob(store, lambda *_: None).step()
        keeper = SaveRetrier(store, lambda *_: None)
        seconds = iter((0.0, GRACE_SECONDS))
        job = OrphanJob(store, keeper, lambda: "x", lambda: (), lambda: next(seconds))
        for _ in range(2):
            await job.step()
        await keeper.aclose()
    seen = {line["event"]: [line.get(name) for name in ("approval", "client_run", "thread", "trace")] for line in lines}
    of = ["client-1", "t", trace[3:35]]
    assert seen == {"expired": ["late", *of], "orphaned": ["lost", *of], "outcome_unknown": ["lost", *of]}
    assert {line["principal"] for line in lines} == {"alice"}
    assert {line["by"] for line in lines if "by" in line} == {"bob"}
    await store.aclose()


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
