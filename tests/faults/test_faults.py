"""Every fault of the table, through the whole product: one error or none, nothing leaks, and the next turn works.

The provider is on a real socket; after its fault it is the strict emulator, which refuses a thread that was poisoned.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, NamedTuple

import anyio
import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui
from structlog.testing import capture_logs

from agui_gate import Agent, create_app, tool
from agui_gate.adapter import Adapter
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, Stream, connecting, serving
from tests.interop.validate import decode
from tests.requirements import shows
from tests.support.servers import free_port

from .answers import ANSWERS
from .calls import CALLS
from .calls import CUTS as CALL_CUTS
from .fault import APIS, SECRET, UNAVAILABLE, Fault
from .framing import FRAMING
from .raw import MAKING, Played, RawProvider
from .refusals import NOT_MADE, REFUSALS, STATUSES
from .streams import CUTS as STREAM_CUTS
from .streams import STREAMS

pytestmark = [pytest.mark.anyio, shows("B13", "B19", "B25")]

TABLE = [*REFUSALS, *FRAMING, *STREAMS, *CALLS]
PATIENCE, HASTE = 5.0, 0.5
"""Seconds of silence."""
LIMIT = 60.0
MEMORIES = ("chain", "conversation")
"""The modes of the Responses API in which the provider remembers."""
_marks = count(1)
BACK = [{"output": [{"type": "message", "text": "Back."}], "repeat": True}]


class Ground:
    """One server with an agent for each API (and mode), all at one provider."""

    def __init__(self) -> None:
        self.emulator = Emulator(BACK)
        self.searches: list[str] = []
        self.provider, self.elsewhere = RawProvider(), RawProvider()
        self.http: Any = None
        self.url = self.elsewhere_url = ""

        @tool
        def search(q: str) -> str:
            """Search the shop."""
            self.searches.append(q)
            return f"found {len(q)}"

        self.tool = search

    def begin(self, fault: Fault, agent: str, mark: str = "") -> "Talk":
        """A new conversation in which this will happen, to its turns or to the requests with this mark."""
        mark = mark or f"#{next(_marks)}"
        answer = ANSWERS.get(agent, ANSWERS["responses"])
        played = self.provider.play(mark, lambda: fault.steps(answer(self.elsewhere_url)), fault.happens)
        path = f"/agents/{agent}{'-hasty' if fault.silent else ''}"
        return Talk(fault, played, mark, AGUIClient(self.http, self.url, path=path))


class Talk(NamedTuple):
    """A conversation that the fault happens to first."""

    fault: Fault
    played: Played
    mark: str
    client: AGUIClient

    async def fails(self) -> None:
        """The first turn is what the table says."""
        stream = await self.client.say(f"Hello? {self.mark}")
        check(stream, self.fault)
        assert self.played.turns == self.fault.asked
        assert self.fault.most is None or self.played.taken < self.fault.most

    async def goes_on(self) -> None:
        """The next turn works."""
        back = await self.client.say("And now?")
        assert (back.error, back.text) == (None, "Back.")
        valid(back, "AGUI207")  # results of calls that an earlier run made


def adapters(url: str, timeout: float) -> dict[str, Adapter]:
    """One for each API, and for each way in which the Responses API remembers."""
    more: dict[str, Any] = {"api_key": "k", "timeout": timeout}
    return {
        "responses": OpenAIResponses("gpt-test", mode="stateless", base_url=f"{url}/v1", **more),
        "chain": OpenAIResponses("gpt-test", mode="chain", base_url=f"{url}/v1", **more),
        "conversation": OpenAIResponses("gpt-test", mode="conversation", base_url=f"{url}/v1", **more),
        "chat": OpenAIChat("gpt-test", base_url=f"{url}/v1", **more),
        "messages": AnthropicMessages("claude-test", base_url=url, **more),
    }


@pytest.fixture(scope="module")
async def ground() -> AsyncIterator[Ground]:
    it = Ground()
    async with AsyncExitStack() as stack:
        it.provider = RawProvider(await stack.enter_async_context(serve(it.emulator)))
        url = await stack.enter_async_context(it.provider.serving())
        it.elsewhere_url = await stack.enter_async_context(it.elsewhere.serving())
        models = adapters(url, PATIENCE) | {f"{name}-hasty": model for name, model in adapters(url, HASTE).items()}
        agents = [Agent(name=name, model=model, tools=[it.tool]) for name, model in models.items()]
        it.url = await stack.enter_async_context(serving(create_app(*agents, store="memory://")))
        it.http = await stack.enter_async_context(connecting())
        yield it


@pytest.fixture
def _nothing_crashes(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What crashes is logged: by the server, by uvicorn, or by asyncio."""
    uvicorn = logging.getLogger("uvicorn")
    uvicorn.addHandler(caplog.handler)
    with capture_logs() as entries:
        yield
    uvicorn.removeHandler(caplog.handler)
    assert [entry for entry in entries if entry["log_level"] in ("error", "critical")] == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def check(stream: Stream, fault: Fault) -> None:
    """What the client was sent is what the table says, and no word of it is the provider's."""
    valid(stream, *(["AGUI204"] if fault.garbled else []))
    assert stream.error == fault.code, stream[-1]
    assert len(stream.of("RUN_ERROR") + stream.of("RUN_FINISHED")) == 1
    assert (stream.text, len(stream.calls)) == (fault.text, fault.chips)
    assert stream.results.keys() == stream.calls.keys()
    assert [word for word in (*SECRET.split(), "<html", "Traceback") if word in stream.raw] == []
    if fault.code:
        assert 10 < len(stream[-1]["message"]) < 200


def valid(stream: Stream, *but: str) -> None:
    """The stream breaks no rule of the catalogue, but perhaps these."""
    assert_valid_agui(decode(stream.raw), severity_overrides=dict.fromkeys(but, "warning"))


def param(case: tuple[Fault, str]) -> Any:
    name = case[0].name, case[1]
    return pytest.param(*case, id="-".join(name), marks=pytest.mark.spare if name in LEFT else ())


CASES = [(fault, api) for fault in TABLE if not fault.silent for api in fault.only]
LEFT = {(fault.name, fault.only[n % 3]) for n, fault in enumerate(TABLE) if len(fault.only) == 3}
"""Of a fault that happens to all APIs, the case of one of them in turn; `--every` has it too."""
REMEMBERED = [f for f in (*STATUSES, *STREAM_CUTS, *CALL_CUTS) if not (f.silent or f.most)]
MODES = [
    pytest.param(fault, memory, id=f"{fault.name}-{memory}", marks=() if n % 4 == 0 else pytest.mark.spare)
    for n, (fault, memory) in enumerate(zip(REMEMBERED, (MEMORIES[i // 4 % 2] for i in count()), strict=False))
]


@pytest.mark.usefixtures("_nothing_crashes")
@pytest.mark.parametrize(("fault", "api"), [*map(param, CASES), *MODES])
async def test_a_fault_is_told_once_and_the_next_turn_works(ground: Ground, fault: Fault, api: str) -> None:
    ground.emulator.reset()
    ground.searches.clear()
    talk = ground.begin(fault, api)
    with anyio.fail_after(LIMIT):
        await talk.fails()
        assert tuple(sorted(ground.searches)) == fault.ran
        await talk.goes_on()
    assert [(entry.rule, entry.error) for entry in ground.emulator.refusals] == []
    assert ground.elsewhere.requests == 0


@pytest.mark.usefixtures("_nothing_crashes")
async def test_a_minute_of_silence_ends_whatever_it_began_in(ground: Ground) -> None:
    """All at once, so that it is one minute."""
    ground.emulator.reset()
    ground.searches.clear()
    talks = [ground.begin(fault, api) for fault in TABLE if fault.silent for api in fault.only]
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as group:
            for talk in talks:
                group.start_soon(talk.fails)
        for talk in talks:
            await talk.goes_on()
    assert (ground.searches, ground.emulator.refusals) == ([], [])


@pytest.mark.usefixtures("_nothing_crashes")
@pytest.mark.parametrize("fault", NOT_MADE, ids=lambda fault: fault.name)
async def test_a_conversation_that_is_not_made(ground: Ground, fault: Fault) -> None:
    ground.emulator.reset()
    talk = ground.begin(fault, "conversation", MAKING)
    with anyio.fail_after(LIMIT):
        await talk.fails()
        await talk.goes_on()
    assert (ground.emulator.refusals, ground.elsewhere.requests) == ([], 0)


@pytest.mark.usefixtures("_nothing_crashes")
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("where", ["a closed port", "a server without TLS"])
async def test_nobody_is_there(ground: Ground, api: str, where: str) -> None:
    closed = f"http://127.0.0.1:{free_port()}"
    model = adapters(closed if where == "a closed port" else ground.url.replace("http:", "https:"), PATIENCE)[api]
    fault = Fault(where, lambda answer: [], UNAVAILABLE)
    async with serving(create_app(Agent(name="away", model=model), store="memory://")) as url:
        with anyio.fail_after(LIMIT):
            check(await AGUIClient(ground.http, url).say("Hello?"), fault)


def test_the_table_has_sixty_faults_for_every_api() -> None:
    names = [fault.name for fault in TABLE]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    for api in APIS:
        assert len([fault for fault in TABLE if fault.code and api in fault.only]) >= 60
