"""Pages with a real client, in one Node process that obeys as `commands.mjs` says: see `copilotkit.mjs`."""

import asyncio
import atexit
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.interop.replay import HERE, unavailable
from tests.product.kit import Product, product
from tests.product.shop import say

TIMEOUT = 60.0
Json = dict[str, Any]
HANGING: Json = {
    "output": [say("word " * 200)],
    "when": {"user": "talk"},
    "fault": {"kind": "hang", "after_events": 12},
}
"""A text of which a part comes, and then nothing."""
BACK: Json = {"output": [say("Back.")], "repeat": True}


@dataclass(frozen=True)
class Client:
    """A script that obeys, the address that its pages are given (the server's, and this), and Node's own options."""

    script: str
    route: str = ""
    options: tuple[str, ...] = ()


COPILOTKIT = Client("copilotkit.mjs", "/copilotkit")
COPILOTKIT_ON_1_0 = Client("copilotkit.mjs", "/copilotkit", ("--import", (HERE / "on_1_0.mjs").as_uri()))
"""What CopilotKit does as soon as it takes client 1.0.0: its newest core, with that."""
TANSTACK = Client("foreign/tanstack.mjs")
ASSISTANT_UI = Client("foreign/assistant.mjs")


@dataclass(frozen=True)
class Seen:
    """What a person sees on a page. ``cards`` and ``interrupts`` are those that can be answered now."""

    messages: list[Json]
    cards: list[str]
    interrupts: list[Json]
    errors: list[Json]
    complaints: list[str]
    running: bool
    state: Any
    agents: list[str]

    @property
    def text(self) -> str:
        """The newest assistant text."""
        return next(
            (m["content"] for m in reversed(self.messages) if m["role"] == "assistant" and m.get("content")), ""
        )

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role and text of what was said, without tool messages."""
        return [(m["role"], m["content"]) for m in self.messages if m["role"] != "tool" and m.get("content")]

    @property
    def results(self) -> dict[str, str]:
        """What each call came to; a second result for one call is a failure."""
        found: dict[str, str] = {}
        for message in self.messages:
            if message["role"] == "tool":
                assert message["toolCallId"] not in found, f"two results for {message['toolCallId']}"
                found[message["toolCallId"]] = message["content"]
        return found

    @property
    def calls(self) -> dict[str, Json]:
        """The arguments of every call by its id, with its ``tool``."""
        calls = [call for message in self.messages for call in message.get("toolCalls", ())]
        assert len(calls) == len({call["id"] for call in calls})
        return {c["id"]: {"tool": c["function"]["name"], **json.loads(c["function"]["arguments"])} for c in calls}


_running: dict[Client, subprocess.Popen[bytes]] = {}
"""The Node process of each client: to start one takes longer than most tests."""


@dataclass
class Browser:
    """A Node process without any page, until it is told to forget all of them."""

    process: subprocess.Popen[bytes]
    client: Client
    replies: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    ids: Any = field(default_factory=lambda: count(1))

    async def call(self, page: int, what: str, **given: Any) -> Any:
        """One command; fails with what went wrong in Node."""
        number = next(self.ids)
        reply = self.replies[number] = asyncio.get_running_loop().create_future()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": number, "page": page, "do": what, **given}).encode() + b"\n")
        self.process.stdin.flush()
        async with asyncio.timeout(TIMEOUT):
            return await reply

    async def listen(self, said: asyncio.StreamReader) -> None:
        """Hand out the answers until the process ends."""
        async for line in said:
            answer = json.loads(line)
            reply = self.replies.pop(answer["id"])
            if reply.done():
                continue
            if "error" in answer:
                reply.set_exception(AssertionError(answer["error"]))
            else:
                reply.set_result(answer["value"])
        for reply in self.replies.values():
            reply.cancel("Node has ended")

    async def open(self, url: str, thread: str, **more: Any) -> "Page":
        """A new page (or the same one, reloaded) that shows ``thread``."""
        page = Page(self, next(self.ids))
        await page.do("open", url=f"{url}{self.client.route}", thread=thread, **more)
        return page


@dataclass(frozen=True)
class Page:
    """One page."""

    browser: Browser
    number: int

    async def do(self, what: str, **given: Any) -> Any:
        """Any command."""
        return await self.browser.call(self.number, what, **given)

    async def until(self, sight: str, **given: Any) -> Seen:
        """Wait until it is seen."""
        seen = await self.do("until", sight=sight, **given)
        return Seen(**{**seen, "cards": list(seen["cards"])})

    async def say(self, text: str, until: str = "idle") -> Seen:
        """Send a message and wait."""
        await self.do("say", text=text)
        return await self.until(until)


def fine(seen: Seen) -> Seen:
    """Nothing went wrong on the page."""
    assert (seen.errors, seen.complaints) == ([], [])
    return seen


async def idle(p: Product, thread: str) -> Json:
    """The thread when its run is over."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found: Json = await p.get(f"/threads/{thread}")
            if found["run"]["status"] != "running":
                return found


@asynccontextmanager
async def browser(client: Client | None = None) -> AsyncIterator[Browser]:
    """A Node process, whose pages are forgotten afterwards. CopilotKit's, unless it is said."""
    client = client or COPILOTKIT
    process = _process(client)
    assert process.stdout is not None
    said = asyncio.StreamReader(limit=16 * 1024 * 1024)
    end = os.fdopen(os.dup(process.stdout.fileno()), "rb", buffering=0)
    reading, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), end)
    started = Browser(process, client)
    listening = asyncio.create_task(started.listen(said))
    try:
        yield started
    finally:
        try:
            await started.call(0, "forget")
        except BaseException:
            process.kill()
            raise
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            reading.close()


def _process(client: Client) -> subprocess.Popen[bytes]:
    """The one of this client, which ends with the tests."""
    if (before := _running.get(client)) and before.poll() is None:
        return before
    if reason := unavailable():
        raise RuntimeError(f"the real clients can't be run: {reason}")
    script = HERE / client.script
    assert (script.parent / "node_modules").is_dir(), f"no clients in {script.parent}: run `make e2e`"
    process = _running[client] = subprocess.Popen(
        ["node", *client.options, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "NODE_NO_WARNINGS": "1", "NODE_ENV": "production"},
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.kill()


@asynccontextmanager
async def shown(
    tools: Any, turns: Any, *, client: Client | None = None, **options: Any
) -> AsyncIterator[tuple[Product, Browser]]:
    """A server, and a browser to look at it; the provider refuses nothing."""
    async with product(tools, turns, **options) as p, browser(client) as b:
        yield p, b
        p.assert_clean()
