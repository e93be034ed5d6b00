"""The table, part 2: successful replies that are no stream, and streams in unusual wrappings."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable

from .answers import Answer
from .fault import SECRET, UNAVAILABLE, Fault, spread
from .raw import END, RESET, SILENCE, Step, chunked, head, reply
from .refusals import HTML

EVENTS = "text/event-stream"
HELLO = "Hello, 🌞!"


def hello(answer: Answer) -> bytes:
    """A good answer, in one piece."""
    return answer.begin().say(*HELLO).end().finish().body


def wrapped(name: str, wrap: Callable[[bytes], Iterable[Step]]) -> Fault:
    """A good answer in an unusual wrapping: it is shown."""
    return Fault(name, lambda answer: wrap(hello(answer)), text=HELLO)


def stuck(name: str, wrap: Callable[[bytes], Iterable[Step]]) -> Fault:
    """A good answer in a wrapping that can't be undone: nothing is shown, both times."""
    return Fault(name, lambda answer: wrap(hello(answer)), UNAVAILABLE, 2)


def written(name: str, rewrite: Callable[[bytes], bytes]) -> Fault:
    """A good answer whose frames are written in an unusual way: it is shown."""
    return wrapped(name, lambda body: chunked(rewrite(body), END))


def _bytewise(body: bytes) -> list[bytes]:
    return [body[i : i + 1] for i in range(len(body))]


def _pretty(body: bytes) -> bytes:
    """JSON over many lines, each a `data` line of its own."""
    frames = []
    for frame in body.split(b"\n\n"):
        before, data, payload = frame.partition(b"data: ")
        if payload.startswith(b"{"):
            payload = json.dumps(json.loads(payload), indent=1).encode().replace(b"\n", b"\ndata: ")
        frames.append(before + data + payload)
    return b"\n\n".join(frames)


def _deflated(body: bytes) -> bytes:
    return zlib.compress(body)


NO_STREAMS = [
    Fault("JSON", lambda answer: reply("200 OK", json.dumps(answer.whole(SECRET)).encode()), UNAVAILABLE, 2),
    Fault("JSON as a stream", lambda a: reply("200 OK", json.dumps(a.whole(SECRET)).encode(), EVENTS), UNAVAILABLE, 2),
    Fault("a page", lambda answer: reply("200 OK", HTML, "text/html"), UNAVAILABLE, 2),
    Fault("a page as a stream", lambda answer: reply("200 OK", HTML, EVENTS), UNAVAILABLE, 2),
    Fault("a page of no type", lambda answer: reply("200 OK", HTML, ""), UNAVAILABLE, 2),
    Fault("a type that is a secret", lambda answer: reply("200 OK", b"", SECRET), UNAVAILABLE, 2),
    Fault("nothing", lambda answer: reply("200 OK", b"", EVENTS), UNAVAILABLE, 2),
    Fault("nothing, without a length", lambda answer: [head("200 OK", EVENTS)], UNAVAILABLE, 2),
    Fault("204", lambda answer: [head("204 No Content")], UNAVAILABLE, 2),
    Fault("202", lambda answer: reply("202 Accepted", answer.refusal(SECRET)), UNAVAILABLE, 2),
    Fault("empty lines", lambda answer: chunked(b"\n" * 1000, END), UNAVAILABLE, 2),
    Fault("comments alone", lambda answer: chunked(*[b": still here\n\n"] * 100, END), UNAVAILABLE, 2),
    Fault("[DONE] alone", lambda answer: answer.raw(b"[DONE]").done(), UNAVAILABLE, 2),
    Fault("headers, then silence", lambda answer: chunked(SILENCE), UNAVAILABLE, 2, silent=True),
    Fault("comments, then silence", lambda a: chunked(*[b": ok\n\n"] * 50, SILENCE), UNAVAILABLE, 2, silent=True),
    Fault("nothing once", lambda answer: reply("200 OK", b"", EVENTS), asked=2, text="Back."),
    stuck("as plain text", lambda body: reply("200 OK", body, "text/plain")),
    stuck("as a download", lambda body: reply("200 OK", body, "application/octet-stream")),
    stuck("said to be compressed", lambda body: chunked(body, END, content_encoding="gzip")),
    stuck(
        "compressed, and broken at once", lambda body: chunked(gzip.compress(body)[:12], END, content_encoding="gzip")
    ),
    stuck("compressed, and not said to be", lambda body: chunked(gzip.compress(body), END)),
    stuck("in UTF-16", lambda body: chunked(body.decode().encode("utf-16"), END)),
    stuck(
        "a chunk without a size", lambda body: [head("200 OK", EVENTS, transfer_encoding="chunked"), b"zz\r\n" + body]
    ),
    stuck("a length that is none", lambda body: [head("200 OK", EVENTS, content_length="many"), body]),
    stuck("a negative length", lambda body: [head("200 OK", EVENTS, content_length="-5"), body]),
    stuck("two lengths", lambda body: [head("200 OK", EVENTS, content_length="5", Content_Length="7"), body]),
    stuck("a length of three bytes", lambda body: [head("200 OK", EVENTS, content_length="3"), body]),
]

WRAPPINGS = [
    wrapped("of no type", lambda body: chunked(body, END, kind="")),
    wrapped("of a shouted type", lambda body: chunked(body, END, kind="TEXT/EVENT-STREAM")),
    wrapped("in a charset that it has not", lambda body: chunked(body, END, kind=f"{EVENTS}; charset=iso-8859-1")),
    wrapped("compressed", lambda body: chunked(gzip.compress(body), END, content_encoding="gzip")),
    wrapped("deflated", lambda body: chunked(_deflated(body), END, content_encoding="deflate")),
    wrapped("in an unknown encoding", lambda body: chunked(body, END, content_encoding="x-none")),
    wrapped("until the connection closes", lambda body: [head("200 OK", EVENTS) + body]),
    wrapped("with a length", lambda body: reply("200 OK", body, EVENTS)),
    wrapped("with a length that is too great", lambda body: [head("200 OK", EVENTS, content_length="999999") + body]),
    wrapped("without an end of the chunks", chunked),
    wrapped("reset after the end", lambda body: chunked(body, RESET)),
    wrapped("silent after the end", lambda body: chunked(body, SILENCE)),
    wrapped("in HTTP/1.0", lambda body: [head("200 OK", EVENTS).replace(b"1.1", b"1.0") + body]),
    wrapped("after early hints", lambda body: [head("103 Early Hints", link="</x>"), *chunked(body, END)]),
    wrapped("byte by byte", lambda body: chunked(*_bytewise(body), END)),
    wrapped("after a hundred comments", lambda body: chunked(*[b": wait\n\n"] * 100, body, END)),
    wrapped("garbage after the end", lambda body: [*chunked(body, END), b"0\r\n\r\nHTTP/1.1 500 Oh no\r\n\r\n"]),
]

WRITINGS = [
    written("CRLF", lambda body: body.replace(b"\n", b"\r\n")),
    written("CR", lambda body: body.replace(b"\n", b"\r")),
    written("a byte order mark", lambda body: b"\xef\xbb\xbf" + body),
    written("no space after the colon", lambda body: body.replace(b"data: ", b"data:")),
    written("JSON over many lines", _pretty),
    written("other fields", lambda body: body.replace(b"data: ", b"id: 7\nretry: 1\n: x\nfoo\ndata: ")),
    written("empty events between", lambda body: body.replace(b"\n\n", b"\n\ndata\n\ndata:\n\n\n\n")),
    written("no line feed at the end", lambda body: body.rstrip(b"\n")),
    written("100,000 events that mean nothing", lambda body: b'data: {"type":"ping"}\n\n' * 100_000 + body),
    written("1,000,000 bytes of comments", lambda body: b": 12345678\n" * 100_000 + body),
]

FRAMING = spread([*NO_STREAMS, *WRAPPINGS, *WRITINGS])
