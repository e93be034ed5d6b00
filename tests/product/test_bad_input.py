"""Bad input: always the documented shape and code, nothing executed, and the thread goes on afterwards."""

import asyncio
import json
from random import Random

import httpx2
import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.core.client_rules import verify
from tests.product.hostile import NOT_YES, odd, raw
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.product.kit import TIMEOUT, running
from tests.requirements import shows
from tests.support.chance import seeds, some

pytestmark = [pytest.mark.anyio, shows("B28", "B19")]

STATUSES = {400, 401, 403, 404, 409, 413, 415, 422, 429, 503}
CODES = {
    "invalid_request", "unauthorized", "forbidden", "not_found", "thread_busy", "gone", "too_large",
    "unsupported_media_type", "approval_pending", "approval_refused", "rate_limited", "provider_auth",
    "provider_rejected", "provider_unavailable", "context_length", "tool_failed", "limit_reached", "abort",
    "unavailable", "internal",
}  # fmt: skip
NOT_DECISIONS = [p for p in NOT_YES if not (isinstance(p, dict) and "steps" in p)]  # a step switched off is a no
MIB = 1024 * 1024


class Shop:
    """The application under attack: one gated tool that must never run."""

    def __init__(self) -> None:
        self.ran = []

        @tool(gate=True)
        def refund(order_id: str) -> str:
            """Refund an order."""
            self.ran.append(order_id)
            return "refunded"

        self.model = Parrot()
        agent = Agent(name="support", model=self.model, tools=[refund], on_unanswered="supersede")
        self.app = create_app(agent, store="memory://", settings=Settings())

    async def ask(self, thread_id):
        """A thread with one call that waits; returns the ids that belong to it."""
        events = (await run(self.app, run_body(thread_id, user("refund A1")))).events()
        if events[-1].get("outcome", {}).get("type") != "interrupt":
            return []
        (ask,) = events[-1]["outcome"]["interrupts"]
        return [ask["id"], ask["toolCallId"]]

    async def still_works(self, thread_id) -> None:
        """A normal run on the same thread."""
        answer = await run(self.app, run_body(thread_id, user("hello again")))
        assert answer.status == 200
        events = answer.events()
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        assert "ok" in [e.get("delta") for e in events]
        snapshot = await request(self.app, "GET", f"/threads/{thread_id}")
        assert snapshot.status == 200


def check_error(answer, data=b"") -> None:
    """The documented shape and nothing more; the text gives nothing away."""
    assert answer.status in STATUSES, (answer.status, answer.body[:300], data[:2_000])
    found = answer.json()
    assert found.keys() == {"error"} or answer.status == 409, found
    assert found["error"].keys() == {"code", "message"}
    assert found["error"]["code"] in CODES - {"internal"}, found
    assert 0 < len(found["error"]["message"]) < 400, found
    assert "Traceback" not in found["error"]["message"]


def check(answer, data) -> None:
    """Either an error in the documented shape, or a stream that every client accepts."""
    if answer.status != 200:
        check_error(answer, data)
        return
    events = answer.events()
    waiting = {i["toolCallId"] for i in events[-1].get("outcome", {}).get("interrupts", ())}
    verify(events, left_open=waiting)
    assert events[-1]["type"] != "RUN_ERROR" or events[-1]["code"] in CODES - {"internal"}, (events[-1], data[:2_000])


@pytest.mark.parametrize("seed", seeds(2))
async def test_hundreds_of_bad_runs(seed: int) -> None:
    rng = Random(seed)
    shop = Shop()
    async with started(shop.app):
        for batch in range(some(8, 25)):
            thread_id = f"t-{batch}"
            ids = await shop.ask(thread_id)
            for _ in range(50):
                data = raw(rng, thread_id, ids)
                check(await request(shop.app, "POST", rng.choice(["/", "/agents/support"]), data), data)
                assert shop.ran == [], data
            await shop.still_works(thread_id)
            check(await run(shop.app, run_body(thread_id)), b"")
    assert shop.ran == []


async def test_bad_decisions() -> None:
    rng = Random(7)
    shop = Shop()
    async with started(shop.app):
        for batch in range(16):
            approval_id, call_id = await shop.ask(f"t-{batch}")
            for _ in range(45):
                target = rng.choice([approval_id] * 4 + [call_id, "nothing", "x" * 10_000, "%00", "\x00", "é", "a b"])
                payload = rng.choice([rng.choice(NOT_DECISIONS), odd(rng)])
                data = json.dumps(payload).encode() if rng.random() < 0.8 else rng.randbytes(20)
                check_error(await request(shop.app, "POST", f"/approvals/{target}", data), data)
            listed = (await request(shop.app, "GET", "/approvals")).json()["approvals"]
            assert approval_id in [a["id"] for a in listed]
            rejected = await request(shop.app, "POST", f"/approvals/{approval_id}", b'{"approved": false}')
            assert rejected.json()["state"] == "rejected"
            await shop.still_works(f"t-{batch}")
    assert shop.ran == []


async def test_bad_thread_ids() -> None:
    rng = Random(11)
    shop = Shop()
    async with started(shop.app):
        for _ in range(400):
            length = rng.choice([1, 5, 256, 257, 10_000])
            name = "".join(
                chr(rng.choice([0, 9, 10, 27, 32, 37, 46, 47, 65, 92, 0xE9, 0x202E, 0x1F600])) for _ in range(length)
            )
            check_error(await request(shop.app, "GET", f"/threads/{name}"))
        for thread_id in ("x" * 10_240, "", "a\x00b", "\x1b[31m", "a\nb", "\u2028", "\x7f"):
            answer = await run(shop.app, run_body(thread_id, user("hi")))
            assert answer.status == 422
            check_error(answer)
        for thread_id in ("a/b/c", "..", "é", "😀", "a b", "%2e%2e", "x" * 256, "null", "?q=1"):
            assert (await run(shop.app, run_body(thread_id, user("hi")))).status == 200
            assert (await request(shop.app, "GET", f"/threads/{thread_id}")).json()["id"] == thread_id


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"", 400, "invalid_request"),
        (b"{", 400, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_request"),
        (b'{"a":' * 100_000, 400, "invalid_request"),
        (b"null", 422, "invalid_request"),
        (b"[]", 422, "invalid_request"),
        (b"{}", 422, "invalid_request"),
        (json.dumps(run_body("t", {"role": 5, "content": "x"})).encode(), 422, "invalid_request"),
        (json.dumps(run_body("t", user({"a": 1}))).encode(), 422, "invalid_request"),
        (json.dumps(run_body("t", *[user("x")] * 10_001)).encode(), 413, "too_large"),
        (json.dumps(run_body("t", user("x" * (4 * MIB)))).encode(), 413, "too_large"),
        (b'{"threadId":"t","runId":"r","messages":[{"role":"user","content":"\\ud800"}]}', 400, "invalid_request"),
        (b'{"threadId":"t","runId":"r","messages":[{"role":"user","content":"\xed\xa0\x80"}]}', 400, "invalid_request"),
        (b'{"threadId":"t","runId":"r","messages":[],"state":' + b"[" * 66 + b"]" * 66 + b"}", 422, "invalid_request"),
    ],
    ids=range(14),
)
@conforms("IN-8", "SSE-5")
async def test_the_code_of_each_kind(data: bytes, status: int, code: str) -> None:
    shop = Shop()
    async with started(shop.app):
        answer = await request(shop.app, "POST", "/", data)
        assert (answer.status, answer.json()["error"]["code"]) == (status, code)
        assert (await request(shop.app, "GET", "/threads/t")).status == 404  # nothing was stored


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "x", "é/json"]
)
async def test_wrong_content_type(kind: str) -> None:
    shop = Shop()
    async with started(shop.app):
        for path in ("/", "/approvals/x"):
            answer = await request(shop.app, "POST", path, b"{}", {"content-type": kind})
            assert (answer.status, answer.json()["error"]["code"]) == (415, "unsupported_media_type")
        for kind_of_json in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"):
            answer = await run(shop.app, run_body("t", user("hi")), headers={"content-type": kind_of_json})
            assert answer.status == 200


@pytest.mark.parametrize("length", ["99999999999", "9" * 5_000, "²", "-1", "x"])
async def test_announced_lengths_are_not_trusted(length: str) -> None:
    shop = Shop()
    async with started(shop.app):
        body = json.dumps(run_body("t", user("hi"))).encode()
        answer = await request(shop.app, "POST", "/", body, {"content-length": length})
        assert answer.status == (413 if length.startswith("9") else 200)


async def test_ten_thousand_messages_are_taken() -> None:
    shop = Shop()
    async with started(shop.app):
        messages = [user(f"m{i}", f"id{i}") for i in range(10_000)]
        answer = await run(shop.app, run_body("t", *messages))
        assert answer.status == 200
        assert answer.events()[-1]["type"] == "RUN_FINISHED"


@shows("B2")
async def test_answers_to_nothing() -> None:
    shop = Shop()
    async with started(shop.app):
        entry = {"interruptId": "apr_unknown", "status": "resolved", "payload": {"approved": True}}
        for thread_id in ("new", "known"):
            if thread_id == "known":
                await run(shop.app, run_body(thread_id, user("hi", "u1")))
            answer = await run(shop.app, run_body(thread_id, resume=[entry]))
            kinds = [event["type"] for event in answer.events()]
            assert (kinds[0], kinds[-1], kinds.count("CUSTOM")) == ("RUN_STARTED", "RUN_FINISHED", 1)
            tool_message = {"id": "a", "role": "tool", "toolCallId": "call_unknown", "content": '{"approved":true}'}
            check(await run(shop.app, run_body(thread_id, tool_message)), b"")
            await shop.still_works(thread_id)
    assert shop.ran == []


async def test_a_sample_over_real_sockets() -> None:
    rng = Random(3)
    shop = Shop()
    async with running(shop.app) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        ids = await shop.ask("t")
        for _ in range(150):
            data = raw(rng, "t", ids)
            response = await client.post(url, content=data, headers={"content-type": "application/json"})
            assert response.status_code in STATUSES | {200}, (response.text, data)
            assert "Traceback" not in response.text
        too_long = await client.post(url, content=b" " * (4 * MIB + 1), headers={"content-type": "application/json"})
        assert too_long.status_code == 413
        await shop.still_works("t")
        host, port = url.removeprefix("http://").split(":")
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
            )
            writer.close()  # the body never comes
            await writer.wait_closed()
            del reader
        await shop.still_works("t")
    assert shop.ran == []
