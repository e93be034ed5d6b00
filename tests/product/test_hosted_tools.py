"""Tools that the provider runs itself: finished chips, in the stream as in the thread; nobody runs or awaits them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.product.kit import MODES, product
from tests.product.shop import SEARCH, Shop, items, outputs, refund, say, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14")]
every_mode = pytest.mark.parametrize("mode", MODES)

WEB = {"type": "web_search_call", "action": {"type": "search", "query": "weather", "sources": [{"url": "https://w"}]}}
FILES = {
    "type": "file_search_call",
    "queries": ["terms"],
    "results": [{"file_id": "f1", "filename": "terms.md", "score": 0.9, "text": "x" * 9_000, "attributes": None}],
}
CODE = {"type": "code_interpreter_call", "code": 'print("é\\n")', "outputs": [{"type": "logs", "logs": "é"}]}
IMAGE = {"type": "image_generation_call", "revised_prompt": "a cat", "output_format": "png", "result": "aGk=" * 4}
REMOTE = {"type": "mcp_call", "server_label": "crm", "name": "find", "arguments": '{"q":"ada"}', "output": "found"}
FAILED = REMOTE | {"output": None, "error": "no such customer", "status": "failed"}

KINDS = {
    "web_search": (WEB, {"query": "weather"}, {"status": "completed", "sources": [{"url": "https://w"}]}),
    "code_interpreter": (
        CODE,
        {"code": 'print("é\\n")'},
        {"status": "completed", "outputs": [{"type": "logs", "logs": "é"}]},
    ),
    "image_generation": (IMAGE, {"prompt": "a cat"}, {"status": "completed", "format": "png", "bytes": 12}),
    "crm__find": (REMOTE, {"q": "ada"}, "found"),
}


def script(*first: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"output": list(first), **more}, {"output": [say("Done.")], "repeat": True}]


@every_mode
@pytest.mark.parametrize("name", KINDS)
@shows("B14", "B21")
async def test_a_hosted_call_is_a_finished_chip(mode: str, name: str) -> None:
    item, arguments, result = KINDS[name]
    thought = {"type": "reasoning", "summary": ["Let me see."]}
    async with product(script=script(thought, item, say("Here you are.")), mode=mode) as p:
        chat = p.chat()
        done = await chat.say("go")
        ((call_id, shown),) = done.calls.items()
        assert (shown, json.loads(done.arguments(call_id))) == (name, arguments)
        content = done.results[call_id]
        assert (content if isinstance(result, str) else json.loads(content)) == result
        types = done.types()
        assert types.index("TOOL_CALL_END") < types.index("TOOL_CALL_RESULT") < types.index("TEXT_MESSAGE_START")
        assert (done.text, done[-1]["type"], done.interrupts) == ("Here you are.", "RUN_FINISHED", [])
        assert len(p.inputs()) == 1, "its result is not ours to send"
        thread = await p.get(f"/threads/{chat.thread_id}")
        assert (thread["run"]["status"], thread["approvals"]) == ("finished", [])
        assert [m["content"] for m in thread["messages"] if m["role"] == "tool"] == [content]
        roles = [m["role"] for m in thread["messages"]]
        assert roles == [m["role"] for m in chat.messages], "as the client has it"
        assert (await chat.say("more")).text == "Done."
        body = p.inputs()[-1]
        assert not items(body, item["type"])
        assert not items(body, "function_call")
        if mode == "stateless":
            assert shown in json.dumps(body["input"]), "the model hears what it did"
        else:
            assert users(body) == ["more"]
        p.assert_clean()


async def test_a_failed_one_says_so() -> None:
    async with product(script=script(FAILED, say("Sorry."))) as p:
        chat = p.chat()
        done = await chat.say("go")
        assert list(done.results.values()) == ["no such customer"]
        thread = await p.get(f"/threads/{chat.thread_id}")
        assert [m["error"] for m in thread["messages"] if m["role"] == "tool"] == ["no such customer"]


@every_mode
@shows("B15")
async def test_beside_calls_of_ours(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(WEB, SEARCH, refund(), WEB), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("go")
        assert [name for name in asked.calls.values() if name == "web_search"] == ["web_search"] * 2
        assert len(asked.results) == 3, "two of the provider's, and the free one"
        (ask,) = asked.interrupts
        done = await chat.resume((ask["id"], {"approved": True}))
        assert (done.text, shop.orders, shop.searches) == ("Done.", ["A1"], ["ada"])
        assert len(outputs(p.inputs()[-1])) == 2
        p.assert_clean()


@every_mode
async def test_nothing_but_a_hosted_call(mode: str) -> None:
    """A turn without text is over all the same, and going back to its question asks again."""
    async with product(script=script(WEB), mode=mode) as p:
        chat = p.chat()
        done = await chat.say("go")
        assert (len(done.results), len(p.inputs())) == (1, 1)
        idle = await chat.go(messages=chat.messages)
        assert (idle.types(), len(p.inputs())) == (["RUN_STARTED", "RUN_FINISHED"], 1)
        chat.messages = chat.messages[:1]
        again = await chat.go()
        assert (again.text, len(p.inputs())) == ("Done.", 2)
        p.assert_clean()


@every_mode
@pytest.mark.parametrize("after", [3, 4, 5])
@shows("B25", "B14")
async def test_cut_off_in_the_middle(mode: str, after: int) -> None:
    """After its start, its progress, its end: the chip ends, and the model is told what is known."""
    fault = {"kind": "cut", "after_events": after}
    async with product(script=script(REMOTE, say("Here."), fault=fault), mode=mode) as p:
        chat = p.chat()
        failed = await chat.say("go")
        assert failed[-1]["type"] == "RUN_ERROR"
        (content,) = failed.results.values()
        assert json.loads(content)["status"] == "unknown"
        p.emulator.load([{"output": [say("Done.")], "repeat": True}])
        assert (await chat.say("and?")).text == "Done."
        assert "crm__find" in json.dumps(p.inputs()[-1]["input"])
        p.assert_clean()


async def test_large_results_are_bounded() -> None:
    remote = REMOTE | {"output": "x" * 200_000}
    image = IMAGE | {"result": "A" * 300_000}
    async with product(script=script(FILES, remote, image, say("Here."))) as p:
        chat = p.chat()
        done = await chat.say("go")
        assert max(len(content) for content in done.results.values()) < 66_000
        (found,) = [json.loads(r) for i, r in done.results.items() if done.calls[i] == "file_search"]
        (row,) = found["results"]
        assert (row["filename"], len(row["text"]), "attributes" in row) == ("terms.md", 2_001, False)
        (shown,) = [e["value"] for e in done.of("CUSTOM") if e["name"] == "openai.image"]
        assert (shown["format"], len(shown["data"])) == ("png", 300_000)
        kept = json.dumps(await p.get(f"/threads/{chat.thread_id}"))
        assert len(kept) < 80_000
        assert "AAAA" not in kept


@pytest.mark.parametrize("other", MODES)
async def test_another_model_hears_of_it_as_text(other: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agui-gate.db"
    async with product(script=script(WEB, REMOTE, say("Here.")), store=url) as p:
        chat = p.chat()
        await chat.say("go")
    async with product(script=script(say("Other.")), store=url, mode=other) as q:
        chat.product = q
        assert (await chat.say("and?")).text == "Other."
        told = [i["content"] for i in items(q.inputs()[0], "message") if i["role"] == "assistant"]
        assert told[0].startswith("[web_search ")
        assert told[1] == '[crm__find {"q":"ada"} was run by the provider: found]'
        q.assert_clean()


async def test_a_client_cant_answer_for_the_provider() -> None:
    """B28: a tool message for a hosted call is not its result."""
    async with product(script=script(REMOTE, say("Here.")), mode="stateless") as p:
        chat = p.chat()
        done = await chat.say("go")
        (call_id,) = done.calls
        chat.messages = [m for m in chat.messages if m["role"] != "tool"]
        await chat.answer((call_id, "forged"))
        assert (await chat.say("more")).text == "Done."
        assert "forged" not in json.dumps(p.inputs()[-1])
        p.assert_clean()


async def test_hosted_tools_are_sent_with_ours() -> None:
    shop, hosted = Shop(), [{"type": "web_search"}, {"type": "image_generation", "partial_images": 1}]
    async with product(shop.tools, script(say("Hi.")), model={"hosted_tools": hosted}) as p:
        await p.chat().say("hi")
        tools = p.inputs()[0]["tools"]
        assert [tool["type"] for tool in tools] == [
            "function",
            "function",
            "function",
            "web_search",
            "image_generation",
        ]
        p.assert_clean()
