"""What a client sends again is not decoded again, and a request means what it means all the same."""

import json
import random
import tracemalloc

import msgspec
import pytest

from agui_gate.errors import AguiGateError
from agui_gate.protocol import sent_messages
from agui_gate.protocol.request_decoder import decode
from agui_gate.protocol.run_input import MAX_DEPTH, MAX_MESSAGES, RunInput
from agui_gate.protocol.sent_messages import SentMessages, decode_all, decode_new
from tests.bench.work import history

USER = b'{"id":"u","role":"user","content":"hello \\u00e9\\"messages\\":["}'
CALLS = (
    b'{"id":"c","role":"assistant","toolCalls":[{"id":"c1","type":"function",'
    b'"function":{"name":"f","arguments":"{}"},"metadata":{"a":[1,{}]}}]}'
)
RESULT = '{"id":"r", "role":"tool","toolCallId":"c1","content":"größer 😀"}'.encode()
PARTS = b'{"id":"p","role":"user","content":[{"type":"text","text":"hi"}],"function_approvals":[{"id":"x"}]}'
ACTIVITY = b'{"id":"a","role":"activity","activityType":"x","content":{"a":1}}'
GOOD = (USER, CALLS, RESULT, PARTS, ACTIVITY)
DEEP = b'{"id":"d","role":"user","content":"","metadata":%b1%b}' % (b'{"a":' * 70, b"}" * 70)
DEEPER = b'{"id":"d","role":"activity","activityType":"x","content":%b1%b}' % (b'{"a":' * 3000, b"}" * 3000)
BAD = (
    b"5", b"", b"null", b'{"role":"user","content":"without an id"}', b'{"id":"x","role":"user","content":{}}',
    b'{"id":"x","role":"nobody","content":""}', b'{"id":"x","role":"user","content":"\xff"}', DEEP, DEEPER,
    b'{"id":"x","role":"user","content":"\\ud800"}', b'{"id":"x","role":"user","content":[{"type":"new"}]}',
    b'{"id":"x","role":"user","content":[{"type":"text"}]}', b'{"id":"x","role":"user","content":"","more":1}',
    b'{"id":"x","role":"user","content":"","metadata":{"a":1e999}}', b"{", b"]", b'"',
)  # fmt: skip
MEMBERS = (
    b'"state":{"messages":%(known)b,5]}', b'"messages":5', b'"messages":%(known)b]', b'"messages":[{"id":"1"}]',
    b'"mess\\u0061ges":[]', b'"thread_id":"t"', b'"threadId":"other"', b'"threadId":5', b'"protocolVersion":"1.0"',
    b'"protocolVersion":null', b'"unknown":1', b'"tools":[{"name":"f"}]', b'"forwardedProps":{"threadId":"t"}',
    b'"state":[%(deep)b]', b'"parentRunId":"p"', b'"forwardedProps":"\\"messages\\":"', b'"resume":[]', b'"unread":1',
    b'"sent":1', b'" sent":1',
)  # fmt: skip


def sent(body: bytes) -> SentMessages | None:
    """What is kept of a request."""
    kept: SentMessages | None = decode_all(body).sent
    return kept


def said(decoding, *args) -> RunInput | tuple[type, str, str, bool]:
    """What is made of a body: a request, or the words of its refusal."""
    try:
        run = decoding(*args)
    except AguiGateError as error:
        return type(error), error.code, error.message, getattr(error, "well_formed", False)
    return run if run is None else RunInput(*[getattr(run, name) for name in RunInput.__struct_fields__[:-1]])


def plain(run):
    """The same without the classes of its messages: those of plain ones are others among plain ones alone."""
    return msgspec.to_builtins(run) if isinstance(run, RunInput) else run


def request(messages: bytes, *more: bytes, end: bytes = b"]") -> bytes:
    """A body with the beginning of a list of messages, and other members before and behind it."""
    half = len(more) // 2
    members = [b'"threadId":"t"', *more[:half], b'"messages":' + messages + end, *more[half:], b'"runId":"r"']
    return b"{" + b",".join(members) + b"}"


class Walk:
    """One client that sends longer and longer histories, most of them well, and some in every odd way."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.messages = b"[" + USER
        self.known = sent(request(self.messages))
        self.decoded = 0

    def step(self) -> None:
        before = self.messages
        for _ in range(self.chance.randrange(3)):
            between = self.chance.choice((b",", b", ", b"\n,\t"))
            self.messages += between + self.chance.choice(GOOD if self.chance.random() < 0.8 else BAD)
        told = {b"known": before, b"deep": b"[" * 100 + b"]" * 100}
        more = [m % told for m in self.chance.choices(MEMBERS, k=self.chance.choice((0, 0, 0, 1, 2)))]
        body = request(self.messages, *more, end=self.chance.choice((*(b"]", b" ]") * 4, b",]", b"", b"]]", b"}")))
        if self.chance.random() < 0.2:
            place = self.chance.randrange(len(body))
            body = body[:place] + self.chance.choice((b"", b" ", b"[", b'"', b"\\", b"1")) + body[place + 1 :]
        self.check(body)
        whole = said(decode_all, body)
        assert plain(whole) == plain(said(decode, body))
        kept = sent(body) if isinstance(whole, RunInput) else None
        if kept is not None and kept.cut()[0] == self.messages.rstrip():
            self.known = kept
        else:
            self.messages = before

    def check(self, body: bytes) -> None:
        found = said(decode_new, body, lambda thread: self.known if thread == "t" else None, 100_000)
        if found is not None:
            assert plain(found) == plain(said(decode, body))
            if isinstance(found, RunInput):
                self.decoded += 1
                again = decode_new(body, lambda _: self.known, 100_000)
                assert again.sent.cut() == sent(body).cut()
                assert again.sent.messages == again.messages


@pytest.mark.parametrize("seed", range(12))
def test_it_means_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_messages, "CHECKED", False)
    walk = Walk(seed)
    for _ in range(150):
        walk.step()
    assert walk.decoded > 25


def test_only_what_is_new_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_messages, "CHECKED", False)
    first = request(b"[" + USER + b"," + CALLS)
    known = sent(first)
    run = decode_new(request(b"[" + USER + b"," + CALLS + b"," + RESULT), lambda _: known, 100)
    assert [one is other for one, other in zip(known.messages, run.messages, strict=False)] == [True, True]
    assert [message.id for message in run.messages] == ["u", "c", "r"]
    assert decode_new(request(b"[" + USER + b" ," + CALLS), lambda _: known, 100) is None  # other bytes
    assert decode_new(first, lambda _: None, 100) is None


def test_a_body_may_have_so_many_containers_in_all() -> None:
    body = request(b"[" + CALLS)
    number = body.count(b"{") + body.count(b"[")
    assert decode_new(body, lambda _: sent(body), number - 1) is None
    assert decode_new(body, lambda _: sent(body), number + 2) is not None


def test_so_many_messages_in_all() -> None:
    known = sent(request(b"[" + b",".join([USER] * MAX_MESSAGES)))
    assert known is not None
    body = request(known.cut()[0] + b"," + USER)
    assert said(decode_new, body, lambda _: known, 10**6) == said(decode, body)
    assert "at most" in said(decode, body)[2]


def test_depth_counts_from_the_top() -> None:
    assert b'{"a":' * MAX_DEPTH in DEEP
    body = request(b"[" + USER + b"," + DEEP)
    assert said(decode_new, body, lambda _: sent(request(b"[" + USER)), 100_000) is None
    assert "deeper" in said(decode, body)[2]


@pytest.mark.parametrize(
    "messages",
    [
        history(1000),
        [{"id": str(n), "role": "user", "content": "ä😀" * 50} for n in range(300)],
        [{"id": str(n), "role": "user", "content": "a" * 3000 + "😀"} for n in range(300)],
        [{"id": str(n), "role": "user", "content": "", "metadata": {"a": [[], {}, [[]]]}} for n in range(300)],
        [{"id": str(n), "role": "user", "content": "", "metadata": {"a": [1.5, 1000, "ab"] * 9}} for n in range(300)],
        [{"id": str(n), "role": "user", "content": "", "metadata": {"a": [{"b": n}] * 9}} for n in range(300)],
        [{"id": str(n), "role": "activity", "activityType": "x", "content": {"a": "b"}} for n in range(300)],
    ],
    ids=["ordinary", "wide", "widened", "containers", "numbers", "objects", "activities"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_is_held_is_no_more_than_is_said(messages, ascii_only: bool) -> None:
    body = request(json.dumps(messages, ensure_ascii=ascii_only, separators=(",", ":")).encode()[:-1])
    decode_all(body)
    tracemalloc.start()
    try:
        kept = sent(bytes(bytearray(body)))  # its own copy, which is held, too
        msgspec.json.encode([message.content for message in kept.messages])  # as a thread that is saved
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.held / 8 < held <= kept.held
