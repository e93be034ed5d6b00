"""`agui-gate check`: a server that keeps the rules passes, each habit that breaks one is named, and what is no server
ends in one clear line, in time.
"""

import asyncio
import json
import shlex
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest

from agui_gate_adapters.testkit.check import SCENARIOS, CantCheck, Report, check, peer
from agui_gate_adapters.testkit.check.peer import Peer
from agui_gate_adapters.testkit.spec import RULES, judge
from agui_gate_adapters.testkit.spec.frames import BINARY
from tests.spec.servers import Fake, accepts, head, listening, sse
from tests.spec.streams import Json, activity, amended, snapshot, started, text, user
from tests.spec.wire import RUN_FINISHED, RUN_STARTED, TEXT_CONTENT, TEXT_END, TEXT_START, framed

pytestmark = pytest.mark.anyio

Answering = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


_bounds: list[asyncio.Timeout] = []
"""Those within which an answer is being read, the widest first."""


@asynccontextmanager
async def _bounded(seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
    async with asyncio.timeout(seconds) as bound:
        _bounds.append(bound)
        try:
            yield bound
        finally:
            _bounds.remove(bound)


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "asyncio", SimpleNamespace(timeout=_bounded))


def time_is_up() -> None:
    """An answer's time is over soon, not after as long as a busy machine may need for those that come."""
    soon = asyncio.get_running_loop().time() + 0.2
    if (_bounds[0].when() or soon) > soon:
        _bounds[0].reschedule(soon)


async def checked(answer: Answering, seconds: float = 60.0) -> Report:
    async with listening(answer) as url:
        return await check(url, seconds=seconds)


def results(report: Report) -> dict[str, str]:
    return {line.id: line.result for line in report.lines}


async def test_a_server_that_keeps_the_rules_has_none_broken() -> None:
    names: list[str] = []
    async with listening(Fake()) as url:
        report = await check(url, seconds=60.0, progress=names.append)
    assert names == ["plain text", *SCENARIOS]
    assert [str(one.finding) for line in report.lines for one in line.seen] == []
    kept = {line.id for line in report.lines if line.result == "kept"}
    assert kept >= {
        "LIFE-1",
        "TOOL-4",
        "TOOL-5",
        "TOOL-6",
        "INT-1",
        "INT-4",
        "INT-5",
        "INT-8",
        "IN-8",
        "IN-9",
        "PROC-2",
    }
    assert kept >= {"PROC-1", "VER-1", "VER-3", "VER-4", "SSE-5", "IN-3", "IN-4", "IN-5", "TOOL-3", "EVT-4", "LIFE-5"}
    assert report.broken == []
    assert (report.version, report.stopped) == ("1.0", "")


HABITS = {
    "answers for the page": "TOOL-4",
    "reads silence": "INT-5",
    "goes on": "INT-5",
    "fails resume": "INT-4",
    "echoes": "VER-1",
    "same ids": "EVT-4",
    "knows all": "PROC-2",
    "reads all": "IN-8",
    "streams again": "LIFE-8",
}


@pytest.mark.parametrize(("habit", "rule"), HABITS.items())
async def test_a_habit_that_breaks_a_rule_is_named(habit: str, rule: str) -> None:
    report = await checked(Fake(habit))
    line = next(line for line in report.lines if line.id == rule)
    assert line.result == "broken", line
    assert line.is_breach is (RULES[rule].strength == "MUST")
    printed = "\n".join(report.table())
    assert line.seen[0].finding.sentence in printed


async def test_calls_and_text_in_chunks_are_read_as_what_they_stand_for() -> None:
    report = await checked(Fake("in chunks"))
    assert [str(one.finding) for line in report.lines for one in line.seen] == []
    kept = {line.id for line in report.lines if line.result == "kept"}
    assert kept >= {"STR-2", "TOOL-2", "TOOL-3", "TOOL-4", "TOOL-5", "TOOL-6", "INT-1", "INT-8", "EVT-4"}
    why = [line.why for line in report.lines if line.result == "not tried"]
    assert not any("called no tool" in reason or "did not call" in reason for reason in why)
    assert not any("before it could be left" in reason for reason in why)


async def test_an_open_call_alone_is_a_note_and_with_an_event_that_asks_a_breach() -> None:
    """INT-1: that a server stops to ask can't be seen from a call that it leaves open."""
    (line,) = (line for line in (await checked(Fake("asks nobody"))).lines if line.id == "INT-1")
    assert (line.result, len(line.notes)) == ("not tried", 1)
    assert "its call of `refund`" in line.notes[0].finding.sentence
    (line,) = (line for line in (await checked(Fake("asks nobody", "by an event"))).lines if line.id == "INT-1")
    assert line.is_breach
    assert ["`on_interrupt`, which asks" in one.finding.sentence for one in line.seen] == [True]


async def test_a_page_s_answer_that_is_not_taken_is_a_note() -> None:
    """TOOL-4 says who may not answer, and nothing of what is done with an answer."""
    report = await checked(Fake("fails tool"))
    (line,) = (line for line in report.lines if line.id == "TOOL-4")
    assert line.result == "kept"
    assert ["is not accepted" in one.finding.sentence for one in line.notes] == [True]


WANTS: dict[str, Callable[[Json, asyncio.StreamWriter], None]] = {
    "500": lambda _, writer: writer.write(head("500 Oops", "text/plain") + b"KeyError: 'tools'"),
    "422": lambda _, writer: writer.write(head("422 No", "application/json") + b"{}"),
    "RUN_ERROR": lambda given, writer: writer.write(
        head() + sse({**started(), **_ids(given)}, {"type": "RUN_ERROR", "message": "tools"})
    ),
}


def _ids(given: Json) -> Json:
    return {name: given[name] for name in ("threadId", "runId")}


@pytest.mark.parametrize("how", WANTS)
async def test_a_server_that_wants_what_may_be_left_out_is_checked_and_told(how: str) -> None:
    """IN-5: it was told as no server at all where it answered with anything but 422."""
    fake = Fake()

    async def wants(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body) if body.startswith(b'{"threadId": "') else {}
        if given and "tools" not in given:
            WANTS[how](given, writer)
        else:
            await fake(body, writer)

    report = await checked(wants)
    (line,) = (line for line in report.lines if line.id == "IN-5")
    assert line.is_breach
    assert [one.finding.sentence.split(", which")[0] for one in line.seen] == ["an input without `tools`"]
    assert report.stopped == ""


# --- the binary binding ----------------------------------------------------------------------------------------------


def whole(given: Json) -> list[bytes]:
    ids = (given["threadId"], given["runId"])
    text = (TEXT_START("m"), TEXT_CONTENT("m", "Hi" * 100), TEXT_END("m"))
    return [RUN_STARTED(*ids, "", "", "1.0"), *text, RUN_FINISHED(*ids)]


Body = Callable[[Json], bytes]
BINARIES: dict[str, tuple[str, Body, set[str]]] = {
    "whole": (BINARY, lambda given: framed(whole(given)), set()),
    "cut": (BINARY, lambda given: framed(whole(given))[:-1], {"TR-1"}),
    "no end": (BINARY, lambda given: framed(whole(given)[:1]), {"TR-1"}),
    "no start": (BINARY, lambda given: framed(whole(given)[1:]), {"LIFE-1"}),
    "an open message": (BINARY, lambda given: framed([*whole(given)[:3], whole(given)[-1]]), {"LIFE-3"}),
    "another run": (BINARY, lambda given: framed(whole({**given, "runId": "x"})), {"IN-1"}),
    "garbage": (BINARY, lambda given: framed([*whole(given), b"abc"]), {"PB-1"}),
    "JSON in frames": (BINARY, lambda given: framed([*whole(given), b"{}"]), {"PB-1"}),
    "another type": (f"{BINARY}; charset=utf-8", lambda given: framed(whole(given)), {"PB-1"}),
    "neither": ("application/json", lambda _: b"{}", {"PB-1"}),
}


@pytest.mark.parametrize("name", BINARIES)
async def test_the_binary_binding(name: str) -> None:
    media, body, rules = BINARIES[name]
    fake = Fake()

    async def both(given: bytes, writer: asyncio.StreamWriter) -> None:
        if BINARY.encode() in accepts():
            writer.write(head(media=media) + body(json.loads(given)))
        else:
            await fake(given, writer)

    async with listening(both) as url:
        report = await check(url, seconds=60.0)
    assert {line.id for line in report.broken} == rules
    assert ("PB-1" in {line.id for line in report.lines if line.result == "kept"}) is ("PB-1" not in rules)


# --- connections ------------------------------------------------------------------------------------------------------


async def test_a_request_has_a_connection_of_its_own() -> None:
    """A server may close one that was kept, as uvicorn does where an application failed: that was told as TR-1."""
    fake, over = Fake(), asyncio.Event()

    async def kept(given: bytes, writer: asyncio.StreamWriter) -> None:
        told = bytearray()
        await fake(given, cast(asyncio.StreamWriter, SimpleNamespace(write=told.extend)))
        top, _, body = bytes(told).replace(b"connection: close\r\n", b"").partition(b"\r\n\r\n")
        writer.write(top + f"\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        await over.wait()  # what else is sent on this connection is not read

    async with listening(kept) as url:
        try:
            report = await check(url, seconds=60.0)
        finally:
            over.set()
    assert (report.broken, report.stopped) == ([], "")


@pytest.mark.parametrize("end", ["RUN_ERROR", "RUN_FINISHED"])
async def test_a_connection_that_is_cut_after_the_runs_end_is_a_note(end: str) -> None:
    """The run's last event came, so nothing is truncated. It was told as a broken TR-1."""
    fake = Fake()

    async def cut(given: bytes, writer: asyncio.StreamWriter) -> None:
        if b'"role": "activity"' not in given:
            await fake(given, writer)
            return
        asked = json.loads(given)
        ids = {"threadId": asked["threadId"], "runId": asked["runId"]}
        last = {"type": end, **(ids if end == "RUN_FINISHED" else {"message": "no"})}
        body = sse({**started(), **ids}, last)
        writer.write(head(**{"transfer-encoding": "chunked"}) + f"{len(body):x}\r\n".encode() + body + b"\r\n")

    line = next(line for line in (await checked(cut)).lines if line.id == "TR-1")
    assert ([*line.seen], [one.finding.sentence for one in line.notes][:1]) == (
        [],
        ["the connection was cut after the end of the run, before the end of the body"],
    )


# --- notes, and what it takes to see a finding again -----------------------------------------------------------------


async def test_what_has_no_ground_in_the_specification_is_a_note() -> None:
    """It was told as a broken MUST: an activity that a delta retypes, a user's message that a snapshot rewrites, an
    activity that no client may send, and a kind of source of which two pages say different things."""
    fake = Fake()
    kinds = ("agui_check_source", '"role": "activity"')

    async def odd(body: bytes, writer: asyncio.StreamWriter) -> None:
        if any(kind in body.decode() for kind in kinds):
            writer.write(head("422 No", "application/json") + b"{}")
            return
        told = bytearray()
        await fake(body, cast("asyncio.StreamWriter", SimpleNamespace(write=told.extend)))
        given = json.loads(body) if b"text/event-stream" in told else {}
        if given:
            mine = [
                activity(),
                amended(activityType="map"),
                snapshot(user("otherwise", given["messages"][0]["id"])),
            ]
            told = told.replace(b'"protocolVersion": "1.0"}\n\n', b'"protocolVersion": "1.0"}\n\n' + sse(*mine), 1)
        writer.write(bytes(told))

    report = await checked(odd)
    assert [str(one.finding) for line in report.broken for one in line.seen] == []
    noted = {line.id: {one.finding.sentence for one in line.notes} for line in report.lines if line.notes}
    assert noted.keys() >= {"ACT-1", "STATE-2", "IN-7", "PROC-2"}
    assert any("unknown kind of source" in sentence for sentence in noted["PROC-2"])
    table = "\n".join(report.table())
    assert "Notes, which break no rule:" in table
    (told,) = (rule for rule in report.told()["rules"] if rule["id"] == "ACT-1")
    assert (told["result"], told["findings"]) == ("kept", [])
    assert told["notes"][0]["strength"] == "note"


async def test_a_finding_has_the_rules_words_its_page_and_the_requests_that_show_it() -> None:
    async with listening(Fake("reads silence")) as url:
        report = await check(url, seconds=60.0, headers={"Authorization": "Bearer hidden"})
    told = report.told()
    (rule,) = (rule for rule in told["rules"] if rule["id"] == "INT-5")
    assert rule["quote"].startswith("A producer MUST NOT perform the interrupted action on the strength of an absent")
    assert rule["page"].endswith("/docs/spec/1.1/basic/patterns/interrupt-resume.mdx")
    requests = {request["number"]: request for request in told["requests"]}
    one = rule["findings"][0]
    (before,) = one["after"]
    assert requests[before]["body"]["threadId"] == requests[one["request"]]["body"]["threadId"]
    assert requests[one["request"]]["headers"]["Authorization"] == "…"
    assert "hidden" not in json.dumps(told)
    printed = "\n".join(report.table(curl=True))
    assert f"    “{RULES['INT-5'].quote}”\n    {RULES['INT-5'].url}\n" in printed
    assert '-H "Authorization: $AUTHORIZATION"' in printed
    assert "hidden" not in printed


async def test_the_curl_commands_show_the_finding_again() -> None:
    async with listening(Fake("answers for the page")) as url:
        report = await check(url, seconds=60.0)
        lines = [line.strip() for line in report.table(curl=True)]
        command = next(line for line in lines if line.startswith("curl -sN ") and "agui_check_colour" in line)
        process = await asyncio.create_subprocess_exec(*shlex.split(command), stdout=asyncio.subprocess.PIPE)
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    body = json.loads(shlex.split(command)[-1])
    assert "TOOL-4" in {one.rule for one in judge(out, input=body)}


async def test_whether_a_forgetful_server_breaks_the_rule_on_silence_cannot_be_told() -> None:
    line = next(line for line in (await checked(Fake("forgets"))).lines if line.id == "INT-5")
    assert (line.result, "can't be told" in line.why) == ("broken", False) or "can't be told" in line.why


async def test_what_did_not_come_is_not_tried_and_says_why() -> None:
    async def plain(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body)
        ids = {"threadId": given["threadId"], "runId": given["runId"]}
        writer.write(head() + sse({**started(), **ids}, *text(given["runId"]), {"type": "RUN_FINISHED", **ids}))

    report = await checked(plain)
    why = {line.id: line.why for line in report.lines if line.result == "not tried"}
    assert "no interrupt came" in why["INT-1"]
    assert "did not call the page's tool" in why["TOOL-4"]
    assert why["STR-2"] == "no chunk came"
    assert why["GEN-2"] == "can't be observed from outside"
    told = report.told()
    assert [rule["id"] for rule in told["rules"]] == list(RULES)
    assert json.loads(json.dumps(told)) == told


# --- what is no server -----------------------------------------------------------------------------------------------


def saying(data: bytes) -> Answering:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer


async def silent(_: bytes, writer: asyncio.StreamWriter) -> None:
    time_is_up()
    await asyncio.Event().wait()


async def pinging(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(head())
    while True:
        writer.write(b": ping\n\n")
        await writer.drain()
        time_is_up()
        await asyncio.sleep(0.02)


async def gushing(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(head())
    while True:
        writer.write(b"x" * 100_000)
        await writer.drain()


NO_SERVER: dict[str, tuple[Answering, str]] = {
    "HTML": (saying(head(media="text/html; charset=utf-8") + b"<html>"), "text/html, not text/event-stream"),
    "JSON": (saying(head(media="application/json") + b"{}"), "application/json, not text/event-stream"),
    "not found": (saying(head("404 Not Found", "text/plain") + b"nothing"), "give the address that accepts runs"),
    "no POST": (saying(head("405 Method Not Allowed", "text/plain")), "give the address that accepts runs"),
    "unauthorized": (saying(head("401 Unauthorized", "application/json") + b"{}"), "give credentials with --header"),
    "redirect": (saying(head("307 Temporary Redirect", location="http://127.0.0.1:9/x")), "redirects to http://127.0.0.1:9/x"),
    "broken": (saying(head("500 Oops", "text/plain") + b"it broke"), "status 500: it broke"),
    "refuses": (saying(head("422 No", "application/json") + b'{"detail": "no"}'), 'status 422: {"detail": "no"}'),
    "no HTTP": (saying(b"\x00\x01garbage\r\n\r\n"), "can't be checked"),
    "nothing": (saying(b""), "can't be checked"),
    "silence": (silent, "no answer within 300 s"),
    "only pings": (pinging, "no event can be read"),
    "an empty stream": (saying(head()), "no event can be read"),
    "megabytes": (gushing, "no event can be read"),
    "garbage": (saying(head() + bytes(range(256)) * 40), "no event can be read"),
    "half a frame": (saying(head() + b'data: {"type": "RUN_STARTED"'), "no event can be read"),
    "a bomb": (saying(head() + b"data: " + b"[" * 200_000 + b"\n\n"), "no event can be read"),
    "a failing run": (saying(head() + sse({"type": "RUN_ERROR", "message": "no key"})), "its runs fail (no key)"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_SERVER)
async def test_what_is_no_server_ends_in_one_line_and_in_time(name: str) -> None:
    answer, sentence = NO_SERVER[name]
    begun = time.monotonic()
    with pytest.raises(CantCheck) as told:
        await checked(answer, seconds=300.0)
    assert sentence in str(told.value)
    assert "\n" not in str(told.value).strip()
    assert time.monotonic() - begun < 150


async def test_nobody_there() -> None:
    with pytest.raises(CantCheck, match="can't be checked: "):
        await check("http://127.0.0.1:9/", seconds=60.0)


@pytest.mark.parametrize("url", ["http://", "http://[", "http://exa mple/", "http://127.0.0.1:99999/"])
async def test_no_address(url: str) -> None:
    with pytest.raises(CantCheck, match="can't be checked: "):
        await check(url, seconds=60.0)


async def test_a_run_that_never_ends_is_judged_as_far_as_it_came() -> None:
    async def endless(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body)
        writer.write(head() + sse({**started(), "threadId": given["threadId"], "runId": given["runId"]}, {"type": "X"}))
        time_is_up()
        await asyncio.Event().wait()

    report = await checked(endless)
    assert {line.id for line in report.broken} == {"TR-1", "EVT-1"}
    assert report.stopped == "not tried: the first run had no end"


@pytest.mark.parametrize("leave_at", ["RUN_STARTED", ""])
async def test_a_frame_in_whose_middle_one_leaves_is_not_held_against_the_server(leave_at: str) -> None:
    """The network cuts frames where it likes: a check that left in the middle of one told of a broken frame."""

    async def cut(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + sse(started()) + b'data: {"type": "RUN_FIN')
        time_is_up()
        await asyncio.Event().wait()

    async with listening(cut) as url, Peer(url, {}, timeout=60.0) as peer:
        answer = await peer.post({}, leave_at=leave_at)
    assert (answer.end, answer.body) == ("left" if leave_at else "late", sse(started()))


SCHEMA = {"required": [{}, 5, "a"], "properties": {"a": {"type": {}, "enum": []}}}
ODD = (
    {"type": {"a": 1}},
    {"type": ["RUN_STARTED"]},
    {"type": "TOOL_CALL_START", "toolCallId": {}, "toolCallName": []},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": [], "toolCallName": {}, "delta": 5},
    {"type": "MESSAGES_SNAPSHOT", "messages": [None, "x", {"id": {}, "role": [], "toolCalls": [{"id": []}, 7]}]},
    {"type": "STATE_DELTA", "delta": [{"op": {}, "path": 5}]},
)
ASKS = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "toolCallId": [], "responseSchema": SCHEMA}]}


async def test_members_of_any_type_are_told_and_everything_is_tried() -> None:
    async def odd(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body)
        ids = {name: given.get(name) for name in ("threadId", "runId")} if isinstance(given, dict) else {}
        writer.write(head() + sse({**started(), **ids}, *ODD, {"type": "RUN_FINISHED", **ids, "outcome": ASKS}))

    report = await checked(odd)
    assert report.stopped == ""
    assert {"EVT-1", "INT-4"} <= {line.id for line in report.lines if line.result == "broken"}


async def test_of_a_stream_that_breaks_a_rule_in_every_frame_the_first_are_told() -> None:
    strange = {"type": "CUSTOM", "name": "x", "value": "y" * 5_000, **{f"odd{number}": 1 for number in range(300)}}

    async def endless(body: bytes, writer: asyncio.StreamWriter) -> None:
        given = json.loads(body)
        ids = {"threadId": given["threadId"], "runId": given["runId"]}
        writer.write(head() + sse({**started(), **ids}, *[strange] * 5) + b"data: [\n\n" * 5_000)
        time_is_up()
        await asyncio.Event().wait()

    report = await checked(endless)
    assert {line.id: len(line.seen) for line in report.broken} == {"EVT-1": 100, "SSE-1": 100, "TR-1": 1}
    assert len(json.dumps(report.told())) < 500_000


@pytest.mark.parametrize("linger", [0.1, 60.0])
async def test_a_body_that_stays_open_after_the_end_is_told(linger: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever time is over first: that after an end, or that of an answer."""
    monkeypatch.setattr(peer, "LINGER", linger)

    async def lingering(body: bytes, writer: asyncio.StreamWriter) -> None:
        await Fake()(body, writer)
        if linger == 60.0:
            time_is_up()
        await asyncio.Event().wait()

    report = await checked(lingering)
    assert "SSE-3" in {line.id for line in report.broken}


async def test_a_server_that_stops_answering_is_given_up() -> None:
    fake, requests = Fake(), 0

    async def tiring(body: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        await (fake(body, writer) if requests < 5 else silent(body, writer))

    report = await checked(tiring)
    assert report.stopped == "not tried: 3 answers did not come within 60 s"
    assert requests <= 4 + 3, "three answers, not all that it would ask for"
