"""A provider that reads whatever is sent to it and says "ok", in the words of each API.

It is a process of its own, so that none of its work is in the event loop of the server. What continues a response it
refuses: it has forgotten all of them.

    python -m tests.bench.sink
"""

import asyncio
import re
from typing import cast

from tests.bench import parsing, provider
from tests.bench.processes import announce

SMALL = 64 * 1024
"""Bytes of a request that are looked at; one that continues something is never larger."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_FORGOTTEN = (
    b'{"error":{"message":"Previous response with id \'resp_1\' not found.","type":"invalid_request_error",'
    b'"param":"previous_response_id","code":"previous_response_not_found"}}'
)
_STREAMS = {
    b"/v1/responses": b"".join(provider.frames(2)),
    b"/v1/chat/completions": b"".join(parsing.chat_frames(2)),
    b"/v1/messages": b"".join(parsing.messages_frames(2)),
}


class Sink(asyncio.Protocol):
    """One connection. It keeps the beginning of a request, and counts the rest."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._begun, self._read, self._wanted = b"", 0, 0

    def data_received(self, data: bytes) -> None:
        self._read += len(data)
        if len(self._begun) < SMALL:
            self._begun += data
        if not self._wanted:
            end = self._begun.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._begun, 0, end)
            assert length is not None, "a request without a length"
            self._wanted = end + 4 + int(length[1])
        if self._read >= self._wanted:
            begun, self._begun, self._read, self._wanted = self._begun, b"", 0, 0
            self._answer(begun)

    def _answer(self, request: bytes) -> None:
        path = request.split(b" ", 2)[1]
        if path == b"/v1/conversations":
            self._say(b"200 OK", b"application/json", b'{"id":"conv_1","object":"conversation"}')
        elif b'"previous_response_id"' in request:
            self._say(b"400 Bad Request", b"application/json", _FORGOTTEN)
        else:
            self._say(b"200 OK", b"text/event-stream", _STREAMS[path])

    def _say(self, status: bytes, kind: bytes, body: bytes) -> None:
        head = b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (status, kind, len(body))
        self._transport.write(head + body)


async def main() -> None:
    """Listen until the parent leaves."""
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0)
    announce(server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
