"""Scenarios about what a server reads: versions, what it doesn't know, and what is malformed."""

from base64 import b64encode
from struct import pack

from agui_gate_adapters.testkit.check.bench import Bench, Talk
from agui_gate_adapters.testkit.check.peer import Unreachable
from agui_gate_adapters.testkit.spec.rules import Json, Strength

SOURCE = "an image of an unknown kind of source"

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # 1 × 1, a PNG
)

SILENCE = b64encode(
    b"RIFF" + pack("<I4s4sIHHIIHH4sI", 76, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 40) + b"\x80" * 40
).decode()
"""5 ms of it, a WAV."""


async def older_clients(bench: Bench) -> None:
    """Runs as a client of 0.x, which declares no version."""
    body = bench.asking(bench.user("text"))
    del body["protocolVersion"]
    talk = await bench.run(body, excused=("TOOL-4", "TOOL-5", "TOOL-6", "STATE-2", "LIFE-8"))
    bench.holds("VER-2", talk.finished, f"a client without a version is not accepted: {talk.says()}", talk)


async def versions(bench: Bench) -> None:
    """Declares a newer minor version, a newer major one, and an invalid one."""
    newer = await bench.run(bench.asking(bench.user("text"), protocolVersion="1.77"))
    bench.holds("VER-3", newer.finished, f"a client of 1.77 is not accepted: {newer.says()}", newer)
    echoed = any(event.get("protocolVersion") == "1.77" for event in newer.events)
    bench.holds("VER-1", not echoed, "RUN_STARTED echoes the client's version 1.77 instead of declaring its own", newer)
    major = await bench.run(bench.asking(bench.user("text"), protocolVersion="77.0"))
    told = major.finished or major.refused or [e.get("type") for e in major.events] == ["RUN_ERROR"]
    bench.holds(
        "VER-3", told, f"a client of 77.0 is neither accepted nor rejected before the run: {major.says()}", major
    )
    for garbled in ("newest", ""):
        talk = await bench.run(bench.asking(bench.user("text"), protocolVersion=garbled))
        bench.holds(
            "VER-4", talk.finished, f"the version {garbled!r} is not treated as a newer one: {talk.says()}", talk
        )


async def unknown(bench: Bench) -> None:
    """Sends members, roles, kinds of parts and sources, and states of answers that no schema has yet."""
    for where, body in _with_unknown_members(bench):
        talk = await bench.run(body)
        bench.holds("IN-9", talk.finished, f"{where} fails the input: {talk.says()}", talk)
    for where, body in _with_unknown_kinds(bench):
        talk = await bench.run(body, excused=("STATE-2",))
        unclear = where == SOURCE  # two pages contradict each other
        said = f"{where} fails the input: {talk.says()}"
        bench.holds("PROC-2", talk.finished, said, talk, "note" if unclear else None)


def _with_unknown_members(bench: Bench) -> list[tuple[str, Json]]:
    marked: Json = {"aguiCheckFuture": {"a": 1}}
    tool = {"name": "agui_check_tool", "description": "For a check.", "parameters": {"type": "object"}, **marked}
    return [
        ("an unknown member of the input", bench.asking(bench.user("text"), **marked)),
        ("an unknown member of a message", bench.asking({**bench.user("text"), **marked})),
        ("an unknown member of a tool", bench.asking(bench.user("text"), tools=[tool])),
    ]


def _with_unknown_kinds(bench: Bench) -> list[tuple[str, Json]]:
    def said(part: Json) -> Json:
        user = bench.user("text")
        return {**user, "content": [{"type": "text", "text": user["content"]}, part]}

    narrator = {"id": bench.fresh("message"), "role": "agui_check_role", "content": "x"}
    source = {"type": "agui_check_source", "value": "x"}
    entry = {"interruptId": bench.fresh("interrupt"), "status": "agui_check_status"}
    return [
        ("a message of an unknown role", bench.asking(narrator, bench.user("text"))),
        ("a part of an unknown type", bench.asking(said({"type": "agui_check_part", "x": 1}))),
        (SOURCE, bench.asking(said({"type": "image", "source": source}))),
        ("an answer of an unknown status", bench.asking(bench.user("text"), resume=[entry])),
    ]


async def malformed(bench: Bench) -> None:
    """Sends what no version allows, which has to be refused before the run, by HTTP."""
    good = bench.asking(bench.user("text"))
    cases: list[tuple[str, str, Json | bytes]] = [
        ("IN-8", "a body that is no JSON", b'{"threadId": '),
        ("IN-8", "a body that is a list", b"[]"),
        ("IN-8", "an input without threadId", {k: v for k, v in good.items() if k != "threadId"}),
        ("IN-8", "messages that are no list", {**good, "messages": "hello"}),
        ("PROC-1", "a message whose content is a number", {**good, "messages": [{**bench.user("text"), "content": 5}]}),
        ("PROC-1", "a runId that is a number", {**good, "runId": 5}),
        ("PROC-1", "a tool without a name", {**good, "tools": [{"description": "x"}]}),
    ]
    for rule, what, body in cases:
        await _refused(bench, rule, what, body)


async def _refused(bench: Bench, rule: str, what: str, body: Json | bytes) -> None:
    try:
        answer = await bench.peer.post(body, leave_at=("RUN_STARTED",))
    except Unreachable as error:
        bench.broke("SSE-5", f"{what} is not rejected with an HTTP status: {error}")
        return
    bench.tried.update(("SSE-5", rule))
    if answer.status < 400:
        talk = Talk(body if isinstance(body, dict) else {}, answer, answer.events)
        ran = any(event.get("type") == "RUN_STARTED" for event in talk.events)
        how = "the run is started" if ran else talk.says()
        bench.broke(rule, f"{what} is not rejected before the run: {how}", talk)


async def media(bench: Bench) -> None:
    """Sends parts that the model may not be able to use."""
    words = bench.user("text")
    data = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
    sound = {"type": "audio", "source": {"type": "data", "value": SILENCE, "mimeType": "audio/wav"}}
    handle = {"type": "document", "source": {"type": "file", "value": "file-agui-check", "provider": "agui-check"}}
    for rule, what, part in (
        ("IN-3", "an image", data),
        ("IN-3", "a sound", sound),
        ("IN-4", "a file handle of another provider", handle),
    ):
        said = {**words, "id": bench.fresh("user"), "content": [{"type": "text", "text": words["content"]}, part]}
        talk = await bench.run(bench.asking(said))
        bench.holds(rule, talk.finished, f"{what} fails the run: {talk.says()}", talk)


async def members(bench: Bench) -> None:
    """Sends context, state, what is passed through, and messages that are for pages alone."""
    for rule, more in (
        ("IN-7", {"forwardedProps": {"agui_check": None}}),
        ("IN-5", {"context": [{"description": "For a check", "value": "x"}], "tools": []}),
        ("IN-5", {"state": {"agui_check": [1, None]}}),
    ):
        talk = await bench.run(bench.asking(bench.user("text"), **more))
        names = " and ".join(f"`{name}`" for name in more)
        weight: Strength | None = "note" if "state" in more else None  # an application may want a state of its own
        bench.holds(rule, talk.finished, f"an input with {names} is not accepted: {talk.says()}", talk, weight)
    activity = {"id": bench.fresh("activity"), "role": "activity", "activityType": "check", "content": {"a": 1}}
    thought = {"id": bench.fresh("thought"), "role": "reasoning", "content": "hm", "encryptedValue": "x"}
    talk = await bench.run(bench.asking(activity, bench.user("text")))  # no client should send one
    bench.holds("IN-7", talk.finished, f"an activity in the history fails the input: {talk.says()}", talk, "note")
    talk = await bench.run(bench.asking(thought, bench.user("text")))  # not a value that the server has made
    said = f"an encrypted value without a type fails the input: {talk.says()}"
    bench.holds("REAS-4", talk.finished, said, talk, "note")
