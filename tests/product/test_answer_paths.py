"""One way in for answers: whatever the dialect, the outcome is the same, and what isn't an answer changes nothing."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.shop import Shop, outputs, refund, script, status
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Path = Callable[[Product, Chat, Stream, dict[str, Any]], Awaitable[Stream]]


def call_id(asked: Stream) -> str:
    return next(i for i, name in asked.calls.items() if name == "refund")


async def approval_id(p: Product) -> str:
    (pending,) = (await p.get("/approvals"))["approvals"]
    found = pending["id"]
    assert isinstance(found, str)
    return found


async def by_card(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    said = {"accepted": answer["approved"], **{k: v for k, v in answer.items() if k != "approved"}}
    return await chat.answer((next(iter(asked.cards)), said))


async def by_tool_message(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    return await chat.answer((call_id(asked), answer))


async def by_resume(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    return await chat.resume((await approval_id(p), answer))


async def by_resume_of_a_page(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    """As `useInterrupt` does: the interrupted run's id again, and a tool message of its own beside the resume."""
    entries = [{"interruptId": await approval_id(p), "status": "resolved", "payload": answer}]
    return await chat.answer((call_id(asked), answer), resume=entries, runId=asked[0]["runId"])


async def by_command(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    command = {"resume": answer, "interruptEvent": {"id": await approval_id(p)}}
    return await chat.go(forwardedProps={"command": command})


async def by_user_message(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    arguments = {"order_id": "A1", "amount": 20.0}
    item = {"id": await approval_id(p), "call_id": call_id(asked), "name": "refund", "arguments": arguments, **answer}
    chat.messages.append({"id": f"{chat.thread_id}-u", "role": "user", "content": "", "function_approvals": [item]})
    return await chat.go()


async def out_of_band(p: Product, chat: Chat, asked: Stream, answer: dict[str, Any]) -> Stream:
    decided = await p.decide(await approval_id(p), answer)
    assert decided["status_code"] == 200
    assert decided["state"] == ("done" if answer["approved"] else "rejected")
    return await chat.go()


PATHS: dict[str, Path] = {
    "card": by_card,
    "tool message": by_tool_message,
    "resume": by_resume,
    "page": by_resume_of_a_page,
    "command": by_command,
    "user message": by_user_message,
    "out of band": out_of_band,
}


async def outcome(mode: str, path: str, answer: dict[str, Any], shop: Shop) -> dict[str, Any]:
    """What is left after one answer, without the ids that are new every time and without cards."""
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL] if path == "card" else [])
        asked = await chat.say("refund A1")
        done = await PATHS[path](p, chat, asked, answer)
        assert done[-1]["type"] == "RUN_FINISHED"
        assert done.interrupts == []
        view = await p.get(f"/threads/{chat.thread_id}")
        p.assert_clean()
        ids = {call_id(asked): "CALL"}
        left = {
            "refunds": list(shop.refunds),
            "result": done.results[call_id(asked)],
            "text": done.text,
            "pending": view["approvals"],
            "messages": [plain(m, ids, path) for m in view["messages"] if not is_card(m, asked.cards)],
            "sent": [plain_input(body, ids) for body in p.inputs()],
        }
        later = await chat.say("and?")  # with the answer in the history, where it was a message
        assert (later.results, later.interrupts, later.text) == ({}, [], done.text), "once told, not again"
        assert shop.refunds == left["refunds"]
        return left


@shows("B2")
@conforms("LIFE-8", "TOOL-2")
@pytest.mark.parametrize("path", ["tool message", "page"])
@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_that_its_page_has_a_message_for_is_told_by_a_snapshot(path: str, approved: bool) -> None:
    """For a client of 1.x that message is the call's one result: a second one is never streamed."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat(extra={"protocolVersion": "1.0"})
        asked = await chat.say("refund A1")
        done = await PATHS[path](p, chat, asked, {"approved": approved})
        assert (done.results, done.text, shop.orders) == ({}, "Done.", ["A1"] if approved else [])
        (shown,) = (m for m in chat.messages if m.get("toolCallId") == call_id(asked))
        assert [shown["content"]] == outputs(p.inputs()[-1])
        assert (await chat.say("and?")).results == {}
        p.assert_clean()


def is_card(message: dict[str, Any], cards: dict[str, Any]) -> bool:
    return message.get("toolCallId") in cards or any(c["id"] in cards for c in message.get("toolCalls", ()))


WAYS = {"card": "card", "resume": "resume", "page": "resume", "command": "resume", "out of band": "http"}


def plain(message: dict[str, Any], ids: dict[str, str], path: str = "") -> dict[str, Any]:
    for told in metadata(message):
        del told["id"], told["decision"]["at"]
        assert told["decision"].pop("way") == WAYS.get(path, "message")
    text = json.dumps({k: v for k, v in message.items() if k != "id"})
    for found, name in ids.items():
        text = text.replace(found, name)
    decoded = json.loads(text)
    assert isinstance(decoded, dict)
    return decoded


def metadata(message: dict[str, Any]) -> list[dict[str, Any]]:
    """What the ledger says of a message, and of the calls in it."""
    items = [message, *message.get("toolCalls", ())]
    return [item["metadata"]["agui-gate"] for item in items if "metadata" in item]


def plain_input(body: dict[str, Any], ids: dict[str, str]) -> Any:
    return [plain(item, ids) for item in body["input"]]


ANSWERS = [
    {"approved": True},
    {"approved": False, "reason": "too much"},
    {"approved": True, "edited_arguments": {"order_id": "A1", "amount": 5}},
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", ANSWERS, ids=["yes", "no", "edited"])
@shows("B1", "B11", "S11")
async def test_every_path_has_the_same_outcome(mode: str, answer: dict[str, Any]) -> None:
    found = {path: await outcome(mode, path, answer, Shop(editable=["amount"])) for path in PATHS}
    expected = found["resume"]
    amount = 5.0 if "edited_arguments" in answer else 20.0
    assert expected["refunds"] == ([("A1", amount)] if answer["approved"] else [])
    assert expected["text"] == "Done."
    for path, result in found.items():
        assert result == expected, path


MALFORMED: list[Any] = [
    "yes",
    {},
    {"accepted": "true"},
    {"accepted": 1},
    {"approved": None},
    {"approved": True, "accepted": False},
    {"approved": True, "edited_arguments": "all"},
    [True],
    None,
]


@pytest.mark.parametrize("path", PATHS)
@shows("B1", "B2", "S9")
async def test_what_is_not_an_answer_leaves_the_question_open(path: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        for malformed in MALFORMED:
            chat = p.chat(tools=[CARD_TOOL] if path == "card" else [])
            p.emulator.load(script(refund()))
            asked = await chat.say("refund A1")
            asked = await badly(p, path, chat, asked, malformed)
            assert asked[-1]["type"] == "RUN_FINISHED", (malformed, asked)
            assert len(asked.cards) + len(asked.interrupts) == 1, malformed
            assert shop.refunds == []
            done = await (by_card if path == "card" else by_resume)(p, chat, asked, {"approved": True})
            assert (done.text, shop.refunds) == ("Done.", [("A1", 20)]), malformed
            shop.refunds.clear()
        p.assert_clean()


async def badly(p: Product, path: str, chat: Chat, asked: Stream, malformed: Any) -> Stream:
    """Send what isn't an answer the way ``path`` would have sent one."""
    pending = await approval_id(p)
    match path:
        case "card":
            return await chat.answer((next(iter(asked.cards)), malformed))
        case "tool message":
            return await chat.answer((call_id(asked), malformed))
        case "resume" | "page":
            return await chat.resume((pending, malformed))
        case "command":
            return await chat.go(forwardedProps={"command": {"resume": malformed, "interruptEvent": {"id": pending}}})
        case "user message":
            item = {"id": pending, **(malformed if isinstance(malformed, dict) else {"approved": malformed})}
            chat.messages.append({"id": f"{chat.thread_id}-u", "role": "user", "function_approvals": [item]})
            return await chat.go()
    refused = await p.decide(pending, malformed)
    code = 400 if malformed is None else 422  # None is sent as no body at all
    assert (refused["status_code"], refused["error"]["code"]) == (code, "invalid_request"), malformed
    return await chat.go()


@shows("B1", "S9")
async def test_a_card_whose_step_was_switched_off_is_a_no() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        steps = [{"description": "Execute refund", "status": "disabled"}]
        done = await chat.answer((next(iter(asked.cards)), {"accepted": True, "steps": steps}))
        assert status(done.results[call_id(asked)]) == "rejected"
        assert shop.refunds == []


@pytest.mark.parametrize("mode", MODES)
@shows("B1", "B12")
async def test_a_cancelled_resume_leaves_the_call_undone(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        entries = [{"interruptId": asked.interrupts[0]["id"], "status": "cancelled"}]
        done = await chat.go(resume=entries)
        assert status(done.results[call_id(asked)]) == "cancelled"
        assert [status(o) for o in outputs(p.inputs()[-1])] == ["cancelled"]
        assert (done.text, shop.refunds) == ("Done.", [])
        p.assert_clean()


@shows("B1", "B12")
async def test_a_resume_with_an_empty_message_list_goes_on() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        chat.messages.clear()
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.refunds) == ("Done.", [("A1", 20)])
        p.assert_clean()


@shows("B1", "B12")
async def test_text_that_travels_with_a_resume_is_answered_after_the_call() -> None:
    """CopilotKit refuses locally what is typed while an interrupt is open; it comes with the resume."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        entries = [{"interruptId": asked.interrupts[0]["id"], "status": "resolved", "payload": {"approved": True}}]
        done = await chat.say("hurry", resume=entries)
        assert (done.text, shop.refunds) == ("Done.", [("A1", 20)])
        last = p.inputs()[-1]["input"]
        assert [item.get("type") or item["role"] for item in last][-2:] == ["function_call_output", "message"]
        p.assert_clean()


@shows("B1", "B28")
async def test_a_decision_is_final() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        pending = await approval_id(p)
        assert (await p.decide(pending, {"approved": False}))["status_code"] == 200
        late = await p.decide(pending, {"approved": True})
        assert (late["status_code"], late["state"], late["error"]["code"]) == (409, "rejected", "approval_refused")
        done = await chat.resume((pending, {"approved": True}))
        assert status(done.results[call_id(asked)]) == "rejected"
        assert shop.refunds == []
        p.assert_clean()


@shows("B1", "S9", "B2")
async def test_answers_that_contradict_each_other_are_none() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        entries = [
            {"interruptId": asked.interrupts[0]["id"], "status": "resolved", "payload": {"approved": said}}
            for said in (True, False)
        ]
        again = await chat.go(resume=entries)
        assert (len(again.interrupts), shop.refunds) == (1, [])
        assert "contradict" in again.interrupts[0]["message"]
        done = await chat.resume((again.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.refunds) == ("Done.", [("A1", 20)])
