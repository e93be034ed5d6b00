"""A click that is cut short at any moment, in a real server: what each party was told is what is recorded and what ran.

The server stops itself so many steps after the click (`tests.crash.clicked`), and goes on when the cut is on its way to
it. `--offsets 200` takes all moments; else some of them are taken, spread evenly.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest

from agui_gate.core import result_texts
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit import serve as emulate
from tests.crash.clicked import CLICK, Start
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery, Replica, nursery
from tests.crash.trail import trail
from tests.crash.world import Effect, crowd_script
from tests.product.kit import TIMEOUT, Chat, Product, Stream, client_of, parse
from tests.product.shop import call
from tests.requirements import shows
from tests.support.pairwise import pairs

pytestmark = [pytest.mark.anyio, shows("B1", "B5", "B9", "S29", "S30")]

Json = dict[str, Any]
YES = {"approved": True}
MOMENTS = 200
STRIDE = {"post": 25, "run": 60}
"""Steps from one moment to the next. Two hundred of them are more than most clicks have."""
SHARE = 10
"""One in so many of the moments of `tests.approvals.test_click_cut_short`, which starts no processes."""
CUTS = ("SIGTERM, drain 0", "SIGTERM", "SIGTERM twice", "closed connection", "cancel")
CUT_OFF = {"failed", "unknown"}
NOT_DECIDED = ("This was stopped before it was decided.", "The server is shutting down")
ENDS = ("RUN_FINISHED", "RUN_ERROR")


def moments(number: int, first: int) -> list[int]:
    """So many of all moments, spread evenly, from the ``first`` on."""
    return sorted((first + index * MOMENTS // number) % MOMENTS for index in range(number))


class Clicked(msgspec.Struct):
    """One click and what came of it. ``status``: 0 if nothing was heard; ``body`` is all that was."""

    chat: Chat
    approval_id: str
    call_id: str
    order: str
    status: int = 0
    body: str = ""
    whole: bool = False

    async def click(self, client: httpx2.AsyncClient, url: str, way: str, steps: str) -> None:
        """Approve it, and listen for as long as there is something to hear."""
        path = f"/approvals/{self.approval_id}" if way == "post" else "/"
        answer = [{"interruptId": self.approval_id, "status": "resolved", "payload": YES}]
        body = YES if way == "post" else self.chat.body(resume=answer)
        with suppress(httpx2.HTTPError):
            async with client.stream("POST", url + path, json=body, headers={CLICK: steps}) as response:
                self.status = response.status_code
                async for text in response.aiter_text():
                    self.body += text
            self.whole = True

    @property
    def stream(self) -> Stream:
        """The events that were heard."""
        return parse(self.body[: self.body.rfind("\n\n") + 2])


class Shop:
    """A store, a provider, and servers that come and go."""

    def __init__(self, home: Nursery, start: Start, emulator: Emulator, client: httpx2.AsyncClient) -> None:
        self.home, self.start, self.emulator, self.client = home, start, emulator, client

    def server(self, **more: Any) -> Product:
        """One more process, and how it is spoken to."""
        replica = self.home.start(msgspec.structs.replace(self.start, **more))
        return Product(self.emulator, replica, replica.url, self.client)

    async def asked(self, number: int) -> list[Clicked]:
        """So many calls that wait for somebody, each on a thread of its own."""
        server = self.server()

        async def ask(order: str) -> Clicked:
            chat = server.chat()
            (interrupt,) = (await chat.say(f"order {order}")).interrupts
            return Clicked(chat, interrupt["id"], interrupt["toolCallId"], order)

        asked = [await ask(f"P{index}") for index in range(number)]
        await ended(server)
        return asked

    def ran(self, order: str) -> list[str]:
        """What the tool did for an order."""
        path = Path(self.start.effects)
        lines = path.read_text().splitlines() if path.exists() else []
        effects = [msgspec.json.decode(line, type=Effect) for line in lines]
        return [effect.tool for effect in effects if effect.order == order]


async def ended(server: Product) -> None:
    """Tell it to stop, and wait until it has."""
    server.app.signal(signal.SIGTERM)
    await server.app.gone()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Where servers come from."""
    with nursery(tmp_path_factory.mktemp("clicked") / "log", module="tests.crash.clicked") as found:
        yield found


@asynccontextmanager
async def shop(home: Nursery, ground: Ground, folder: Path, number: int) -> AsyncIterator[Shop]:
    """A shop in which so many things can be ordered."""
    orders = {f"order P{index}": [call("pay", order=f"P{index}")] for index in range(number)}
    emulator = Emulator(script=crowd_script(orders))
    async with emulate(emulator) as provider, client_of() as client:
        start = Start(store=ground.url, provider=provider, effects=str(folder / "effects"))
        try:
            yield Shop(home, start, emulator, client)
        finally:
            await home.empty()


@asynccontextmanager
async def cancelling(url: str, thread_id: str) -> AsyncIterator[asyncio.StreamReader]:
    """The answer to a cancel request that is on its way: all of it has been sent."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    head = f"POST /threads/{thread_id}/cancel HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    try:
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def cut(server: Product, how: str, clicked: Clicked, way: str, moment: int) -> None:
    """Click, and cut in at that moment after it. Servers that were told to stop have ended then."""
    replica: Replica = server.app
    after = moment * STRIDE[way]
    steps = f"{after // 2},{after}" if how == "SIGTERM twice" else str(after)
    clicking = asyncio.create_task(clicked.click(server.client, server.url, way, steps))
    await replica.stopped()
    if how == "closed connection":
        clicking.cancel()
        with suppress(asyncio.CancelledError):
            await clicking
        replica.signal(signal.SIGCONT)
    elif how == "cancel":
        async with cancelling(server.url, clicked.chat.thread_id) as answer:
            replica.signal(signal.SIGCONT)
            assert (await answer.read()).startswith(b"HTTP/1.1 200")
        await clicking
    else:
        replica.signal(signal.SIGTERM)
        replica.signal(signal.SIGCONT)
        if how == "SIGTERM twice":
            await replica.stopped()
            replica.signal(signal.SIGTERM)
            replica.signal(signal.SIGCONT)
        await clicking
        await replica.gone()


async def wrong(server: Product, clicked: Clicked, ran: Sequence[str], way: str) -> tuple[str, list[str]]:
    """The state of its record, and what the record, the effects, the conversation and what was told say otherwise."""
    record = await server.get(f"/approvals/{clicked.approval_id}")
    thread = await server.get(f"/threads/{clicked.chat.thread_id}")
    state, result = record["state"], record["result"]
    kept = [m["content"] for m in thread["messages"] if m.get("toolCallId") == clicked.call_id]
    effects: dict[str, tuple[list[list[str]], str | None]] = {
        "pending": ([[]], None),
        "failed": ([[]], result_texts.NOT_STARTED.content),
        "unknown": ([["began"], ["began", "paid"]], result_texts.INTERRUPTED.content),
        "done": ([["began", "paid"]], f"paid {clicked.order}"),
    }
    found = []
    if state not in effects:
        return state, [f"it is {state}"]
    may, output = effects[state]
    if list(ran) not in may or result != output:
        found.append(f"it is {state} ({result}), and {ran} ran")
    if kept != ([] if result is None else [result]):
        found.append(f"the conversation says {kept}")
    if thread["run"]["status"] == "running":
        found.append("its thread is at work")
    return state, found + (posted(clicked, state, result) if way == "post" else streamed(clicked, result))


def posted(clicked: Clicked, state: str, result: str | None) -> list[str]:
    """What the answer to POST /approvals/{id} says otherwise."""
    if not clicked.whole:
        return []
    told = msgspec.json.decode(clicked.body)
    if clicked.status == 200:
        return [] if (told["state"], told["result"]) == (state, result) else [f"the approver was told {told}"]
    refused = clicked.status in (409, 503) and told["error"]["message"].startswith(NOT_DECIDED)
    return [] if refused and state == "pending" else [f"the approver was told {told}"]


def streamed(clicked: Clicked, result: str | None) -> list[str]:
    """What the run's stream says otherwise."""
    if clicked.status != 200:
        return [] if result is None or not clicked.whole else [f"the run was refused: {clicked.body}"]
    told = clicked.stream.results.get(clicked.call_id)
    ends = [event["type"] for event in clicked.stream if event["type"] in ENDS]
    if clicked.whole and len(ends) != 1:
        return [f"the stream ended {len(ends)} times"]
    return [] if told == result or (told is None and not clicked.whole) else [f"the stream said {told!r}"]


@pytest.mark.parametrize(
    ("ground", "way", "how"), pairs(["sqlite", "postgres"], ["post", "run"], CUTS), indirect=["ground"]
)
async def test_what_is_told_is_what_came_of_it(
    home: Nursery, ground: Ground, way: str, how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    offsets = request.config.getoption("--offsets")
    every = offsets >= MOMENTS
    when = moments(MOMENTS if every else offsets // SHARE, 7 * CUTS.index(how) + 13 * (way == "run"))
    before = len(home.log.read_text())
    async with shop(home, ground, tmp_path, len(when)) as s:
        asked = await s.asked(len(when))
        more = {"drain": 0.0} if how == "SIGTERM, drain 0" else {}
        server = None
        for moment, clicked in zip(when, asked, strict=True):
            async with asyncio.timeout(TIMEOUT):
                if server is None or "SIGTERM" in how:
                    server = s.server(**more)
                await cut(server, how, clicked, way, moment)
        if server is not None and "SIGTERM" not in how:
            await ended(server)
        server, states, found = s.server(), dict[str, str](), list[str]()
        for moment, clicked in zip(when, asked, strict=True):
            state, problems = await wrong(server, clicked, s.ran(clicked.order), way)
            states[clicked.approval_id] = state
            found += [f"moment {moment}: {problem}" for problem in problems]
        found += (await trail(ground.url, states)).broken
        log = home.log.read_text()[before:]
        found += ["a server wrote a traceback"] * log.count("Traceback")
        assert not found, "\n".join([*found, log[-3000:]])
        print(*(f"{moment}:{state}" for moment, state in zip(when, states.values(), strict=True)))
        came = set(states.values())
        if how == "SIGTERM" or (how, way) == ("closed connection", "post"):
            assert not came & CUT_OFF, "what was approved runs to its end"
        elif every:  # how long a leaving is let be has a part in when it is noticed
            middle = set() if how == "closed connection" else {"unknown"}
            assert came >= {"failed", "done"} | middle, "it was cut in before the tool began, in it, and after it"
