"""The table, part 1: requests that are refused, in any form of words."""

import gzip
import json

from .answers import Answer
from .fault import AUTH, LIMITED, REJECTED, SECRET, TOO_LONG, UNAVAILABLE, Fault, spread
from .raw import RESET, SILENCE, Step, head, reply

HTML = f"<html><title>Oh no</title><body>{SECRET}</body></html>".encode()
TOO_MANY = "429 Too Many Requests"
OPENAI = ("responses", "chat")


def refused(name: str, status: str, code: str, asked: int = 1, **more: str) -> Fault:
    """An error reply in the API's own form. ``more`` are headers, in Python's spelling."""
    return Fault(name, lambda answer: reply(status, answer.refusal(SECRET), **more), code, asked)


def coded(name: str, status: str, error: str, code: str, message: str = SECRET) -> Fault:
    """An error reply with a code."""
    return Fault(name, lambda answer: reply(status, answer.refusal(message, error)), code, only=OPENAI)


def worded(name: str, status: str, body: bytes, code: str, asked: int = 1, kind: str = "application/json") -> Fault:
    """An error reply with any body."""
    return Fault(name, lambda answer: reply(status, body, kind), code, asked)


def moved(name: str, status: str) -> Fault:
    """A redirect to another host, which must see neither the key nor the conversation."""

    def steps(answer: Answer) -> list[Step]:
        return reply(status, b"", location=f"{answer.elsewhere}/v1/elsewhere")

    return Fault(name, steps, REJECTED)


STATUSES = [
    refused("400", "400 Bad Request", REJECTED),
    refused("401", "401 Unauthorized", AUTH),
    refused("402", "402 Payment Required", REJECTED),
    refused("403", "403 Forbidden", AUTH),
    refused("404", "404 Not Found", REJECTED),
    refused("405", "405 Method Not Allowed", REJECTED),
    refused("408", "408 Request Timeout", UNAVAILABLE, 2),
    refused("409", "409 Conflict", UNAVAILABLE, 2),
    refused("413", "413 Content Too Large", REJECTED),
    refused("418", "418 I'm a teapot", REJECTED),
    refused("422", "422 Unprocessable Content", REJECTED),
    refused("500", "500 Internal Server Error", UNAVAILABLE, 2),
    refused("501", "501 Not Implemented", UNAVAILABLE, 2),
    refused("503", "503 Service Unavailable", UNAVAILABLE, 2),
    refused("503 for half an hour", "503 Service Unavailable", UNAVAILABLE, 1, retry_after="1800"),
    refused("504", "504 Gateway Timeout", UNAVAILABLE, 2),
    refused("529", "529 Site is overloaded", UNAVAILABLE, 2),
    refused("599 without a reason", "599 ", UNAVAILABLE, 2),
]

WAITS = [
    refused("429", TOO_MANY, LIMITED, 2),
    refused("429, at once", TOO_MANY, LIMITED, 2, retry_after="0"),
    refused("429, a minute", TOO_MANY, LIMITED, 1, retry_after="60"),
    refused("429, a minute in ms", TOO_MANY, LIMITED, 1, retry_after_ms="60000", retry_after="0"),
    # As if it said nothing: no provider says it this way, and what a proxy says isn't worth a clock.
    refused("429, until a date", TOO_MANY, LIMITED, 2, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"),
    refused("429, garbage", TOO_MANY, LIMITED, 2, retry_after="soon; sk-live-0123456789"),
    refused("429, negative", TOO_MANY, LIMITED, 2, retry_after="-5"),
    refused("429, not a number", TOO_MANY, LIMITED, 2, retry_after="nan"),
    refused("429, for ever", TOO_MANY, LIMITED, 1, retry_after="inf"),
    coded("429, no quota", TOO_MANY, "insufficient_quota", LIMITED),
    Fault("429 once", lambda answer: reply(TOO_MANY, answer.refusal(SECRET)), asked=2, text="Back."),
    Fault("503 once", lambda answer: reply("503 Service Unavailable"), asked=2, text="Back."),
]

MEANINGS = [
    coded("an unknown model", "404 Not Found", "model_not_found", REJECTED),
    coded("too long, by its code", "400 Bad Request", "context_length_exceeded", TOO_LONG),
    worded("too long, by its words", "400 Bad Request", b'{"error": {"message": "prompt is too long"}}', TOO_LONG),
    coded("a code that is a sentence", "400 Bad Request", SECRET, REJECTED),
    coded("a code of 10 kB", "400 Bad Request", "x" * 10_000, REJECTED),
]

BODIES = [
    worded("an error without a body", "500 Internal Server Error", b"", UNAVAILABLE, 2),
    worded("an error page", "502 Bad Gateway", HTML, UNAVAILABLE, 2, "text/html"),
    worded("a page for the wrong path", "404 Not Found", HTML, REJECTED, 1, "text/html"),
    worded("an error that is no JSON", "400 Bad Request", b'{"error": {"message": "' + SECRET.encode(), REJECTED),
    worded("an error that is no text", "400 Bad Request", b"\xff\xfe\x00" + SECRET.encode(), REJECTED),
    worded("an error that is a list", "400 Bad Request", json.dumps([{"error": SECRET}]).encode(), REJECTED),
    worded("an error that is a string", "400 Bad Request", json.dumps(SECRET).encode(), REJECTED),
    worded("an error that is null", "401 Unauthorized", b"null", AUTH),
    worded(
        "an error in an error that is a string", "400 Bad Request", json.dumps({"error": SECRET}).encode(), REJECTED
    ),
    worded("an error in an error that is null", "503 Service Unavailable", b'{"error": null}', UNAVAILABLE, 2),
    worded(
        "an error of wrong types",
        "400 Bad Request",
        json.dumps({"error": {"message": [SECRET], "code": {"x": SECRET}, "type": 7, "param": [SECRET]}}).encode(),
        REJECTED,
    ),
    worded("an error nested deep", "400 Bad Request", b'{"error":' * 50_000 + b"1" + b"}" * 50_000, REJECTED),
    worded("an error with half a surrogate", "400 Bad Request", b'{"error": {"message": "\\ud83d"}}', REJECTED),
    worded("a compressed error", "400 Bad Request", gzip.compress(HTML), REJECTED, 1, "text/html"),
    Fault(
        "an error of 10 MB",
        lambda answer: [
            head("401 Unauthorized", "text/html", content_length="10000000"),
            *[b"<p>" + b"x" * 99_997] * 100,
        ],
        AUTH,
        most=4_000_000,
    ),
    Fault(
        "an error without end",
        lambda answer: [head("400 Bad Request", "text/plain"), *[b"x" * 100_000] * 1000],
        REJECTED,
        most=8_000_000,
    ),
    Fault(
        "an error that breaks off",
        lambda answer: [head("401 Unauthorized", "application/json", content_length="1000") + b'{"err', RESET],
        AUTH,
    ),
    Fault(
        "an error that falls silent",
        lambda answer: [head("401 Unauthorized", "application/json", content_length="1000") + b'{"err', SILENCE],
        AUTH,
        silent=True,
    ),
    Fault(
        "an error as a stream",
        lambda answer: reply("429 Too Many Requests", b'data: {"error": {"message": "' + HTML, "text/event-stream"),
        LIMITED,
        2,
    ),
]

REDIRECTS = [
    moved("301 to another host", "301 Moved Permanently"),
    moved("302 to another host", "302 Found"),
    moved("303 to another host", "303 See Other"),
    moved("307 to another host", "307 Temporary Redirect"),
    moved("308 to another host", "308 Permanent Redirect"),
    Fault("307 to nowhere", lambda answer: reply("307 Temporary Redirect"), REJECTED),
    Fault("307 to itself", lambda answer: reply("307 Temporary Redirect", location="/v1/responses"), REJECTED),
    Fault("304", lambda answer: [head("304 Not Modified")], REJECTED),
]

CONNECTIONS = [
    Fault("hung up before a word", lambda answer: [], UNAVAILABLE, 2),
    Fault("reset before a word", lambda answer: [RESET], UNAVAILABLE, 2),
    Fault("a minute of silence before a word", lambda answer: [SILENCE], UNAVAILABLE, 2, silent=True),
    Fault("half a status line", lambda answer: [b"HTTP/1.1 20"], UNAVAILABLE, 2),
    Fault("half a status line, then silence", lambda answer: [b"HTTP/1.1 20", SILENCE], UNAVAILABLE, 2, silent=True),
    Fault("half the headers", lambda answer: [b"HTTP/1.1 200 OK\r\ncontent-type: text/ev"], UNAVAILABLE, 2),
    Fault("another protocol", lambda answer: [b"SSH-2.0-OpenSSH_9.6\r\n"], UNAVAILABLE, 2),
    Fault("another protocol's binary", lambda answer: [bytes(range(256)) * 4], UNAVAILABLE, 2),
    Fault("HTTP/0.9", lambda answer: [HTML], UNAVAILABLE, 2),
    Fault("a status of four digits", lambda answer: [head("2000 OK"), SILENCE], UNAVAILABLE, 2),
    Fault(
        "a header without end",
        lambda answer: [b"HTTP/1.1 200 OK\r\nx: ", *[b"y" * 65536] * 64, SILENCE],
        UNAVAILABLE,
        2,
    ),
    Fault(
        "headers without end",
        lambda answer: [b"HTTP/1.1 200 OK\r\n", *[b"x: y\r\n" * 9000] * 64, SILENCE],
        UNAVAILABLE,
        2,
    ),
    Fault(
        "a header that is none",
        lambda answer: [b"HTTP/1.1 200 OK\r\n\x00\xff no colon\r\n\r\n", SILENCE],
        UNAVAILABLE,
        2,
    ),
]

REFUSALS = [*STATUSES, *MEANINGS, *REDIRECTS, *spread([*WAITS, *BODIES, *CONNECTIONS])]

NOT_MADE = [
    Fault("hung up", lambda answer: [], UNAVAILABLE, 2),
    Fault("500", lambda answer: reply("500 Internal Server Error", answer.refusal(SECRET)), UNAVAILABLE, 2),
    Fault("401", lambda answer: reply("401 Unauthorized", answer.refusal(SECRET)), AUTH),
    Fault("404", lambda answer: reply("404 Not Found", answer.refusal(SECRET)), REJECTED),
    Fault("a redirect", lambda a: reply("308 Permanent Redirect", location=f"{a.elsewhere}/x"), REJECTED),
    Fault("a page", lambda answer: reply("200 OK", SECRET.encode(), "text/html"), UNAVAILABLE, 2),
    Fault("a list", lambda answer: reply("200 OK", b"[]"), UNAVAILABLE, 2),
    Fault("an id that is a number", lambda answer: reply("200 OK", b'{"id": 5}'), UNAVAILABLE, 2),
    Fault("half a reply", lambda answer: reply("200 OK", b'{"id": "conv_'), UNAVAILABLE, 2),
    Fault("a reply nested deep", lambda answer: reply("200 OK", b"[" * 50_000), UNAVAILABLE, 2),
    Fault("once", lambda answer: reply("503 Service Unavailable"), text="Back.", asked=2),
]
"""Conversations that the Responses API does not make."""
