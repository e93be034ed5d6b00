"""What the user sent is restated in every snapshot: each real client takes it, in the shapes that it asked for.

A client of 0.0.59 that says no version is sent what its schema takes; one of 1.0.0 has everything back (VER-6, TOOL-3).
Behind a Node runtime a page of 0.0.59 is sent what the runtime declared. It fails on the whole snapshot for one file
handle or one list, unless the operator says `compat`.
"""

import asyncio
from typing import Any

import pytest

from agui_gate.config.settings import Settings
from agui_gate_adapters.testkit.agui import AGUIClient
from tests.conforming import conforms
from tests.interop.replay import Case, Result, Run, assert_accepted, replay
from tests.product.kit import Stream, parse, product
from tests.product.shop import COLOR, PICK, Shop, refund, say
from tests.requirements import shows

pytestmark = [pytest.mark.interop, shows("B14", "B21"), conforms("VER-6", "VER-8", "STATE-2", "TOOL-3")]

Json = dict[str, Any]
OLD, NEW = "0.0.59", "1.0.0"
META = {"acme": {"a": [1, None]}}
FILE = {"type": "file", "value": "file-1", "provider": "acme", "mimeType": "image/png"}
PNG = {"type": "data", "value": "QUJD", "mimeType": "image/png"}
LOOK: Json = {
    "id": "look",
    "role": "user",
    "name": "Bo",
    "metadata": META,
    "content": [{"type": "text", "text": "Look", "id": "p1"}, {"type": "image", "source": FILE, "metadata": META}],
}
GREEN: Json = {
    "id": "green",
    "role": "tool",
    "content": [{"type": "text", "text": "green"}, {"type": "image", "source": PNG}],
}
LISTS = {"file": [LOOK], "list": [{"id": "hi", "role": "user", "content": "paint"}]}
CASES = [(way, kind) for way in ("old", "new", "compat") for kind in LISTS]


async def held(way: str, kind: str) -> list[Stream]:
    """Asked, approved, and connected to; a picked colour comes first where the result is a list."""
    turns: list[Json] = [{"output": [PICK]}] if kind == "list" else []
    turns += [{"output": [refund()]}, {"output": [say("Done.")], "repeat": True}]
    settings = Settings(dialect="compat" if way == "compat" else "auto")
    async with product(Shop().tools, turns, mode="stateless", settings=settings) as p:
        extra = {} if way == "old" else {"protocolVersion": "1.0"}
        # What `compat` sends to those who declare 1.0 is no stream of 1.0: it isn't judged.
        chat = AGUIClient(p.client, p.url, extra=extra) if way == "compat" else p.chat(extra=extra)
        chat.tools, chat.messages = [COLOR], [*LISTS[kind]]
        asked = await chat.go()
        if kind == "list":
            (picked,) = asked.calls
            chat.messages.append({**GREEN, "toolCallId": picked})
            asked = await chat.go()
        await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        body = {**chat.body(), "messages": []}
        back = parse((await p.client.post(f"{p.url}/agents/support/connect", json=body)).text)
        back.input = body
        return [*chat.streams, back]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    async def all_of_them() -> list[Case]:
        found = []
        for way, kind in CASES:
            found.append(Case(f"{way} {kind}", [Run(s.raw, s.input) for s in await held(way, kind)]))
        return found

    return {(f"{r.case} {r.version}"): r for r in replay(asyncio.run(all_of_them()))}


def of(results: dict[str, Result], *key: str) -> tuple[Result, Json]:
    """What a client made of a case, and the message in question as it has it in the end."""
    result = results[" ".join(key)]
    (message,) = [m for m in result.last.messages if m["id"] == ("look" if key[1] == "file" else "green")]
    return result, message


def test_a_page_of_0_x_has_what_its_schema_takes(results: dict[str, Result]) -> None:
    for way in ("old", "compat"):
        file, look = of(results, way, "file", OLD)
        listed, green = of(results, way, "list", OLD)
        assert_accepted([file, listed])
        assert look["content"] == [{"type": "text", "text": "Look"}]
        assert (look["name"], look["metadata"]) == ("Bo", META)
        assert green["content"] == "green"


def test_a_page_of_1_0_has_it_back_as_it_was(results: dict[str, Result]) -> None:
    file, look = of(results, "new", "file", NEW)
    listed, green = of(results, "new", "list", NEW)
    assert_accepted([file, listed])
    assert look == LOOK
    assert green["content"] == GREEN["content"]


@pytest.mark.parametrize("kind", LISTS)
def test_a_page_of_0_x_behind_a_runtime_of_1_0_fails_on_it(kind: str, results: dict[str, Result]) -> None:
    """docs/clients.md#shapes. The runs do what they do; the page is not told."""
    result, _ = of(results, "new", kind, OLD)
    assert not result.accepted
    assert "ZodError" in (result.error or "")
    assert result.last.accepted is False, "coming back doesn't help"
    assert [run.pending_interrupts for run in result.runs] == [[]] * len(result.runs)
