"""`agui-gate approvals` against a server that means no good: one clear sentence, and an end."""

import gzip
import itertools
import json
import random
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.request import urlopen

import pytest

from agui_gate.cli import remote_server
from tests.cli import hostile
from tests.cli.conftest import Cli
from tests.cli.hostile import OUTCOME, RECORD, Answer, answering, head, page, reply, slowly

STRANGER = r"There is no agui-gate server at \S+\. Check --url\."
SLOW = r"The server at \S+ took too long to answer\."
CUT = r"The server at \S+ closed the connection before its response was complete\."
LARGE = r"The server at \S+ sent a response that is too large\."
EVIL = "\x1b]0;owned\x07\x1b[2J\r\u202egnihton\u0085"


def always(*pieces: bytes) -> Answer:
    return lambda asked: pieces


def endless(piece: bytes, first: bytes = b"") -> Answer:
    return lambda asked: itertools.chain([first], itertools.repeat(piece))


def counting() -> Answer:
    number = itertools.count()
    return lambda asked: [reply(page(cursor=f"c{next(number)}"))]


def with_record(**changed: Any) -> Answer:
    return always(reply(page(RECORD | changed)))


UNCLEAR = r" Whether it took effect is not known: look before you try again\."
"""What is said of a decision whose outcome didn't arrive."""


HOSTILE: dict[str, tuple[Answer, str]] = {
    "the same cursor again": (
        always(reply(page(cursor="c"))),
        r"The server at \S+ lists the same page again and again\.",
    ),
    "new cursors without end": (
        counting(),
        r"The list of the server at \S+ is too long: the command stopped after 20 pages\.",
    ),
    "a cursor that no request can have": (always(reply(page(cursor="c" * 70_000))), CUT),
    "a body without an end": (endless(b" " * 65536, head()), LARGE),
    "a list that is too large": (
        lambda asked: [reply(page(RECORD | {"message": "m" * 60_000}, cursor=f"{random.random()}"))],
        LARGE,
    ),
    "a header without an end": (endless(b"a" * 65536, b"HTTP/1.1 200 OK\r\nX: "), CUT),
    "headers without an end": (endless(b"X: y\r\n" * 1000, b"HTTP/1.1 200 OK\r\n"), CUT),
    "a header, a byte at a time": (lambda asked: slowly(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1_000_000), SLOW),
    "a body, a byte at a time": (lambda asked: itertools.chain([head()], slowly(b" ")), SLOW),
    "a bomb that is packed": (
        always(reply(gzip.compress(b"[" * 50_000_000), more="Content-Encoding: gzip\r\n")),
        STRANGER,
    ),
    "no answer": (always(), CUT),
    "no HTTP": (always(b"SSH-2.0-OpenSSH_9.2\r\n"), CUT),
    "half an answer": (always(head(more="Content-Length: 100\r\n"), b'{"approvals"'), CUT),
    "no UTF-8": (always(reply(b'{"approvals": [], "next_cursor": "\xff"}')), STRANGER),
    "no JSON": (always(reply(b"<html>")), STRANGER),
    "nothing": (always(reply(b"")), STRANGER),
    "a list": (always(reply(b"[]")), STRANGER),
    "no list": (always(reply(b'{"approvals": {"a": 1}, "next_cursor": null}')), STRANGER),
    "a cursor of another type": (always(reply(page(cursor=7))), STRANGER),
    "deep": (with_record(arguments={"a": json.loads("[" * 300 + "]" * 300)}), STRANGER),
    "deeper than JSON is read": (always(reply(b'{"a": ' + b"[" * 100_000)), STRANGER),
    "a number of 5000 digits": (always(reply(page(RECORD).replace(b'"A1"', b"9" * 5000))), STRANGER),
    "a number without an end": (always(reply(page(RECORD).replace(b'"A1"', b"1e999"))), STRANGER),
    "NaN": (always(reply(page(RECORD).replace(b'"A1"', b"NaN"))), STRANGER),
    "half a character": (always(reply(page(RECORD | {"message": "\ud800"}))), STRANGER),
    **{
        f"{name} of another type": (with_record(**{name: 7}), STRANGER)
        for name in RECORD
        if name in remote_server.Record.__struct_fields__
    },
    **{
        f"no {name}": (always(reply(page({key: value for key, value in RECORD.items() if key != name}))), STRANGER)
        for name in remote_server.Record.__struct_fields__
    },
    "a redirect": (
        always(reply(b"", "302 Found", more="Location: http://127.0.0.1:9/\r\n")),
        r"The server at \S+ redirects \(302\)\. Pass the address it redirects to as --url\.",
    ),
    "a token is needed": (
        always(reply(b"{}", "401 Unauthorized")),
        r"This server requires a token\. Pass --token or set AGUI_GATE_TOKEN\.",
    ),
    "another kind of server": (
        always(reply(b"", "404 Not Found")),
        r"There is no agui-gate server at \S+ \(404\)\. Check --url\.",
    ),
    "an error that steers": (
        always(reply(json.dumps({"error": {"message": EVIL}}).encode(), "500 Oh")),
        r"⟦U\+001B⟧\]0;owned⟦U\+0007⟧⟦U\+001B⟧\[2J ⟦U\+202E⟧gnihton ?",
    ),
    "an error of another type": (
        always(reply(b'{"error": {"message": 7}}', "500 Oh")),
        r"The server answered with status 500\.",
    ),
}
COMMANDS = (("ls",), ("ls", "--json"), ("approve", "apr_0123456789"), ("reject", "apr_0123456789", "--json"))


@pytest.fixture(autouse=True)
def _bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller ones: what is over them ends in the same way."""
    monkeypatch.setattr(remote_server, "TIMEOUT", 1.0)
    monkeypatch.setattr(remote_server, "MAX_ANSWER", 1_000_000)
    monkeypatch.setattr(remote_server, "MAX_LIST", 500_000)
    monkeypatch.setattr(remote_server, "MAX_PAGES", 20)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_list_that_means_no_good_is_one_sentence(cli: Cli, name: str) -> None:
    answer, told = HOSTILE[name]
    with answering(answer) as url:
        result = cli("approvals", *COMMANDS[sum(name.encode()) % len(COMMANDS)], "--url", url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"error: {told}\n", result.stderr), result.stderr


def decided(told: bytes) -> Answer:
    return lambda asked: [told if asked.startswith("POST") else reply(page(RECORD if "decided" not in asked else {}))]


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (reply(b"[]"), STRANGER),
        (reply(b'{"state": "done"}'), STRANGER),
        (reply(json.dumps(OUTCOME | {"run": 7}).encode()), STRANGER),
        (reply(json.dumps(OUTCOME | {"result": {"a": 1}}).encode()), STRANGER),
        (reply(b"{}", "404 Not Found"), r"There is no agui-gate server at \S+ \(404\)\. Check --url\."),
        (head() + b" " * 2_000_000, LARGE + UNCLEAR),
        (b"", CUT + UNCLEAR),
        (reply(b"<html>", "502 Bad Gateway"), r"The server answered with status 502\." + UNCLEAR),
    ],
)
def test_an_outcome_that_is_none_is_one_sentence(cli: Cli, told: bytes, sentence: str) -> None:
    with answering(decided(told)) as url:
        result = cli("approvals", "approve", str(RECORD["id"]), "--json", "--url", url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"error: {sentence}\n", result.stderr), result.stderr


def test_nothing_that_a_server_says_steers_the_terminal(cli: Cli) -> None:
    texts = {name: EVIL for name, value in RECORD.items() if isinstance(value, str) and name not in ("id", "state")}
    record = RECORD | texts | {"effective_arguments": {EVIL: EVIL}, "editable": [EVIL], "expires_at": EVIL}
    outcome = OUTCOME | {"result": EVIL, "message": EVIL, "not_continued": EVIL}

    def answer(asked: str) -> Iterable[bytes]:
        return [reply(json.dumps(outcome).encode() if asked.startswith("POST") else page(record))]

    with answering(answer) as url:
        for arguments in (
            ["ls"],
            ["ls", "--json"],
            ["approve", str(RECORD["id"])],
            ["approve", str(RECORD["id"]), "--edit", "a=1"],
            ["reject", str(RECORD["id"]), "--json"],
        ):
            result = cli("approvals", *arguments, "--url", url)
            assert result.exit_code == (2 if "--edit" in arguments else 0)
            assert all(line.isprintable() for line in result.output.splitlines())
            assert "owned" in result.output


STREAM = head(kind="text/event-stream")
REFUSED_STREAMS: dict[str, tuple[Answer, str]] = {
    "another kind of answer": (
        always(reply(b"{}")),
        r"The server at \S+ has no approval events\. It may be an older version\.",
    ),
    "a header, a byte at a time": HOSTILE["a header, a byte at a time"],
    "a header without an end": HOSTILE["a header without an end"],
    "a bomb that is packed": (
        always(head(kind="text/event-stream", more="Content-Encoding: gzip\r\n"), gzip.compress(b"[" * 50_000_000)),
        r"The server at \S+ has no approval events\. It may be an older version\.",
    ),
    "an event without an end": (endless(b"x" * 65536, STREAM + b"data: "), LARGE),
    "an event of lines without an end": (endless(b"data: x\n" * 5000, STREAM), LARGE),
    "no record": (always(STREAM, hostile.event("approval", {"id": "a"})), STRANGER),
    "no JSON": (always(STREAM, b"event: waiting\ndata: {\n\n"), STRANGER),
    "a list": (always(STREAM, hostile.event("gone", [])), STRANGER),
    "ids of another type": (always(STREAM, hostile.event("waiting", {"ids": [7]})), STRANGER),
    "a token is needed": HOSTILE["a token is needed"],
    "another kind of server": HOSTILE["another kind of server"],
}


@pytest.mark.parametrize("name", REFUSED_STREAMS)
def test_a_stream_that_means_no_good_is_one_sentence(cli: Cli, name: str) -> None:
    answer, told = REFUSED_STREAMS[name]
    with answering(answer) as url:
        result = cli("approvals", "watch", "--url", url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"error: {told}\n", result.stderr), result.stderr


def test_what_watch_shows_steers_nothing_and_unknown_events_are_passed_over(cli: Cli) -> None:
    events = [
        hostile.event("later", [EVIL]),
        hostile.event("approval", RECORD | {"tool": EVIL, "message": EVIL}),
        hostile.event("approval", RECORD | {"state": EVIL, "decision": {"by": EVIL}}),
        hostile.event("gone", {"id": EVIL}),
        hostile.event("gone", {}),
    ]
    for options in ([], ["--json"]):
        with answering(always(STREAM, *events)) as url:
            result = cli("approvals", "watch", *options, "--url", url)
        assert result.exit_code == 1
        assert len(result.stdout.splitlines()) == 3
        assert all(line.isprintable() for line in result.output.splitlines())


class Mutations:
    """JSON values near what is right, each a bit wrong."""

    ODD: Sequence[Any] = (None, True, 0, -1, 2**70, 1e308, "", EVIL, "x" * 5000, [], {}, [[]], {"": {}}, "\ud800")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, value: Any) -> Any:
        roll = self.random.random()
        if roll < 0.08:
            return self.random.choice(self.ODD)
        if isinstance(value, dict):
            kept = {name: self.of(item) for name, item in value.items() if self.random.random() > 0.03}
            return kept | ({EVIL: self.random.choice(self.ODD)} if roll > 0.9 else {})
        if isinstance(value, list):
            return [self.of(item) for item in value if self.random.random() > 0.1]
        return value

    def cut(self, text: bytes) -> bytes:
        """Bytes of it lost or changed, now and then."""
        if self.random.random() > 0.2:
            return text
        at = self.random.randrange(len(text))
        return text[:at] + self.random.choice([b"", b"\xff", b"\x00", b'"', b"\\", b"\n\n"]) + text[at + 1 :]


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_whatever_is_answered_is_an_end_and_a_line_of_text(cli: Cli, start: int) -> None:
    for seed in range(start, start + 50):
        made = Mutations(seed)

        def answer(asked: str, made: Mutations = made) -> Iterator[bytes]:
            if asked.startswith("POST"):
                yield reply(made.cut(json.dumps(made.of(OUTCOME)).encode()))
            elif "events" in asked:
                yield STREAM
                for name in ("waiting", "approval", "gone"):
                    right = {"waiting": {"ids": ["a"]}, "approval": RECORD, "gone": {"id": "a"}}[name]
                    yield made.cut(hostile.event(name, made.of(right)))
                yield hostile.event("gone", {})  # which ends it
            else:
                yield reply(made.cut(json.dumps(made.of({"approvals": [RECORD], "next_cursor": None})).encode()))

        command = (*COMMANDS, ("watch",), ("watch", "--json"))[seed % 6]
        with answering(answer) as url:
            result = cli("approvals", *command, "--url", url)
        assert result.exit_code in (0, 1, 2), seed
        assert "unexpected" not in result.stderr, (seed, result.stderr)
        assert all(line.isprintable() for line in result.output.splitlines()), seed


def test_the_server_of_these_tests_outlives_who_asks_nothing() -> None:
    with answering(always(reply(b"{}"))) as url:
        _, _, port = url.rpartition(":")
        socket.create_connection(("127.0.0.1", int(port))).close()
        with urlopen(url, timeout=20) as answer:
            assert answer.read() == b"{}"
