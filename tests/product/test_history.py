"""What reaches the provider, whatever the history: replays, branches, trims, repeated ids, threads from elsewhere."""

import json
from pathlib import Path
from random import Random

import httpx2
import openai
import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.sanitizer import UNVERIFIED
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, EmulatorTransport
from tests.product.hostile import shaped
from tests.product.inprocess import run, run_body, started
from tests.product.kit import MODES, product
from tests.product.shop import SEARCH, Shop, call, items, outputs, refund, say, script, users
from tests.requirements import shows
from tests.support.chance import some

pytestmark = pytest.mark.anyio

ISSUED = (
    "function_call",
    "reasoning",
    "local_shell_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "item_reference",
)


def continued(body):
    return "previous_response_id" in body or "conversation" in body


@shows("S13", "S14", "S15", "S16", "S17", "S18")
@pytest.mark.parametrize("mode", MODES)
async def test_a_continuation_carries_what_is_new_and_a_replay_everything(mode: str, tmp_path: Path) -> None:
    shop = Shop()
    turns = [{"output": [SEARCH]}, {"output": [say("Found.")]}] * 2 + [{"output": [say("Bye.")]}]
    async with product(shop.tools, turns, mode=mode, store=f"sqlite:///{tmp_path}/t.db") as p:
        chat = p.chat()
        for text in ("find ada", "again", "bye"):
            await chat.say(text)
        bodies = p.inputs()
        assert len(bodies) == 5
        for number, body in enumerate(bodies):
            if mode == "stateless" or (mode == "chain" and number == 0):
                assert not continued(body)
            else:
                assert ("previous_response_id" in body) == (mode == "chain")
                assert ("conversation" in body) == (mode == "conversation")
                assert [kind for kind in ISSUED if items(body, kind)] == []
                assert len(body["input"]) == 1
        if mode == "stateless":
            assert users(bodies[-1]) == ["find ada", "again", "bye"]
            assert len(items(bodies[-1], "function_call")) == len(outputs(bodies[-1])) == 2
        p.assert_clean()


@shows("S24", "S25", "S26")
@pytest.mark.parametrize("mode", MODES)
async def test_a_provider_that_repeats_its_call_ids(mode: str) -> None:
    shop = Shop()
    pair = [call("search", "web:1", q="a"), call("search", "web:1", q="b")] if mode == "stateless" else [SEARCH]
    turns = [
        {"output": [call("search", "call_same", q="one")]},
        {"output": [say("One.")]},
        {"output": [call("search", "call_same", q="two")]},
        {"output": [say("Two.")]},
        {"output": pair},
        {"output": [say("Three.")], "repeat": True},
    ]
    emulator = Emulator(turns, reject_call_id_replay=False)
    async with product(shop.tools, mode=mode, emulator=emulator) as p:
        chat = p.chat()
        seen = []
        for text in ("one", "two", "three"):
            stream = await chat.say(text)
            seen += stream.calls
            assert {i: json.loads(r) for i, r in stream.results.items()}.keys() == stream.calls.keys()
        assert len(seen) == len(set(seen)), "towards the client every id is another"
        assert shop.searches[:2] == ["one", "two"]
        told = [m["content"] for m in chat.messages if m["role"] == "tool"]
        assert told[:2] == ['["found one"]', '["found two"]']
        last = await chat.say("bye")
        assert last.text == "Three."
        if mode == "stateless":
            assert outputs(p.inputs()[-1]) == told
        p.assert_clean()


def assistant(message_id, *call_ids, text=None, name="search", arguments="{}"):
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in call_ids]
    return {"id": message_id, "role": "assistant", "content": text, "toolCalls": calls}


def result(message_id, call_id, content):
    return {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}


def user(message_id, text):
    return {"id": message_id, "role": "user", "content": text}


FOREIGN = {
    "repeated ids across turns": [
        user("u1", "a"), assistant("m1", "web:1"), result("r1", "web:1", "first"),
        assistant("m2", "web:1"), result("r2", "web:1", "second"),
    ],
    "results that are not adjacent": [
        user("u1", "a"), assistant("m1", "c1"), user("u2", "still there?"), result("r1", "c1", "first"),
        assistant("m2", "c1"), result("r2", "c1", "second"),
    ],
    "a missing result": [
        user("u1", "a"), assistant("m1", "c1", "c2"), result("r1", "c2", "second"), user("u2", "and?"),
    ],
    "a summary and the same id later": [
        {"id": "s", "role": "system", "content": "Summary of before."},
        assistant("m1", "c1", text="kept"), result("r1", "c1", "first"),
        user("u2", "b"), assistant("m2", "c1"), result("r2", "c1", "second"),
    ],
    "arguments that were cut": [user("u1", "a"), assistant("m1", "c1", arguments='{"q":"tru')],
    "ids that no provider takes": [
        user("u1", "a"), assistant("m1", "x" * 100, "functions.search:0"), result("r1", "x" * 100, "first"),
    ],
    "a name that no provider takes": [
        user("u1", "a"), assistant("m1", "c1", name="a b/ü"), result("r1", "c1", "first"),
    ],
    "orphans": [result("r0", "never", "orphan"), user("u1", "a"), result("r1", "nobody", "orphan")],
    "only an assistant": [assistant("m1", text="hello")],
    "reasoning alone": [
        {"id": "t", "role": "reasoning", "content": "hm", "encryptedValue": "sealed elsewhere"}, user("u1", "a"),
    ],
}  # fmt: skip


@shows("S24", "S25", "S26", "S27", "S28", "B7", "B28")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", FOREIGN)
async def test_a_thread_that_the_server_has_never_seen(mode: str, kind: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(), mode=mode) as p:
        p.emulator.load([{"output": [say("Done.")], "repeat": True}])
        chat = p.chat(messages=json.loads(json.dumps(FOREIGN[kind])))
        stream = await chat.say("go on")
        assert stream.text == "Done.", stream[-1]
        assert users(p.inputs()[0])[-1] == "go on"
        sent = [output.removeprefix(f"{UNVERIFIED}\n") for output in outputs(p.inputs()[0])]
        assert len(sent) == len(items(p.inputs()[0], "function_call"))
        assert [o for o in sent if o in ("first", "second")] == [
            m["content"] for m in FOREIGN[kind] if m["role"] == "tool" and m["content"] in ("first", "second")
        ]
        assert "orphan" not in sent
        assert (await chat.say("more")).text == "Done."
        assert shop.searches == shop.refunds == []
        p.assert_clean()


@shows("S24", "B28")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("brought", ["search", "orphan"])
async def test_a_provider_that_repeats_an_id_of_a_history_from_elsewhere(mode: str, brought: str) -> None:
    shop = Shop()
    turns = script(call("refund", "call_0", order_id="A1", amount=20), after="Refunded.")
    history = [user("u1", "a"), assistant("a1", "call_0"), result("r1", "call_0", "found")]
    emulator = Emulator(turns, reject_call_id_replay=False)
    async with product(shop.tools, mode=mode, emulator=emulator) as p:
        chat = p.chat(messages=history if brought == "search" else [history[0], history[2]])
        asked = await chat.say("refund A1")
        (interrupt,) = asked.interrupts
        assert interrupt["toolCallId"] != "call_0", "the client has seen that id before"
        shown = [c["id"] for m in asked.of("MESSAGES_SNAPSHOT")[-1]["messages"] for c in m.get("toolCalls", ())]
        assert len(shown) == len(set(shown))
        done = await chat.resume((interrupt["id"], {"approved": True}))
        assert done.text == "Refunded."
        assert json.loads(done.results[interrupt["toolCallId"]]) == {"refunded": 20, "order": "A1"}
        assert shop.refunds == [("A1", 20)]
        p.assert_clean()


@shows("B7", "B28", "S27")
@pytest.mark.parametrize("mode", MODES)
async def test_damaged_histories_never_break_the_provider(mode: str) -> None:
    """A hundred threads from nowhere (in the night 300): what is taken is legal for the provider, now and later."""
    rng = Random(5)
    shop = Shop()
    emulator = Emulator([{"output": [say("Done.")], "repeat": True}])
    async with httpx2.AsyncClient(transport=EmulatorTransport(emulator), base_url="http://emulator/v1") as http:
        client = openai.AsyncOpenAI(api_key="k", base_url="http://emulator/v1", http_client=http, max_retries=0)
        model = OpenAIResponses("gpt-5.4-mini", mode=mode, client=client)
        app = create_app(Agent(name="a", model=model, tools=shop.tools), store="memory://", settings=Settings())
        async with started(app):
            for number in range(some(34, 100)):
                history = [shaped(rng, ["c1", "c2", "u1"]) for _ in range(rng.randrange(1, 8))]
                for text in ("go on", "and on"):
                    history = [*history, {"role": "user", "content": text, "id": f"{number}{text}"}]
                    answer = await run(app, run_body(f"t{number}", *history))
                    assert answer.status == 200, answer.body
                    assert answer.events()[-1]["type"] == "RUN_FINISHED", (answer.events()[-1], history)
    assert [(e.rule, e.error) for e in emulator.refusals] == []
    assert shop.searches == shop.refunds == []


@shows("B12", "S18", "B21")
@pytest.mark.parametrize("mode", MODES)
async def test_regenerate_branches_from_where_the_history_ends(mode: str) -> None:
    texts = ["One.", "Two.", "Two again.", "Three."]
    async with product([], [{"output": [say(t)]} for t in texts], mode=mode) as p:
        chat = p.chat()
        await chat.say("first")
        await chat.say("second")
        del chat.messages[3:]  # back to the second question
        again = await chat.go()
        assert again.text == "Two again."
        await chat.say("third")
        bodies = p.inputs()
        if mode == "chain":
            accepted = [e.response_id for e in p.emulator.accepted]
            assert bodies[2]["previous_response_id"] == bodies[1]["previous_response_id"] == accepted[0]
            assert bodies[3]["previous_response_id"] == accepted[2]
        if mode == "conversation":
            assert bodies[2]["conversation"] != bodies[1]["conversation"]
        if mode != "stateless":
            assert users(bodies[3]) == ["third"]
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        shown = [m["content"] for m in snapshot["messages"]]
        assert shown == ["first", "One.", "second", "Two again.", "third", "Three."]
        p.assert_clean()


@shows("B12")
@pytest.mark.parametrize("mode", MODES)
async def test_an_edited_last_message_replaces_the_old_one(mode: str) -> None:
    async with product([], [{"output": [say(t)]} for t in ("One.", "Two.", "Edited.")], mode=mode) as p:
        chat = p.chat()
        await chat.say("first")
        await chat.say("second")
        chat.messages = [*chat.messages[:2], {**chat.messages[2], "content": "second, better"}]
        assert (await chat.go()).text == "Edited."
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert [m["content"] for m in snapshot["messages"]] == ["first", "One.", "second, better", "Edited."]
        last = p.inputs()[-1]
        assert users(last)[-1] == "second, better"
        assert "second" not in users(last)
        p.assert_clean()


@shows("B12", "S30")
@pytest.mark.parametrize("mode", MODES)
async def test_a_branch_closes_what_was_waiting_after_it(mode: str) -> None:
    shop = Shop()
    turns = [{"output": [say("Hi.")]}, {"output": [refund()]}, {"output": [say("Fine.")], "repeat": True}]
    async with product(shop.tools, turns, mode=mode, on_unanswered="supersede") as p:
        chat = p.chat()
        await chat.say("hello")
        asked = await chat.say("refund")
        (ask,) = asked.interrupts
        chat.messages = chat.messages[:3]
        again = await chat.go()
        assert (again.text, again.results) == ("Fine.", {}), "a call that was cut away is not shown again"
        assert (await p.get("/approvals"))["approvals"] == []
        late = await p.decide(ask["id"], {"approved": True})
        assert (late["status_code"], late["state"]) == (409, "superseded")
        assert (await chat.say("bye")).text == "Fine."
        assert shop.refunds == []
        p.assert_clean()


@shows("B12")
@pytest.mark.parametrize("mode", MODES)
async def test_trimmed_beginnings_and_missing_middles_mean_nothing(mode: str) -> None:
    shop = Shop()
    turns = [{"output": [SEARCH]}] + [{"output": [say(f"{n}.")]} for n in range(5)]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        await chat.say("first")
        await chat.say("second")
        chat.messages = chat.messages[-1:]  # the beginning is gone
        await chat.say("third")
        chat.messages = [chat.messages[0], *chat.messages[-1:]]  # the middle is gone
        await chat.say("fourth")
        chat.messages = []
        await chat.say("fifth")
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        told = [m["content"] for m in snapshot["messages"] if m["role"] == "user"]
        assert told == ["first", "second", "third", "fourth", "fifth"]
        if mode == "stateless":
            assert users(p.inputs()[-1]) == told
        p.assert_clean()


@shows("B12")
async def test_equal_messages_without_ids_are_two_messages() -> None:
    async with product([], [{"output": [say("Ok.")], "repeat": True}]) as p:
        chat = p.chat()
        yes = {"role": "user", "content": "yes"}
        chat.messages.append(yes)
        await chat.go()
        chat.messages.append(dict(yes))
        await chat.go()
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert [m["content"] for m in snapshot["messages"]] == ["yes", "Ok.", "yes", "Ok."]
        p.assert_clean()


@shows("S23")
@pytest.mark.parametrize("mode", MODES)
async def test_a_limit_still_submits_the_outputs_with_the_next_run(mode: str) -> None:
    shop = Shop()
    turns = [{"output": [SEARCH, SEARCH]}, {"output": [say("Found.")], "repeat": True}]
    async with product(shop.tools, turns, mode=mode, max_turns=1) as p:
        chat = p.chat()
        first = await chat.say("find")
        assert (first[-1]["type"], first[-1]["code"]) == ("RUN_ERROR", "limit_reached")
        assert len(first.results) == 2
        second = await chat.say("go on")
        assert second.text == "Found."
        assert len(outputs(p.inputs()[-1])) == 2
        assert shop.searches == ["ada", "ada"]
        p.assert_clean()


@shows("S19", "S20", "S21", "B16")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("summary", [[], ["It is an order.", "Look it up."]])
async def test_reasoning_goes_back_as_it_came(mode: str, summary) -> None:
    shop = Shop()
    thought = {"type": "reasoning", "summary": summary}
    turns = [
        {"output": [thought, SEARCH]},
        {"output": [thought, say("Found.")]},
        {"output": [say("Bye.")], "repeat": True},
    ]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        first = await chat.say("find")
        shown = "".join(e["delta"] for e in first.of("REASONING_MESSAGE_CONTENT"))
        assert shown == "\n\n".join(summary) * 2
        await chat.say("bye")
        sent = items(p.inputs()[-1], "reasoning")
        if mode == "stateless":
            assert len(first.of("REASONING_ENCRYPTED_VALUE")) == 2
            assert len(sent) == 2
            for item in sent:
                assert isinstance(item["summary"], list)
                assert item["encrypted_content"]
        else:
            assert sent == []
        p.assert_clean()


@shows("B13", "B21")
@pytest.mark.parametrize("mode", MODES)
async def test_text_is_shown_once_however_it_comes(mode: str) -> None:
    output = [
        {"type": "message", "text": "one", "deltas": ["one"]},
        {"type": "message", "text": "none", "deltas": []},
        {"type": "message", "text": "many", "deltas": ["m", "", "a", "ny"]},
        {"type": "message", "content": [{"text": "two "}, {"text": "parts"}]},
        {"type": "refusal", "text": "No."},
    ]
    async with product([], [{"output": output}, {"output": [say("Bye.")]}], mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("talk")
        assert stream.text == "onenonemanytwo partsNo."
        assert len(stream.of("TEXT_MESSAGE_START")) == 5
        assert not any(e["delta"] == "" for e in stream.of("TEXT_MESSAGE_CONTENT"))
        assert not stream.of("MESSAGES_SNAPSHOT")
        streamed = [m["content"] for m in chat.messages if m["role"] == "assistant"]
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert [m["content"] for m in snapshot["messages"] if m["role"] == "assistant"] == streamed
        assert [m["id"] for m in snapshot["messages"]] == [m["id"] for m in chat.messages]
        await chat.say("bye")
        p.assert_clean()
