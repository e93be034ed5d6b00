"""What an agent is said to do, and that it does: a test for each claim, and nothing that is not known."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities
from pydantic import BaseModel

from agui_gate import Agent, create_app
from agui_gate.adapter import Abilities, Adapter, Finding
from agui_gate.agents.tool import Tool
from agui_gate.config.settings import Settings
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.conforming import conforms
from tests.interop.replay import Case, Run, assert_accepted, replay
from tests.product.inprocess import Parrot
from tests.product.kit import CARD_TOOL, Product, client_of, product, running
from tests.product.shop import Shop, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14")]

Json = dict[str, Any]
Make = Callable[[str], Adapter]

ENABLED = {"type": "enabled", "budget_tokens": 2048}
MCP = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example/mcp"}
PAY = {"name": "pay", "input_schema": {"type": "object"}}
LISTED = {"type": "mcp_list_tools", "server_label": "crm", "tools": [PAY]}
ASKS = {"type": "mcp_approval_request", "server_label": "crm", "name": "pay", "arguments": "{}"}
RAN = {"type": "code_interpreter_call", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]}
THOUGHT = {"type": "reasoning", "summary": ["Hm."]}


def responses(**more: Any) -> Make:
    return lambda url: OpenAIResponses("m", base_url=url, api_key="k", **more)


def chat(**more: Any) -> Make:
    return lambda url: OpenAIChat("m", base_url=url, api_key="k", **more)


def anthropic(**more: Any) -> Make:
    return lambda url: AnthropicMessages("m", base_url=url, api_key="k", **more)


@asynccontextmanager
async def served(make: Make, turns: Any, tools: Sequence[Any] = (), **agent: Any) -> AsyncIterator[Product]:
    emulator = Emulator(script=turns)
    async with serve(emulator) as address:
        made = Agent(name="support", model=make(address), tools=tools, **agent)
        app = create_app(made, store="memory://", settings=Settings())
        async with running(app) as url, client_of() as client:
            yield Product(emulator, app, url, client)


async def claims(p: Product) -> Json:
    found = await p.get("/agents/support/capabilities")
    del found["status_code"]
    info = await p.get("/copilotkit/info")
    assert info["agents"]["support"]["capabilities"] == found
    check_closed(AgentCapabilities.model_validate(found))
    return dict(found)


def check_closed(read: BaseModel) -> None:
    """Nothing in it, at any depth, is unknown to the protocol's own model."""
    assert not read.model_extra
    for name in type(read).model_fields:
        value = getattr(read, name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, BaseModel) and name != "items":
                check_closed(one)


# --- what the server does itself ----------------------------------------------------------------------------------


@conforms("CAP-1", "CAP-2", "CAP-3")
async def test_of_an_unknown_model_nothing_is_claimed() -> None:
    async with served(lambda _: Parrot(), script(), max_turns=7) as p:
        assert await claims(p) == {
            "identity": {"name": "support", "type": "agui-gate"},
            "transport": {"streaming": True, "websocket": False, "httpBinary": False, "pushNotifications": False},
            "tools": {"supported": True, "items": [], "parallelCalls": True, "clientProvided": True},
            "state": {"snapshots": True, "deltas": True, "persistentState": True},
            "execution": {"maxIterations": 7},
            "humanInTheLoop": {"supported": False, "approvals": False, "interrupts": False},
        }


@conforms("CAP-2", "CAP-3")
async def test_tools_are_the_agents_own() -> None:
    async with served(lambda _: Parrot(), script(), Shop().tools, description="Helps.") as p:
        theirs = {"name": "paint", "description": "Paint.", "parameters": {"type": "object", "properties": {}}}
        await p.chat(tools=[theirs]).say("hello")
        found = await claims(p)
        assert [item["name"] for item in found["tools"]["items"]] == ["refund", "ship", "search"]
        assert found["identity"]["description"] == "Helps."


# --- people -------------------------------------------------------------------------------------------------------

EDITABLE = {"supported": True, "approvals": True, "interrupts": True, "approveWithEdits": True}


@conforms("CAP-2")
@pytest.mark.parametrize(
    ("hitl", "editable", "said"),
    [
        ("auto", ["amount"], EDITABLE),
        ("interrupt", ["amount"], EDITABLE),
        ("interrupt", [], {**EDITABLE, "approveWithEdits": False}),
        ("card", ["amount"], {"supported": True, "approvals": True, "interrupts": False}),
    ],
)
async def test_who_is_asked_and_how(hitl: str, editable: list[str], said: Json) -> None:
    """Editing is `editedArgs` in the answer to an interrupt, so a card says nothing of it."""
    shop = Shop(editable=editable)
    async with product(shop.tools, script(refund()), hitl=hitl) as p:
        assert (await claims(p))["humanInTheLoop"] == said
        asked = await p.chat(tools=[CARD_TOOL] if hitl == "card" else []).say("refund A1")
        assert bool(asked.interrupts) is said["interrupts"]
        edits = [ask for ask in asked.interrupts if "editedArgs" in ask["responseSchema"]["properties"]]
        assert bool(edits) is said.get("approveWithEdits", False)


@conforms("CAP-2")
@pytest.mark.parametrize("requires", ["always", "never"])
async def test_a_hosted_tool_may_ask(requires: str) -> None:
    hosted = responses(hosted_tools=[{**MCP, "require_approval": requires}])
    async with served(hosted, [{"output": [LISTED, ASKS]}]) as p:
        said = (await claims(p))["humanInTheLoop"]
        assert said["approvals"] is said["supported"] is (requires == "always")
        if requires == "always":
            assert (await p.chat().say("pay")).interrupts


class Away:
    """A source of tools that have yet to be found."""

    name = "away"

    async def tools(self) -> Sequence[Tool]:
        """None, so far."""
        return ()

    async def check(self) -> Sequence[Finding]:
        """Nothing to check."""
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""


@conforms("CAP-2")
async def test_whether_tools_that_are_found_elsewhere_ask_is_not_known() -> None:
    async with served(lambda _: Parrot(), script(), [Away()]) as p:
        assert "humanInTheLoop" not in await claims(p)


# --- the model ----------------------------------------------------------------------------------------------------


@conforms("CAP-2")
@pytest.mark.parametrize(
    ("make", "said", "shown"),
    [
        (responses(), None, set()),
        (responses(reasoning={"effort": "none"}), None, set()),
        (responses(reasoning={"effort": "low"}, mode="stateless"),
         {"supported": True, "encrypted": True}, {"ENCRYPTED"}),
        (responses(reasoning={"effort": "low", "summary": "auto"}, mode="chain"),
         {"supported": True, "streaming": True}, {"CONTENT"}),
        (chat(), None, set()),
        (chat(reasoning_effort="low"), {"supported": True}, set()),
        (anthropic(), None, set()),
        (anthropic(thinking=ENABLED), {"supported": True, "encrypted": True}, {"ENCRYPTED"}),
        (anthropic(thinking={**ENABLED, "display": "summarized"}),
         {"supported": True, "streaming": True, "encrypted": True}, {"CONTENT", "ENCRYPTED"}),
    ],
)  # fmt: skip
async def test_reasoning(make: Make, said: Json | None, shown: set[str]) -> None:
    """What is claimed is streamed."""
    async with served(make, [{"output": [THOUGHT, say("Hello.")]}]) as p:
        assert (await claims(p)).get("reasoning") == said
        if shown:
            types = (await p.chat().say("hello")).types()
            assert ("REASONING_MESSAGE_CONTENT" in types) or "CONTENT" not in shown
            assert ("REASONING_ENCRYPTED_VALUE" in types) or "ENCRYPTED" not in shown


@conforms("CAP-2")
async def test_code_is_run_by_the_provider() -> None:
    code = {"type": "code_interpreter", "container": {"type": "auto"}}
    async with served(responses(hosted_tools=[code]), [{"output": [RAN, say("1")]}]) as p:
        assert (await claims(p))["execution"] == {"codeExecution": True, "sandboxed": True, "maxIterations": 20}
        assert "code_interpreter" in (await p.chat().say("run it")).calls.values()
    async with served(responses(), script()) as p:
        assert (await claims(p))["execution"] == {"maxIterations": 20}


DATA = base64.b64encode(b"RIFF$\0\0\0WAVEfmt ").decode()
KINDS = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "pdf": "application/pdf"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()


@conforms("CAP-2")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (responses(), {"audio": False, "video": False}),
        (anthropic(), {"audio": False, "video": False}),
        (chat(), {"video": False}),
        (chat(profile="ollama"), {"audio": False, "video": False, "pdf": False, "file": False}),
        (chat(profile="deepseek"), {"image": False, "audio": False, "video": False, "pdf": False, "file": False}),
    ],
    ids=["responses", "anthropic", "openai", "ollama", "deepseek"],
)
async def test_what_a_model_is_never_sent_is_said(make: Make, said: Json) -> None:
    """And nothing of what it may be sent, since that is the model's to take or refuse."""
    async with served(make, [{"output": [say("Well.")], "repeat": True}]) as p:
        assert (await claims(p))["multimodal"]["input"] == said
        for kind in said.keys() & KINDS.keys():
            value = {"image": PIXEL, "pdf": PDF}.get(kind, DATA)
            part = {"type": "document" if kind == "pdf" else kind}
            part |= {"source": {"type": "data", "value": value, "mimeType": KINDS[kind]}}
            page = p.chat(messages=[{"id": "u", "role": "user", "content": [part]}])
            await page.go()
            assert value not in json.dumps(p.emulator.accepted[-1].body), kind


@conforms("CAP-2")
@pytest.mark.parametrize("make", [responses, chat, anthropic])
async def test_who_chose_the_model_may_declare(make: Callable[..., Make]) -> None:
    declares = Abilities(image=True, pdf=True, audio=True, reasoning=True, reasoning_shown=False)
    async with served(make(declares=declares), script()) as p:
        found = await claims(p)
        assert found["reasoning"] == {"supported": True, "streaming": False}
        assert found["multimodal"]["input"] == {"image": True, "audio": True, "video": False, "pdf": True}


@conforms("CAP-1", "CAP-2")
async def test_of_a_team_what_holds_for_all_of_it() -> None:
    """People are asked whoever of it answers; of models, only what is the same for all is claimed."""

    def made(url: str, name: str, *, image: bool, tools: Sequence[Any] = ()) -> Agent:
        known = Abilities(image=image, reasoning=True)
        return Agent(name=name, model=OpenAIResponses("m", base_url=url, api_key="k", declares=known), tools=tools)

    async with serve(Emulator(script=script())) as address:
        support, billing = (
            made(address, "support", image=True),
            made(address, "billing", image=False, tools=Shop().tools),
        )
        support.handoffs.append(billing)
        async with running(create_app(support, store="memory://", settings=Settings())) as url, client_of() as client:
            found = await claims(Product(Emulator(script=script()), None, url, client))
    assert found["multiAgent"] == {"supported": True, "handoffs": True}
    assert found["tools"]["items"] == [], "its own alone"
    assert found["humanInTheLoop"]["approvals"] is True
    assert found["reasoning"]["supported"] is True
    assert "image" not in found["multimodal"]["input"]


# --- names of our own ---------------------------------------------------------------------------------------------


@conforms("META-1")
@pytest.mark.parametrize("says", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.0"])
async def test_what_an_interrupt_says_beside_has_our_prefix(says: Json) -> None:
    """And stands there by itself too, as pages have read it from the start."""
    shop = Shop(editable=["amount"], expires_after=60)
    async with product(shop.tools, script(refund())) as p:
        page = p.chat()
        asked = await page.say("refund A1", **says)
        again = await page.resume((asked.interrupts[0]["id"], {"approved": "perhaps"}), **says)
        for stream, more in ((asked, set()), (again, {"refused"})):
            metadata = dict(stream.interrupts[0]["metadata"])
            ours = metadata.pop("agui-gate")
            assert ours == metadata
            assert ours.keys() == {"tool", "arguments", "editable", "expires_at", *more}
        assert again.interrupts[0]["message"].startswith(again.interrupts[0]["metadata"]["refused"])
        done = await page.resume((again.interrupts[0]["id"], {"approved": True}), **says)
        for event in done.of("TOOL_CALL_RESULT"):
            assert list(event.get("metadata", {"agui-gate": 1})) == ["agui-gate"]
        results = replay([Case("refund", [Run(s.raw, s.input) for s in page.streams])])
        assert_accepted(results)
        for result in results:
            (held,) = result.runs[0].pending_interrupts
            assert held["metadata"] == asked.interrupts[0]["metadata"]
