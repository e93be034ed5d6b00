"""Metrics: each is counted where the thing happens, names nobody, and costs nothing where nobody asks."""

import asyncio
import json
import re
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from structlog.testing import capture_logs

from agui_gate import Agent, Gate, Principal, Summary, create_app, tool
from agui_gate.adapter import TurnDone, Usage
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.cli.commands.metrics import FILES
from agui_gate.config.settings import Settings
from agui_gate.core.freezes import Freeze
from agui_gate.errors import ConfigurationError, ProviderRejected, Unavailable
from agui_gate.extras.metrics import state
from agui_gate.extras.metrics.families import OTHER, TOGETHER, Families, Names, text_of
from agui_gate.extras.metrics.instruments import Histogram
from agui_gate.extras.metrics.listener import Listener
from agui_gate.extras.metrics.state import described
from agui_gate.extras.observation import names_of
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bus.wire_in_memory import Place, WireInMemory
from tests.product.inprocess import Json, Parrot, calls, request, run, run_body, says, started, user

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


@tool(gate=Gate(editable=["order_id"]))
async def refund(order_id: str) -> str:
    """Refund."""
    return "refunded"


@tool
async def look(order_id: str) -> str:
    """Look."""
    if order_id == "none":
        raise ValueError
    return "here"


def app_of(*plan: Any, metrics: str = "on", store: Any = "memory://", auth: Any = None, **more: Any) -> Any:
    agent = Agent(name="support", model=Parrot(plan or None), tools=[refund, look])
    return create_app(agent, store=store, auth=auth, settings=Settings(metrics=metrics, **more))


Figures = Mapping[str, float]


def figures(text: str) -> Figures:
    """The samples of a page, by name and labels."""
    return {
        name: float(value)
        for name, _, value in (x.rpartition(" ") for x in text.splitlines())
        if name and name[0] != "#"
    }


async def scrape(app: Any, **more: Any) -> Figures:
    answer = await request(app, "GET", "/metrics", **more)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return figures(answer.body.decode())


async def decide(app: Any, payload: Json) -> int:
    listed = (await request(app, "GET", "/approvals")).json()["approvals"]
    answer = await request(app, "POST", f"/approvals/{listed[0]['id']}", json.dumps(payload).encode())
    return answer.status


def labelled(found: Figures, name: str) -> dict[str, float]:
    return {key.partition("{")[2].rstrip("}"): value for key, value in found.items() if key.partition("{")[0] == name}


async def test_runs_requests_and_tokens_are_counted() -> None:
    app = app_of()
    async with started(app):
        for number in range(3):
            await run(app, run_body(f"t{number}", user("hello", "m")))
        found = await scrape(app)
    model = 'model="m",provider="p"'
    assert labelled(found, "agui_gate_runs_total") == {'agent="support",outcome="finished"': 3}
    assert labelled(found, "agui_gate_model_requests_total") == {f'code="ok",{model}': 3}
    assert labelled(found, "agui_gate_tokens_total") == {f'kind="input",{model}': 3, f'kind="output",{model}': 3}
    assert labelled(found, "agui_gate_http_requests_total") == {'route="/",status="200"': 3}
    for histogram in ("run_seconds", "first_event_seconds"):
        assert found[f"agui_gate_{histogram}_count"] == 3
    assert labelled(found, "agui_gate_first_token_seconds_count") == {model: 3}
    assert found['agui_gate_store_seconds_count{operation="lease_thread"}'] == 3
    assert found["agui_gate_runs_in_flight"] == 0


async def test_what_is_noted_is_counted_without_anybody_who_asks() -> None:
    """So there is never much of it: of requests, of runs, and of a store's operations beside them."""
    app = app_of()
    families = next(one.families for one in app.state.engine.extensions.all if hasattr(one, "families"))
    async with started(app):
        store = app.state.engine.store
        for do in (
            lambda: request(app, "GET", "/healthz"),
            lambda: run(app, run_body("t", user("a", "m"))),
            store.check,
        ):
            families.fold()
            for _ in range(70):
                await do()
                assert len(families.noted) < TOGETHER
        found = await scrape(app)
    assert labelled(found, "agui_gate_http_requests_total") == {
        'route="/healthz",status="200"': 70,
        'route="/",status="200"': 70,
    }
    assert found['agui_gate_store_seconds_count{operation="check"}'] >= 70


def test_what_can_not_be_counted_keeps_nothing_else_from_being_counted() -> None:
    families = Families()
    for model in ({}, "gpt"):
        families.noted.append((families.models.__getitem__, model))
        families.noted.append((families.in_flight.inc,))
    with capture_logs() as logs:
        families.fold()
    assert [(line["event"], line["error"]) for line in logs] == [("metric_failed", "TypeError")]
    assert figures(text_of(families).decode())["agui_gate_runs_in_flight"] == 2


async def test_a_run_is_in_flight_and_its_stream_open_while_it_lasts() -> None:
    began, go = asyncio.Event(), asyncio.Event()

    class Waits(Parrot):
        async def stream(self, turn: Any) -> Any:
            began.set()
            await go.wait()
            async for batch in super().stream(turn):
                yield batch

    app = create_app(Agent(name="a", model=Waits()), store="memory://", settings=Settings(metrics="on"))
    async with started(app):
        running = asyncio.create_task(run(app, run_body("t", user("hi", "1"))))
        await began.wait()
        during = await scrape(app)
        go.set()
        await running
        after = await scrape(app)
    for name in ("agui_gate_runs_in_flight", 'agui_gate_streams_open{kind="run"}'):
        assert (during[name], after[name]) == (1, 0)


@pytest.mark.parametrize(
    ("payload", "decision", "ran"),
    [
        ({"approved": True}, "approve", True),
        ({"approved": True, "editedArgs": {"order_id": "B2"}}, "edit", True),
        ({"approved": False}, "reject", False),
    ],
)
async def test_a_decision_is_counted_once_and_so_is_its_tool(payload: Json, decision: str, ran: bool) -> None:
    app = app_of()
    async with started(app):
        await run(app, run_body("t", user("refund", "1")))
        assert await decide(app, payload) == 200
        found = await scrape(app)
    said = {f'decision="{decision}",tool="refund",way="http"': 1.0}
    assert labelled(found, "agui_gate_decisions_total") == said
    assert found["agui_gate_decision_wait_seconds_count"] == 1
    tools = {'gated="true",outcome="done",tool="refund"': 1.0} if ran else {}
    assert labelled(found, "agui_gate_tool_calls_total") == tools
    assert labelled(found, "agui_gate_runs_total") == {'agent="support",outcome="waiting"': 1}


async def test_an_answer_that_is_not_taken_is_counted_by_its_code() -> None:
    app = app_of()
    async with started(app):
        await run(app, run_body("t", user("refund", "1")))
        assert await decide(app, {"approved": True, "editedArgs": {"other": "B2"}}) == 422
        found = await scrape(app)
    ((_, count),) = labelled(found, "agui_gate_answers_refused_total").items()
    assert count == 1
    assert labelled(found, "agui_gate_decisions_total") == {}


async def test_an_answer_that_a_freeze_refuses_is_counted_and_in_the_trail_once_whichever_way_it_came() -> None:
    app = app_of()
    async with started(app):
        await run(app, run_body("t", user("refund", "1")))
        await app.state.engine.store.freeze(Freeze(reason="The till is checked."))
        assert await decide(app, {"approved": True}) == 403
        (asked,) = (await request(app, "GET", "/approvals")).json()["approvals"]
        resume = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
        await run(app, run_body("t", resume=resume))
        found = await scrape(app)
        events = (await app.state.engine.store.read_events(limit=20)).events
    assert labelled(found, "agui_gate_answers_refused_total") == {'code="frozen"': 2}
    assert [event.way for event in events if event.kind == "refused"] == ["http", "resume"]


async def test_tools_without_a_gate_are_counted_and_invented_names_are_one() -> None:
    plan = [
        [*calls("look", {"order_id": "A1"}, "c1", "1"), *calls("look", {"order_id": "none"}, "c2", "2")],
        [*calls("invented", {}, "c3", "3")],
    ]
    app = app_of(*([*turn, ad_done()] for turn in plan))
    async with started(app):
        await run(app, run_body("t", user("go", "1")))
        found = await scrape(app)
    free = labelled(found, "agui_gate_tool_calls_total")
    assert free.pop('gated="false",outcome="done",tool="look"') == 1
    assert free.pop('gated="false",outcome="failed",tool="look"') == 1
    assert set(free) <= {'gated="false",outcome="failed",tool="other"'}
    assert "invented" not in str(found)


def ad_done() -> Any:
    from agui_gate.adapter import TurnDone

    return TurnDone()


async def test_a_model_that_fails_is_counted_by_its_code() -> None:
    app = app_of([ProviderRejected("no")], [*says("a"), Unavailable("odd")])
    async with started(app):
        for number in range(2):
            await run(app, run_body(f"t{number}", user("hi", "1")))
        found = await scrape(app)
    codes = {key.partition(",")[0] for key in labelled(found, "agui_gate_model_requests_total")}
    assert codes == {'code="provider_rejected"', 'code="unavailable"'}
    assert labelled(found, "agui_gate_runs_total") == {'agent="support",outcome="failed"': 2}


async def test_what_fails_and_what_answers_of_one_model_is_one_series() -> None:
    """A provider says which version of the model has answered, and of a failure nothing."""

    class Versioned(Parrot):
        vendor, model, origin = "ollama", "qwen3:8b", "openai-chat:localhost:11434:qwen3:8b"

    answered = TurnDone(usage=Usage(provider="ollama", model="qwen3:8b-q4", input_tokens=3, output_tokens=1))
    agent = Agent(name="a", model=Versioned([[*says("hi"), answered], [ProviderRejected("no")]]))
    app = create_app(agent, store="memory://", settings=Settings(metrics="on", usage=True))
    async with started(app):
        for number in "12":
            await run(app, run_body(f"t{number}", user("hi", number)))
        found = await scrape(app)
        usage = (await request(app, "GET", "/usage", b"", {})).json()["usage"]
    counted = labelled(found, "agui_gate_model_requests_total")
    series = 'model="qwen3:8b",provider="ollama"'
    assert counted == {f'code="ok",{series}': 1, f'code="provider_rejected",{series}': 1}
    assert {name.partition(",")[2] for name in labelled(found, "agui_gate_tokens_total")} == {series}
    assert {row["model"] for row in usage} == {"qwen3:8b", "qwen3:8b-q4"}


async def test_a_summary_is_counted_by_the_model_that_writes_it() -> None:
    class Named(Parrot):
        vendor = "acme"

        def __init__(self, model: str) -> None:
            super().__init__()
            self.model, self.origin = model, f"acme:{model}"

        def _turn(self, request: Any) -> list[Any]:
            usage = Usage(provider="acme", model=f"{self.model}-2026", input_tokens=1, output_tokens=1)
            return [*says("hi"), TurnDone(usage=usage)]

    agent = Agent(name="a", model=Named("large"), history=Summary(over=100, keep=0, model=Named("small")))
    app = create_app(agent, store="memory://", settings=Settings(metrics="on"))
    async with started(app):
        for number in "12":
            await run(app, run_body("t", user("x" * 600, number)))
        found = await scrape(app)
    counted = labelled(found, "agui_gate_model_requests_total")
    by_model = {name.split('"')[3]: count for name, count in counted.items()}
    assert by_model == {"large": 2, "small": len(agent.history.model.requests)}  # type: ignore[union-attr]


@pytest.mark.parametrize("made", [AnthropicMessages, OpenAIChat, OpenAIResponses])
def test_a_model_is_called_what_it_was_asked_for_by(made: Any) -> None:
    adapter = made("ft:meta/llama:8b", base_url="http://127.0.0.1:1/v1", api_key="k")
    assert names_of(adapter) == (adapter.vendor, "ft:meta/llama:8b")


async def test_a_run_that_loses_its_lease_is_lost() -> None:
    class Losing(Parrot):
        async def stream(self, turn: Any) -> Any:
            (key,) = app.state.engine._runs
            app.state.engine._lost(key)
            await asyncio.Event().wait()
            yield []

    app = create_app(Agent(name="a", model=Losing()), store="memory://", settings=Settings(metrics="on"))
    async with started(app):
        await run(app, run_body("t", user("hi", "1")))
        found = await scrape(app)
    assert labelled(found, "agui_gate_runs_total") == {'agent="a",outcome="lost"': 1}
    assert found["agui_gate_leases_lost_total"] == 1
    assert 'code="cancelled"' in str(labelled(found, "agui_gate_model_requests_total"))


async def test_a_reader_that_takes_nothing_is_counted_as_dropped() -> None:
    app = app_of(send_timeout=0.1)
    body = json.dumps(run_body("t", user("hi", "1"))).encode()
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"",
        "root_path": "", "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip
    sent = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return sent.pop() if sent else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async with started(app):
        await app(scope, receive, send)
        found = await scrape(app)
    assert found["agui_gate_readers_dropped_total"] == 1
    assert found['agui_gate_streams_open{kind="run"}'] == 0
    assert found["agui_gate_first_event_seconds_count"] == 0


async def test_what_fails_unseen_is_counted_as_500() -> None:
    app = app_of()

    async def broken(request: Any) -> Any:
        raise RuntimeError

    app.router.add_route("/broken", broken)
    async with started(app):
        with pytest.raises(RuntimeError):
            await request(app, "GET", "/broken")
        assert (await request(app, "GET", "/nothing")).status == 404
        found = await scrape(app)
    assert labelled(found, "agui_gate_http_requests_total") == {
        'route="/broken",status="500"': 1,
        'route="other",status="404"': 1,
    }


PEOPLE = {
    "operator": Principal("o", roles=("operator",)),
    "user": Principal("u", roles=("user",)),
    "auditor": Principal("a", roles=("auditor",)),
    "nothing": Principal("n"),
    "text": "t",
}


@pytest.mark.parametrize(
    ("who", "status"),
    [("operator", 200), ("user", 403), ("auditor", 403), ("nothing", 403), ("text", 403), ("nobody", 401)],
)
@pytest.mark.parametrize("metrics", ["on", ""])
async def test_metrics_are_for_operators(who: str, status: int, metrics: str) -> None:
    def auth(asked: Request) -> Any:
        return PEOPLE.get(asked.headers.get("authorization", ""))

    app = app_of(auth=auth, metrics=metrics)
    async with started(app):
        answer = await request(app, "GET", "/metrics", headers={"authorization": who})
        assert answer.status == status
        found = await scrape(app, headers={"authorization": "operator"})
    refused = labelled(found, "agui_gate_auth_refused_total")
    reason = {401: "unauthorized", 403: "forbidden"}.get(status)
    assert refused == ({f'reason="{reason}"': 1} if reason and metrics else {})


async def test_without_auth_they_are_for_this_machine() -> None:
    app = app_of()
    async with started(app):
        assert (await request(app, "GET", "/metrics", client=("10.0.0.9", 5))).status == 403
        assert (await request(app, "GET", "/metrics", headers={"x-forwarded-for": "127.0.0.1"})).status == 403
        assert (await request(app, "GET", "/metrics")).status == 200
        assert (await request(app, "POST", "/metrics")).status == 404


async def test_nobody_is_named() -> None:
    secret = "s3cr3t"
    people = {"op": PEOPLE["operator"], "one": Principal(f"{secret}-id", f"{secret}-tenant", ("user",), f"{secret}-o")}
    app = app_of(auth=lambda asked: people.get(asked.headers.get("authorization", "")))
    head = {"authorization": "one"}
    async with started(app):
        await run(app, run_body(f"{secret}-thread", user("refund", "1"), runId=f"{secret}-run"), headers=head)
        listed = (await request(app, "GET", "/approvals", headers=head)).json()["approvals"]
        await request(app, "POST", f"/approvals/{listed[0]['id']}", b'{"approved": true}', head)
        await request(app, "GET", f"/threads/{secret}-thread", headers=head)
        await request(app, "GET", f"/{secret}", headers=head)
        text = (await request(app, "GET", "/metrics", headers={"authorization": "op"})).body.decode()
    assert 'tool="refund"' in text
    assert secret not in text
    labels = set(re.findall(r'[{,](\w+)="', text))
    assert labels <= {
        "agent", "outcome", "provider", "model", "code", "kind", "tool", "gated", "decision", "way", "operation",
        "state", "reason", "route", "status", "version", "revision", "schema", "le",
    }  # fmt: skip


def test_names_have_a_bound() -> None:
    names = Names(2)
    assert [names[name] for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


# --- what is read ----------------------------------------------------------------------------------------------------


async def test_what_waits_is_read_from_the_store_by_each_replica_alike(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    one, other = app_of(store=url), app_of(store=url)
    async with started(one), started(other):
        await run(one, run_body("t", user("refund", "1")))
        here, there = await scrape(one), await scrape(other)
    for found in (here, there):
        assert found['agui_gate_approvals{state="pending"}'] == 1
        assert found["agui_gate_store_up"] == 1
        assert found["agui_gate_draining"] == 0
    assert labelled(here, "agui_gate_runs_total") == {'agent="support",outcome="waiting"': 1}
    assert labelled(there, "agui_gate_runs_total") == {}, "each tells what it did itself"


async def test_a_store_that_is_away_is_down_and_its_figures_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    app = app_of(store=store, metrics="")

    async def away() -> Any:
        raise Unavailable("The store is not available.")

    async with started(app):
        monkeypatch.setattr(store, "backlog", away)
        found = await scrape(app)
    assert found["agui_gate_store_up"] == 0
    assert labelled(found, "agui_gate_approvals") == {}


class Full(MemoryStore):
    """A store whose disk is full. ``checks``: how often it was asked whether it can be written."""

    is_full, checks = True, 0

    async def check(self) -> None:
        self.checks += 1
        self._require_room()

    async def lease_thread(self, *args: Any, **more: Any) -> Any:
        self._require_room()
        return await super().lease_thread(*args, **more)

    def _require_room(self) -> None:
        if self.is_full:
            raise Unavailable("The store is not available: the disk is full.")


@pytest.mark.parametrize("usage", [False, True])
async def test_a_store_that_can_be_read_alone_is_down_once_it_has_failed(
    usage: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes to find out: an operation has failed, and until a check of both goes well it is down."""
    store = Full()
    app = app_of(store=store, usage=usage)
    monkeypatch.setattr(state, "FRESH_SECONDS", 0)
    async with started(app):
        for time in (0, 1):
            store.is_full = True
            assert ((await scrape(app))["agui_gate_store_up"], store.checks) == (1, time * 3)
            await request(app, "POST", "/", json.dumps(run_body("t", user("hello", "m"))).encode())
            assert [(await scrape(app))["agui_gate_store_up"] for _ in range(2)] == [0, 0]
            store.is_full = False
            assert [(await scrape(app))["agui_gate_store_up"] for _ in range(2)] == [1, 1]
            assert store.checks == time * 3 + 3


async def test_a_store_that_takes_long_keeps_no_scrape_waiting_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As SQLite does while it is locked: for five seconds, on the thread that all operations need."""
    assert state.READ_SECONDS < 1
    store, answers, asked = MemoryStore(), asyncio.Event(), 0
    app, backlog = app_of(store=store, metrics=""), store.backlog

    async def locked() -> Any:
        nonlocal asked
        asked += 1
        await answers.wait()
        return await backlog()

    async with started(app):
        monkeypatch.setattr(store, "backlog", locked)
        monkeypatch.setattr(state, "READ_SECONDS", 0.05)
        monkeypatch.setattr(state, "FRESH_SECONDS", 0)
        async with asyncio.timeout(10):
            found = [await scrape(app) for _ in range(3)]
        assert [(one["agui_gate_store_up"], one["agui_gate_bus_up"]) for one in found] == [(0, 1)] * 3
        assert (asked, labelled(found[0], "agui_gate_approvals")) == (1, {})
        answers.set()
        assert (await scrape(app))["agui_gate_store_up"] == 1
        answers.clear()
        assert (await scrape(app))["agui_gate_store_up"] == 0
        asking = {one for one in asyncio.all_tasks() if "ServerState._asked" in repr(one)}
        assert len(asking) == 1
    assert all(one.cancelled() for one in asking), "what is still asked ends with the server"


async def test_a_bus_that_is_away_is_down_and_the_store_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place()
    bus = SharedBus(WireInMemory(place))
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", bus=bus, settings=Settings())
    async with started(app):
        monkeypatch.setattr(state, "FRESH_SECONDS", 0)
        there = await scrape(app)
        place.go()
        gone = await scrape(app)
    assert [found["agui_gate_bus_up"] for found in (there, gone)] == [1, 0]
    assert gone["agui_gate_store_up"] == 1


async def test_what_nobody_answered_in_time_is_counted_by_who_found_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"

    @tool(gate=Gate(expires_after=0.001))
    async def hurry(order_id: str) -> str:
        """Refund soon."""
        return "refunded"

    agent = Agent(name="a", model=Parrot([[*calls("hurry", {"order_id": "A1"}, "c1", "1"), ad_done()]]), tools=[hurry])
    one, other = (create_app(agent, store=url, settings=Settings()) for _ in range(2))
    async with started(one), started(other):
        await run(one, run_body("t", user("refund", "1")))
        monkeypatch.setattr(state, "FRESH_SECONDS", 0)
        found = [0.0, 0.0]
        while not any(found):  # either of them may come first
            await one.state.engine.store.expire()
            found = [(await scrape(app))["agui_gate_expired_total"] for app in (one, other)]
    assert sorted(found) == [0, 1]


async def test_the_store_is_read_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of()
    async with started(app):
        found = [await asyncio.gather(*(scrape(app) for _ in range(20)))][0][-1]
    assert found['agui_gate_store_seconds_count{operation="backlog"}'] == 1


async def test_a_server_that_ends_says_so() -> None:
    app = app_of()
    async with started(app):
        await app.state.engine.drain()
        assert (await scrape(app))["agui_gate_draining"] == 1


async def test_without_the_setting_nothing_is_counted() -> None:
    app = app_of(metrics="")
    async with started(app):
        await run(app, run_body("t", user("hi", "1")))
        found = await scrape(app)
    told = {name.partition("{")[0] for name in found}
    assert told == {sample.name for family in described() for sample in family.samples}


# --- a port of its own -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(metrics: str) -> AsyncIterator[tuple[Any, str]]:
    app = app_of(metrics=metrics)
    async with started(app):
        meter = next(one for one in app.state.engine.extensions.all if hasattr(one, "families"))
        yield app, meter._listener.address


async def test_a_port_of_its_own_asks_nobody() -> None:
    async with served("127.0.0.1:0") as (app, url), httpx2.AsyncClient(trust_env=False) as client:
        await run(app, run_body("t", user("hi", "1")))
        answer = await client.get(url)
        assert figures(answer.text)['agui_gate_runs_total{agent="support",outcome="finished"}'] == 1
        assert (await client.head(url)).text == ""
        assert (await client.get(url.replace("metrics", "threads"))).status_code == 404
        assert (await client.post(url)).status_code == 404
    async with httpx2.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(url)


async def test_what_is_no_http_ends_the_connection() -> None:
    async def text() -> bytes:
        return b""

    listener = await Listener.open("127.0.0.1:0", text)
    port = int(listener.address.rpartition(":")[2].partition("/")[0])
    for garbage in (b"\r\n\r\n", b"x" * 70_000):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(garbage)
        if garbage.startswith(b"x"):
            writer.write_eof()
        said = await reader.read()
        assert said == b"" or said.startswith(b"HTTP/1.1 404")
        writer.close()
    await listener.aclose()


@pytest.fixture
def taken() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as sock:
        yield sock.getsockname()[1]


async def test_a_taken_port_stops_the_start_with_one_sentence(taken: int) -> None:
    app = app_of(metrics=f"127.0.0.1:{taken}")
    with pytest.raises(ConfigurationError, match=rf"127.0.0.1:{taken} of AGUI_GATE_METRICS is taken\. Each"):
        await app.state.engine.start()


@pytest.mark.parametrize("value", ["9090", ":", ":x", ":70000", "off", "http://a:1", "a b:1", True])
def test_what_is_no_address_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="metrics"):
        Settings(metrics=value)


def test_without_the_package_the_setting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("agui_gate.extras.metrics", "prometheus_client"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigurationError, match=r'pip install "agui-gate\[metrics\]"'):
        app_of()


# --- what is shipped -------------------------------------------------------------------------------------------------

_NAME = re.compile(r"agui_gate_\w+")


def names_of_samples() -> set[str]:
    """Every name that a query may use."""
    families = Families()
    for one in families.all:
        labels = ["x" for _ in one.labels]
        one.observe(1, *labels) if isinstance(one, Histogram) else one.inc(*labels)
    metrics = [*families.collect(), *described()]
    return {sample.name for family in metrics for sample in family.samples}


PROMISED: dict[str, tuple[str, ...]] = {
    "runs_total": ("agent", "outcome"),
    "runs_in_flight": (),
    "run_seconds": (),
    "first_event_seconds": (),
    "first_token_seconds": ("provider", "model"),
    "model_requests_total": ("provider", "model", "code"),
    "tokens_total": ("provider", "model", "kind"),
    "tool_calls_total": ("tool", "gated", "outcome"),
    "tool_seconds": ("tool",),
    "decisions_total": ("tool", "decision", "way"),
    "decision_wait_seconds": (),
    "answers_refused_total": ("code",),
    "streams_open": ("kind",),
    "readers_dropped_total": (),
    "leases_lost_total": (),
    "store_seconds": ("operation",),
    "auth_refused_total": ("reason",),
    "webhook_attempts_total": ("endpoint", "outcome"),
    "http_requests_total": ("route", "status"),
    "store_up": (),
    "bus_up": (),
    "draining": (),
    "build_info": ("version", "revision", "schema"),
    "approvals": ("state",),
    "approval_oldest_seconds": ("state",),
    "expired_total": (),
    "outbox_pending": (),
    "outbox_oldest_seconds": (),
}
"""Rules and boards of others ask for these: another name or label is a change that breaks them."""


def test_names_and_labels_stay() -> None:
    ours = {one.name: tuple(one.labels) for one in Families().all}
    for metric in described():
        (labels,) = {tuple(sample.labels) for sample in metric.samples}
        ours[metric.samples[0].name] = labels
    assert ours == {f"agui_gate_{name}": labels for name, labels in PROMISED.items()}


@pytest.mark.parametrize("name", ["alerts.yml", "board.json"])
def test_what_is_shipped_names_only_metrics_that_there_are(name: str) -> None:
    used = set(_NAME.findall((FILES / name).read_text()))
    assert len(used) > 6
    assert used - names_of_samples() == set()


def test_the_board_shows_every_metric() -> None:
    board = json.loads((FILES / "board.json").read_text())
    shown = set(_NAME.findall(json.dumps(board)))
    assert {name for name in names_of_samples() if not name.endswith(("_count", "_sum"))} - shown == set()


def test_the_board_is_what_grafana_imports() -> None:
    """Into any Grafana: it has no address of a source, but a variable that lists those that are there."""
    board = json.loads((FILES / "board.json").read_text())
    assert board.keys() & {"__inputs", "__requires", "id", "dashboard"} == set(), (
        "an export of one Grafana, or its API's"
    )
    assert {"uid", "title"} <= board.keys()
    assert board["schemaVersion"] >= 36
    (variable,) = board["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    cells = [cell for panel in board["panels"] for cell in _cells(**panel["gridPos"])]
    assert len(set(cells)) == len(cells), "panels that overlap are moved"
    assert max(x for x, _ in cells) < 24
    for panel in board["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": f"${{{variable['name']}}}"}
        assert panel["type"] in ("stat", "timeseries")
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            grouped = re.search(r" by \(([\w, ]+)\)", target["expr"])
            labels = set(grouped[1].split(", ")) - {"le"} if grouped else set()
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) == labels, "two lines of one name"


def _cells(*, x: int, y: int, w: int, h: int) -> set[tuple[int, int]]:
    return {(x + across, y + down) for across in range(w) for down in range(h)}
