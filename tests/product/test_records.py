"""What was decided is told as it is in the ledger, wherever it is asked for (T4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Gate, tool
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.live import connect
from tests.product.shop import Shop, call, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T4")]
YES, NO = {"approved": True}, {"approved": False}
TOKENS = {"alice": {"authorization": "Bearer a"}, "bob": {"authorization": "Bearer b"}}
EDITED = {"approved": True, "edited_arguments": {"order_id": "A1", "amount": 12.5}, "reason": "half of it"}


async def who(request: Any) -> str | None:
    return {"Bearer a": "alice", "Bearer b": "bob"}.get(request.headers.get("authorization", ""))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"


async def asked(p: Product, chat: Chat) -> tuple[Stream, str]:
    """A refund was asked for; its approval's id."""
    stream = await chat.say("refund A1")
    listed = await p.get("/approvals", chat.headers)
    return stream, listed["approvals"][-1]["id"]


@conforms("GEN-3")
async def test_a_record_says_who_decided_when_which_way_and_what_ran(store: str) -> None:
    shop = Shop(editable=["amount"])
    async with product(shop.tools, script(refund()), store=store, auth=who) as p:
        chat = p.chat(headers=TOKENS["alice"])
        _, approval_id = await asked(p, chat)
        waiting = await p.get(f"/approvals/{approval_id}", TOKENS["alice"])
        assert (waiting["state"], waiting["decision"], waiting["result"], waiting["replaced"]) == (
            "pending", None, None, False,
        )  # fmt: skip
        assert list(waiting["arguments"]) == ["order_id", "amount"], "in the order in which the tool names them"
        assert (await p.decide(approval_id, EDITED, TOKENS["alice"]))["state"] == "done"
        told = await p.get(f"/approvals/{approval_id}", TOKENS["alice"])
        decision = told["decision"]
        assert (decision["approved"], decision["by"], decision["way"]) == (True, "alice", "http")
        assert decision["reason"] == "half of it"
        assert decision["at"] >= told["asked_at"]
        assert told["arguments"] == {"order_id": "A1", "amount": 20}
        assert told["effective_arguments"] == {"order_id": "A1", "amount": 12.5}
        assert (told["state"], told["result"]) == ("done", '{"refunded":12.5,"order":"A1"}')
        thread = await p.get(f"/threads/{chat.thread_id}", TOKENS["alice"])
        del told["status_code"]
        assert thread["calls"] == [told]
        calls = await p.get(f"/threads/{chat.thread_id}?view=calls", TOKENS["alice"])
        assert calls["calls"] == [told]
        assert (calls["pending"], calls["run"]["status"], "messages" in calls) == (0, "waiting", False)


async def test_records_of_others_and_none_are_the_same_404(store: str) -> None:
    async with product(Shop().tools, script(refund()), store=store, auth=who) as p:
        chat = p.chat(headers=TOKENS["alice"])
        _, approval_id = await asked(p, chat)
        theirs = await p.get(f"/approvals/{approval_id}", TOKENS["bob"])
        none = await p.get("/approvals/apr_none", TOKENS["bob"])
        assert theirs == none
        assert none["status_code"] == 404
        for path in (f"/threads/{chat.thread_id}?view=calls", "/threads/none?view=calls"):
            assert (await p.get(path, TOKENS["bob"]))["status_code"] == 404
        for state in ("pending", "decided", "all"):
            assert (await p.get(f"/approvals?state={state}", TOKENS["bob"]))["approvals"] == []


async def pages(p: Product, state: str, limit: int) -> list[str]:
    """The ids of a whole list, page by page."""
    found, cursor = [], ""
    while True:
        page = await p.get(f"/approvals?state={state}&limit={limit}&cursor={cursor}")
        assert len(page["approvals"]) <= limit
        found += [item["id"] for item in page["approvals"]]
        if page["next_cursor"] is None:
            return found
        cursor = page["next_cursor"]


async def test_lists_are_paged_and_miss_nothing(store: str) -> None:
    shop = Shop()
    calls = [refund(f"A{number}") for number in range(7)]
    async with product(shop.tools, script(*calls), store=store) as p:
        await p.chat().say("refund all")
        ids = await pages(p, "pending", 3)
        assert len(ids) == len(set(ids)) == 7
        for approval_id in ids[::2]:
            await p.decide(approval_id, NO)
        assert await pages(p, "pending", 2) == ids[1::2], "oldest first"
        assert await pages(p, "decided", 3) == ids[::2][::-1], "newest first"
        assert await pages(p, "all", 4) == ids[::-1]
        assert await pages(p, "all", 7) == ids[::-1]
        for wrong in ("state=any", "limit=0", "limit=101", "cursor=x"):
            assert (await p.get(f"/approvals?{wrong}"))["status_code"] == 422
        assert (await p.get(f"/threads/{'t'}?view=some"))["status_code"] == 422


async def test_calls_in_snapshots_have_the_arguments_that_ran_and_the_ledger_s_word(store: str) -> None:
    shop = Shop(editable=["amount"])
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL])
        stream, approval_id = await asked(p, chat)
        await p.decide(approval_id, EDITED)
        done = await chat.go()
        record = await p.get(f"/approvals/{approval_id}")
        expected = {
            "id": approval_id,
            "state": "done",
            "decision": record["decision"],
            "arguments": {"order_id": "A1", "amount": 20},
            "effective_arguments": {"order_id": "A1", "amount": 12.5},
        }
        results = {e["toolCallId"]: e["metadata"]["agui-gate"] for e in done.of("TOOL_CALL_RESULT")}
        assert results == dict.fromkeys([record["call_id"], *stream.cards], expected)
        view = await p.get(f"/threads/{chat.thread_id}")
        connected = (await connect(p, chat)).of("MESSAGES_SNAPSHOT")[-1]["messages"]
        for messages in (view["messages"], done.of("MESSAGES_SNAPSHOT")[-1]["messages"], connected):
            issued = {call["id"]: call for message in messages for call in message.get("toolCalls", ())}
            call = issued[record["call_id"]]
            assert call["function"]["arguments"] == '{"order_id":"A1","amount":12.5}'
            answered = [m for m in messages if m["role"] == "tool"]
            said = [item["metadata"]["agui-gate"] for item in (*issued.values(), *answered)]
            assert said == [expected] * 4, "the call, its card, and the results of both"


async def test_a_late_answer_is_told_what_is_true(store: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store, auth=who) as p:
        chat = p.chat(headers=TOKENS["alice"])
        _, approval_id = await asked(p, chat)
        await p.decide(approval_id, YES, TOKENS["alice"])
        late = await p.decide(approval_id, NO, TOKENS["alice"])
        record = await p.get(f"/approvals/{approval_id}", TOKENS["alice"])
        del record["status_code"]
        assert (late["status_code"], late["error"]["code"]) == (409, "approval_refused")
        assert (late["id"], late["state"], late["result"]) == (approval_id, "done", record["result"])
        assert late["error"]["record"] == record
        at = record["decision"]["at"][11:16]
        assert late["error"]["message"] == f"Already approved by alice at {at} UTC. It ran."


async def test_the_way_of_a_decision_can_t_be_made_up() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        _, approval_id = await asked(p, chat)
        for way in ("card", "resume", "grant", None, 1, ["shell"]):
            refused = await p.decide(approval_id, {**YES, "way": way})
            assert (refused["status_code"], refused["error"]["code"]) == (422, "invalid_request"), way
        for go_on in ("true", 1, None):
            assert (await p.decide(approval_id, {**YES, "continue": go_on}))["status_code"] == 422, go_on
        assert shop.orders == []
        await p.decide(approval_id, {**YES, "way": "shell"})
        assert (await p.get(f"/approvals/{approval_id}"))["decision"]["way"] == "shell"


async def test_a_long_result_is_whole_where_one_asks_for_it_and_short_in_lists(store: str) -> None:
    @tool(gate=True)
    def report() -> str:
        """Write a report."""
        return "word " * 2_000

    async with product([report], script(call("report")), store=store) as p:
        chat = p.chat()
        await chat.say("report")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], YES)
        whole = (await p.get(f"/approvals/{waiting['id']}"))["result"]
        assert len(whole) == 10_000
        assert (await p.get(f"/threads/{chat.thread_id}"))["calls"][0]["result"] == whole
        (listed,) = (await p.get("/approvals?state=all"))["approvals"]
        (head,) = (await p.get(f"/threads/{chat.thread_id}?view=calls"))["calls"]
        assert listed["result"] == head["result"] == whole[:4_000] + "…"


async def test_who_asks_again_and_again_is_sent_only_what_changed() -> None:
    async with product(Shop().tools, script(refund())) as p:
        chat = p.chat()
        _, approval_id = await asked(p, chat)
        url = f"{p.url}/threads/{chat.thread_id}?view=calls"
        first = await p.client.get(url)
        assert (first.status_code, first.headers["cache-control"]) == (200, "private, no-cache")
        known = {"if-none-match": first.headers["etag"]}
        same = await p.client.get(url, headers=known)
        assert (same.status_code, same.content) == (304, b"")
        await p.decide(approval_id, YES)
        changed = await p.client.get(url, headers=known)
        assert (changed.status_code, changed.json()["calls"][0]["state"]) == (200, "done")


async def test_what_is_very_long_is_in_the_record_and_not_in_every_message(store: str) -> None:
    @tool(gate=Gate(editable=["text"]))
    def publish(text: str) -> str:
        """Publish."""
        return "published"

    reason, edited = "because " * 1_000, "better " * 10_000
    async with product([publish], script(call("publish", text="good")), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL])
        await chat.say("publish")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], {**YES, "edited_arguments": {"text": edited}, "reason": reason})
        record = await p.get(f"/approvals/{waiting['id']}")
        assert record["decision"]["reason"] == reason
        assert record["effective_arguments"] == {"text": edited}
        view = await p.get(f"/threads/{chat.thread_id}")
        items = [c for m in view["messages"] for c in m.get("toolCalls", ())]
        for told in [item["metadata"]["agui-gate"] for item in items]:
            assert len(told["decision"]["reason"]) == 1_001
            assert "effective_arguments" not in told
        p.emulator.load(script(call("publish", text="good")))
        again = await chat.say("once more")
        shown = [e["delta"] for e in again.of("TOOL_CALL_ARGS") if e["toolCallId"] in again.cards]
        (ran,) = json.loads("".join(shown))["already_ran"]
        assert ran["arguments"]["text"] == edited[:300] + "…"
