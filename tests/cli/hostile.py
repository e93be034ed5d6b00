"""A server on a real socket that answers whatever a test wants, byte by byte if need be."""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Any

Answer = Callable[[str], Iterable[bytes]]
"""The pieces of the answer to a request, by its first line. The connection is closed after the last one."""

RECORD = {
    "id": "apr_0123456789abcdef",
    "thread_id": "t",
    "agent": "shop",
    "tool": "refund",
    "arguments": {"order_id": "A1"},
    "effective_arguments": {"order_id": "A1"},
    "editable": ["order_id"],
    "message": "Refund A1?",
    "state": "pending",
    "decision": None,
    "result": None,
    "asked_at": "2026-01-02T03:04:05Z",
    "expires_at": None,
}
OUTCOME = {"id": RECORD["id"], "state": "done", "result": "refunded", "run": None}


def page(*records: Any, cursor: Any = None) -> bytes:
    """A page of a list, as JSON."""
    return json.dumps({"approvals": records, "next_cursor": cursor}).encode()


def reply(body: bytes, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    """A whole answer."""
    return head(status, kind, f"Content-Length: {len(body)}\r\n{more}") + body


def head(status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    """Status line and headers of an answer; without a length it ends with its connection."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n".encode()


def event(name: str, data: Any) -> bytes:
    """An event of a stream."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Such a server; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(listener, answer, over))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)


def _serve(listener: socket.socket, answer: Answer, over: threading.Event) -> None:
    while not over.is_set():
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            for piece in answer(_request(connection)):
                if over.is_set():
                    return
                connection.sendall(piece)


def _request(connection: socket.socket) -> str:
    """The first line of a request that was read to its end. Raises `ConnectionError` if none came."""
    with connection.makefile("rb") as taken:
        lines = [line.decode("ascii", "replace") for line in takewhile(lambda line: line != b"\r\n", taken)]
        if not lines:
            raise ConnectionError("The connection was closed before anything was asked.")
        lengths = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length:")]
        taken.read(int(lengths[0]) if lengths else 0)
    return lines[0]


def slowly(text: bytes) -> Iterator[bytes]:
    """A byte at a time, for as long as somebody takes them."""
    pause = threading.Event()
    while True:
        for byte in text:
            yield bytes([byte])
            pause.wait(0.02)
