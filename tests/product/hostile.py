"""Bad input, made from seeds: what clients, proxies, bugs and attackers send."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from agui_gate.errors import AguiGateError
from agui_gate.protocol.request_decoder import decode

Json = dict[str, Any]

SURROGATE = "\ud800"
NOT_YES: tuple[Any, ...] = (
    "true", "yes", 1, 0, None, [], [True], {}, {"approved": "true"}, {"approved": 1}, {"approved": None},
    {"accepted": "yes"},
    {"approved": True, "accepted": False}, {"approve": True}, {"approved": [True]}, {"approved": {"approved": True}},
    "approved",
    {"accepted": True, "steps": [{"status": "disabled"}]}, {"accepted": True, "steps": "all"},
    {"approved": True, "editedArgs": []},
    {"approved": True, "editedArgs": {"order_id": "STOLEN"}}, {"accepted": True, "edited_arguments": "x"},
)  # fmt: skip
"""Answers of which none is a yes to the call as it was issued."""


def deep(depth: int, rng: Random) -> Any:
    """A value nested ``depth`` times."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def odd(rng: Random) -> Any:
    """A value that hardly any field takes."""
    return rng.choice(
        [
            None, True, False, 0, -1, 1.5, 1e308, 2**53, 2**64, -(2**63) - 1, 10**40, "", " ", "\x00", "a\x00b\x1b[31m",
            "\u202e\u2028",
            "😀" * 10, "x" * 10_000, "../../etc/passwd", "'; DROP TABLE threads; --", "{{", [], {}, [[]], [None],
            {"": ""},
            {"a": None}, deep(rng.choice([3, 63, 64, 65, 70]), rng), [1] * 300, {str(i): i for i in range(100)},
        ]
    )  # fmt: skip


def message(rng: Random, ids: list[str]) -> Json:
    """A message as a broken client might replay it."""
    some_id = rng.choice([*ids, "nothing", "", "x" * 300, "\x00", None, 7])
    arguments = rng.choice(['{"q":"tru', "", "[1]", "null", '{"a":1}{', '{"order_id":"A1"}', None, {"a": 1}, "\\", 5])
    call = {
        "id": some_id,
        "type": "function",
        "function": {"name": rng.choice(["refund", "confirm_changes", "", "a b", "é", None]), "arguments": arguments},
    }
    answer = rng.choice(NOT_YES)
    content = answer if rng.random() < 0.3 else json.dumps(answer)
    approval = {
        "id": some_id,
        "call_id": rng.choice([some_id, None]),
        "approved": rng.choice(["true", 1, None, "yes", [True]]),
    }
    made = rng.choice(
        [
            {"role": "user", "content": odd(rng)},
            {
                "role": "user",
                "content": rng.choice(["hi", "\x00", "x" * 5000]),
                "function_approvals": [approval, odd(rng)],
            },
            {
                "role": "user",
                "content": [{"type": rng.choice(["text", "image", "binary", "x", None]), "text": odd(rng)}],
            },
            {"role": rng.choice(["root", "", None, 3, "User", "function"]), "content": "x"},
            {"role": "assistant", "content": odd(rng), "toolCalls": [call, call]},
            {"role": "assistant", "toolCalls": rng.choice([[call], [], {}, [None], "x", [{}]])},
            {"role": "tool", "toolCallId": some_id, "content": content},
            {"role": "tool", "toolCallId": some_id, "content": content, "error": rng.choice(["x", "", None, 5])},
            {"role": "tool", "content": content},
            {"role": "activity", "activityType": "x", "content": odd(rng)},
            {"role": "reasoning", "content": odd(rng), "encryptedValue": odd(rng)},
            {"role": rng.choice(["system", "developer"]), "content": odd(rng)},
            odd(rng),
        ]
    )
    if isinstance(made, dict) and rng.random() < 0.7:
        made["id"] = rng.choice([*ids, "m1", "m1", "m2", "", "x" * 300, 5, None, f"m{rng.random()}"])
    return made


def shaped(rng: Random, ids: list[str]) -> Json:
    """A message of a shape that is taken, so that what it says is looked at."""
    while True:
        made = message(rng, ids)
        try:
            decode(json.dumps({"threadId": "t", "runId": "r", "messages": [made]}).encode())
        except AguiGateError:
            continue
        return made


def resume(rng: Random, ids: list[str]) -> Any:
    """A `resume[]` of which nothing says yes."""
    entry = {
        "interruptId": rng.choice([*ids, "nothing", "", 5, None, "x" * 10_000]),
        "status": rng.choice(["resolved"] * 4 + ["cancelled", "x", None]),
    }
    entry["payload"] = rng.choice([rng.choice(NOT_YES), deep(70, rng), odd(rng)])
    return rng.choice(
        [[entry], [entry, entry], [{**entry, "payload": rng.choice(NOT_YES)}, entry], {}, "x", [None], [{}], entry]
    )


def body(rng: Random, thread_id: str, ids: list[str]) -> Json:
    """A run's body with something wrong, or odd, in it."""
    make = rng.choice([message, shaped, shaped])
    made: Json = {
        "threadId": thread_id,
        "runId": "r",
        "messages": [make(rng, ids) for _ in range(rng.choice([0, 1, 1, 2, 5]))],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    for _ in range(rng.choice([0, 0, 1, 2])):
        key = rng.choice(
            ["tools", "context", "state", "forwardedProps", "protocolVersion", "messages", "runId", "parentRunId", "x"]
        )
        made[key] = odd(rng)
    if rng.random() < 0.2:
        made["protocolVersion"] = rng.choice(["1.0", "1.7", "2.0", "0.9", "garbage", ""])
    if rng.random() < 0.3:
        made["resume"] = resume(rng, ids)
    if rng.random() < 0.1:
        payload = rng.choice(NOT_YES)
        event = rng.choice([{"id": rng.choice(ids or [""])}, {"toolCallId": rng.choice(ids or [""])}, odd(rng)])
        made["forwardedProps"] = {"command": rng.choice([{"resume": payload, "interruptEvent": event}, odd(rng)])}
    if rng.random() < 0.1:
        made["tools"] = [
            {"name": odd(rng), "description": odd(rng), "parameters": odd(rng)},
            {"name": "refund", "parameters": {}},
        ]
    if rng.random() < 0.05:
        made["threadId"] = odd(rng)
    if rng.random() < 0.05:
        del made[rng.choice(["threadId", "runId", "messages"])]
    return made


def raw(rng: Random, thread_id: str, ids: list[str]) -> bytes:
    """Bytes of a body; often not even JSON."""
    text = json.dumps(body(rng, thread_id, ids), ensure_ascii=rng.random() < 0.5)
    data = text.encode("utf-8", "surrogatepass")
    return rng.choice(SPOILS)(rng, data) if rng.random() < 0.35 else data


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _swap(old: bytes, new: bytes) -> Callable[[Random, bytes], bytes]:
    return lambda rng, data: data.replace(old, new, 1)


SPOILS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _cut,
    _flip,
    lambda rng, data: b"",
    lambda rng, data: b"\xef\xbb\xbf" + data,
    lambda rng, data: data.decode("utf-8", "replace").encode("utf-16"),
    lambda rng, data: data + rng.choice([b"}", b",", b"\x00", data]),
    lambda rng, data: rng.randbytes(rng.randrange(50)),
    lambda rng, data: rng.choice(
        [b"null", b"[]", b"1", b'"x"', b"true", b"{}", b"NaN", b"-", b"[" * 100_000, b'{"a":' * 5_000]
    ),
    _swap(b'"runId": "r"', b'"runId": "\\ud800"'),
    _swap(b'"runId": "r"', b'"runId": "\xff\xfe"'),
    _swap(b'"runId": "r"', b'"runId": "\xed\xa0\x80"'),
    _swap(b'"runId": "r"', b'"runId": "r", "runId": 5'),
    _swap(b'"runId": "r"', b'"runId": "r", "threadId": "other", "messages": []'),
    _swap(b'"state": {}', b'"state": {"n": 1e999}'),
    _swap(b'"state": {}', b'"state": {"n": NaN}'),
    _swap(b'"state": {}', b'"state": {"n": ' + b"9" * 5_000 + b"}"),
    _swap(b'"state": {}', b'"state": {"n": 123456789012345678901234567890}'),
    _swap(b'"state": {}', b'"state": {"\\ud83d": "\\udc00"}'),
    _swap(b'"state": {}', b'"state": ' + b"[" * 70 + b"]" * 70),
    _swap(b'"context": []', b'"context": [{"description": 5, "value": {}}]'),
    _swap(b'"context": []', b'"context": [{"description": "d", "value": 1e400}]'),
)
