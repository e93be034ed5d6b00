"""A `POST` that comes again with `Last-Event-ID` goes on and begins nothing (T16).

So do fetch-event-source, when a tab was hidden and is shown again, and TanStack AI, after any break: the same body,
with the id of the last event that came.
"""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate.config.settings import Settings
from tests.product.kit import TIMEOUT, Chat, Product, product
from tests.product.live import Following, cancel, frame_id, frames, starting
from tests.product.poison import AT_THE_DOOR
from tests.product.shop import SEARCH, Shop, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T16")]

LONG = {"type": "message", "text": "word " * 60}
PATIENT = Settings(disconnect_grace=30)
ROUTES = ["/", "/agents/support", "/copilotkit/agent/support/run", "/copilotkit"]
TWO = Settings(tokens={"alice": "secret-of-alice-0123456789", "bob": "secret-of-bob-0123456789"})
ALICE = {"authorization": "Bearer secret-of-alice-0123456789"}
BOB = {"authorization": "Bearer secret-of-bob-0123456789"}


def sent(path: str, body: Any) -> Any:
    """The body as the route takes it."""
    return {"method": "agent/run", "params": {"agentId": "support"}, "body": body} if path == "/copilotkit" else body


@asynccontextmanager
async def posting(p: Product, path: str, body: Any, last: str | None = None, **headers: str):
    head = headers | ({} if last is None else {"last-event-id": last})
    async with p.client.stream("POST", p.url + path, json=sent(path, body), headers=head) as response:
        yield Following(response)


async def post(p: Product, path: str, body: Any, last: str | None = None, **headers: str) -> Following:
    """The same, read to its end."""
    async with posting(p, path, body, last, **headers) as reader:
        await reader.end()
        return reader


def spoken(chat: Chat, text: str = "find") -> Any:
    """The body of a run that says something."""
    chat.messages.append({"id": f"u-{text}", "role": "user", "content": text})
    return chat.body()


@pytest.mark.parametrize("path", ROUTES)
async def test_a_post_that_comes_again_gets_the_rest_and_begins_nothing(path: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH)) as p:
        body = spoken(p.chat(thread_id="t"))
        first = await post(p, path, body)
        whole = frames(first.raw)
        asked = len(p.inputs())
        for number, frame in enumerate(whole):
            again = await post(p, path, body, frame_id(frame))
            assert (again.status, again.raw) == (200, "".join(whole[number + 1 :]))
            assert again.run_key == first.run_key
        assert len(p.inputs()) == asked
        assert len(shop.searches) == 1
        thread = await p.get("/threads/t")
        assert [m["role"] for m in thread["messages"]].count("user") == 1
        assert thread["run"]["key"] == first.run_key


@pytest.mark.parametrize("path", ROUTES)
async def test_while_the_run_goes_on_it_is_followed_and_kept_alive(path: str) -> None:
    """The tab is hidden in the middle of the answer, and shown again."""
    turns = [{"output": [LONG], "fault": {"kind": "hang", "after_events": 20}}]
    async with product([], turns, settings=PATIENT) as p:
        chat = p.chat(thread_id="t")
        body = spoken(chat)
        async with posting(p, path, body) as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            last = first.last_id
        async with posting(p, path, body, last) as again:
            live = p.app.state.engine.following("local", "t")
            assert live is not None
            assert not live.alone
            assert again.run_key == live.key
            assert (await cancel(p, chat))["cancelled"] is True
            await again.end()
        assert "RUN_STARTED" not in again.raw
        assert frames(again.raw)[0].startswith(f"id: {last.split(':')[0]}:{int(last.split(':')[1]) + 1}\n")
        assert len(p.emulator.accepted) == 1


async def test_an_answer_that_is_posted_again_runs_nothing_twice() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund")).interrupts
        resume = [{"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}]
        body = chat.body(resume=resume)
        first = await post(p, "/", body)
        again = await post(p, "/", body, frame_id(frames(first.raw)[2]))
        assert again.raw == "".join(frames(first.raw)[3:])
        assert shop.orders == ["A1"]


async def test_the_clients_name_for_the_run_need_not_be_the_same() -> None:
    """A wrapper may give each try a name of its own: what the thread has had already is a repeat all the same."""
    async with product([], script(say("Hello."))) as p:
        chat = p.chat()
        body = spoken(chat)
        first = await post(p, "/", body)
        again = await post(p, "/", body | {"runId": "another"}, frame_id(frames(first.raw)[1]))
        assert again.raw == "".join(frames(first.raw)[2:])
        assert len(p.inputs()) == 1


async def test_something_new_is_never_swallowed() -> None:
    """A careless client leaves the header on: what it says is new, so it is a run."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        first = await chat.say("refund")
        stale = {"last-event-id": f"{first.run_key}:3"}
        body = chat.body(resume=[{"interruptId": first.interrupts[0]["id"], "status": "resolved", "payload": YES}])
        answered = await p.post("/", body, stale)
        assert shop.orders == ["A1"]
        assert answered.run_key != first.run_key
        chat.headers = stale
        more = await chat.say("thanks")
        assert more[0]["type"] == "RUN_STARTED"
        assert more.run_key not in (first.run_key, answered.run_key)


YES = {"approved": True}


@pytest.mark.parametrize("key", ["run_0123456789abcdef", "run_x", "connect_12", "x"])
@pytest.mark.parametrize("known", [True, False], ids=["known thread", "unknown thread"])
async def test_a_run_that_is_not_known_any_more_is_not_begun_again(key: str, known: bool) -> None:
    """After a restart, for example: the thread is in the store, the events were in the process."""
    async with product([], script(say("Hello."))) as p:
        body = spoken(p.chat(thread_id="t"))
        if known:
            await post(p, "/", body)
        refused = await p.post("/", body, {"last-event-id": f"{key}:3"})
        assert refused.status == 410
        assert refused[0]["error"]["code"] == "gone"
        assert "GET /threads/t" in refused[0]["error"]["message"]
        assert len(p.inputs()) == int(known)
        assert len((await p.get("/threads"))["threads"]) == int(known)


async def test_without_message_ids_the_same_words_are_a_repeat() -> None:
    async with product([], script(say("Hello."))) as p:
        chat = p.chat(thread_id="t")
        chat.messages.append({"role": "user", "content": "hi"})
        body = chat.body()
        await post(p, "/", body)
        assert (await p.post("/", body, {"last-event-id": "run_gone:3"})).status == 410
        chat.messages.append({"role": "user", "content": "something else"})
        assert (await p.post("/", chat.body(), {"last-event-id": "run_gone:3"})).status == 200
        assert len(p.inputs()) == 2


@pytest.mark.parametrize("ids", [True, False])
async def test_a_message_of_which_a_part_was_left_out_is_a_repeat_too(ids: bool) -> None:
    part = {"type": "image", "source": {"type": "url", "value": "file:///etc/passwd"}}
    async with product([], script(say("Hello."))) as p:
        chat = p.chat(thread_id="t")
        chat.messages.append({"role": "user", "content": [{"type": "text", "text": "look"}, part]})
        if ids:
            chat.messages[0]["id"] = "u1"
        await post(p, "/", chat.body())
        assert (await p.post("/", chat.body(), {"last-event-id": "run_gone:3"})).status == 410
        assert len(p.inputs()) == 1


async def test_a_long_history_is_compared_too() -> None:
    async with product([], script(say("Hello."))) as p:
        chat = p.chat(thread_id="t")
        chat.messages += [{"id": f"u{n}", "role": "user", "content": f"word {n}"} for n in range(2000)]
        body = chat.body()
        await post(p, "/", body)
        assert (await p.post("/", body, {"last-event-id": "run_gone:3"})).status == 410
        body["messages"].append({"id": "new", "role": "user", "content": "more"})
        assert (await p.post("/", body, {"last-event-id": "run_gone:3"})).status == 200


async def test_a_deleted_thread_is_not_begun_again() -> None:
    async with product([], script(say("Hello."))) as p:
        body = spoken(p.chat(thread_id="t"))
        first = await post(p, "/", body)
        assert (await p.client.delete(f"{p.url}/threads/t")).status_code == 200
        assert (await p.post("/", body, {"last-event-id": frame_id(frames(first.raw)[1])})).status == 410
        assert (await p.get("/threads"))["threads"] == []


async def test_many_at_once_all_get_the_rest_of_the_one_run() -> None:
    turns = [{"output": [LONG], "fault": {"kind": "slow", "ms": 5}}]
    async with product([], turns, settings=PATIENT) as p:
        body = spoken(p.chat(thread_id="t"))
        async with posting(p, "/", body) as first:
            await first.count(6)
            last = first.frames[3]
        answers = await asyncio.gather(*(post(p, "/", body, frame_id(last)) for _ in range(30)))
        assert len({answer.raw for answer in answers}) == 1
        assert "RUN_FINISHED" in answers[0].raw
        assert len(p.emulator.accepted) == 1


async def test_runs_of_others_and_of_other_threads_are_runs_that_never_were() -> None:
    async with product([], script(say("Hello.")), settings=TWO) as p:
        body = spoken(p.chat(thread_id="t"))
        hers = await post(p, "/", body, **ALICE)
        last = frame_id(frames(hers.raw)[1])
        his = await p.post("/", body, BOB | {"last-event-id": last})
        nobodys = await p.post("/", body, BOB | {"last-event-id": "run_0123456789abcdef:1"})
        assert (his.status, his[0]) == (nobodys.status, nobodys[0])
        assert his.status == 410
        elsewhere = body | {"threadId": "u"}
        other = await p.post("/", elsewhere, ALICE | {"last-event-id": last})
        assert other.status == 410
        assert "Hello." not in str(other)
        assert len(p.inputs()) == 1


async def test_what_is_too_old_is_gone() -> None:
    async with product([], script(say("word " * 3000)), settings=Settings(events_bytes=16384)) as p:
        body = spoken(p.chat(thread_id="t"))
        first = await post(p, "/", body)
        assert (await p.post("/", body, {"last-event-id": f"{first.run_key}:0"})).status == 410
        assert (await post(p, "/", body, frame_id(frames(first.raw)[-2]))).raw == frames(first.raw)[-1]
        assert len(p.inputs()) == 1


GARBAGE = ["abc", "5", ":5", "a:", "a:b", "run_x:-1", "run_x:1e3", "a:1, a:1", "x" * 5000 + ":1", "run_x:" + "9" * 400]
GARBAGE += ["run_x:٣", "../..:1", "run_x: 1", "ünicode:1", "%00:1", "'; drop table threads:1"]


@pytest.mark.parametrize("last", GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("path", ROUTES)
async def test_what_is_no_event_id_of_ours_is_refused(last: str, path: str) -> None:
    async with product([], script(say("Hello."))) as p:
        head = {b"content-type": b"application/json", b"last-event-id": last.encode()}
        json = sent(path, spoken(p.chat(thread_id="t")))
        refused = await p.client.post(p.url + path, json=json, headers=head, timeout=TIMEOUT)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "invalid_request"
        assert not p.inputs()


async def test_an_event_that_was_never_sent_is_refused() -> None:
    async with product([], script(say("Hello."))) as p:
        body = spoken(p.chat(thread_id="t"))
        first = await post(p, "/", body)
        last = int(frame_id(frames(first.raw)[-1]).split(":")[1])
        assert (await post(p, "/", body, f"{first.run_key}:{last}")).raw == ""
        assert (await p.post("/", body, {"last-event-id": f"{first.run_key}:{last + 1}"})).status == 400
        assert len(p.inputs()) == 1


async def test_an_empty_header_means_none_and_two_that_differ_are_refused() -> None:
    async with product([], script(say("Hello."))) as p:
        body = spoken(p.chat(thread_id="t"))
        assert (await p.post("/", body, {"Last-Event-ID": ""})).status == 200
        first = await post(p, "/", body | {"threadId": "u"})
        ids = [frame_id(frame) for frame in frames(first.raw)]
        twice = [("last-event-id", ids[1]), ("LAST-EVENT-ID", ids[1])]
        differ = [("last-event-id", ids[1]), ("last-event-id", ids[2])]
        answers = [
            await p.client.post(p.url, json=body | {"threadId": "u"}, headers=headers) for headers in (twice, differ)
        ]
        assert [answer.status_code for answer in answers] == [200, 400]


async def test_a_new_run_on_a_thread_that_goes_on_is_busy_as_ever() -> None:
    turns = [{"output": [LONG], "fault": {"kind": "hang", "after_events": 20}}]
    async with product([], turns, settings=PATIENT) as p:
        chat = p.chat(thread_id="t")
        async with starting(p, chat, "talk") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            busy = await p.post("/", spoken(chat, "something else"), {"last-event-id": reader.last_id})
            assert busy.status == 409
            await cancel(p, chat)
            await reader.end()


@pytest.mark.parametrize("kind", ["an attachment that is none", "what the user did in a component"])
async def test_what_came_beside_a_message_is_nothing_new_either(kind: str) -> None:
    """Lines 10 and 18: a note in the place of an attachment is the server's, and a click is taken once."""
    call = {"id": "c1", "type": "function", "function": {"name": "log_a2ui_event", "arguments": "{}"}}
    brought = {
        "an attachment that is none": [{"role": "user", "content": [AT_THE_DOOR["a file"]]}],
        "what the user did in a component": [
            {"id": "a1", "role": "assistant", "content": "", "toolCalls": [call]},
            {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "clicked"},
        ],
    }
    async with product([], [{"output": [say("Fine.")], "repeat": True}]) as p:
        chat = p.chat(thread_id="t")
        await chat.say("hello")
        body = {**chat.body(), "messages": [*chat.messages, *brought[kind]]}
        first = await post(p, "/", body)
        asked = len(p.inputs())
        again = await post(p, "/", body, frame_id(frames(first.raw)[0]))
        assert again.run_key == first.run_key
        assert (await p.post("/", body, {"last-event-id": "run_forgotten:1"})).status == 410, "and not a new run"
        assert len(p.inputs()) == asked == 2
