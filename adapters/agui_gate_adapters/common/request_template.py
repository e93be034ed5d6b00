"""Requests that differ from the first one in their body alone.

To make a request, an SDK copies options, merges headers and takes addresses apart: that takes longer than to send it.
With a key that stays the same, the same comes out each time. So the first request is the SDK's, with all that it knows
(the environment, too); those after it have its address and its headers. The HTTP client merges nothing into them,
either: its own headers are among them. Only the cookies are those of the moment.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

_NOT_AGAIN = (b"content-length", b"transfer-encoding", b"cookie")
"""What is about one request alone, in small letters."""


class Repeater:
    """Sends to where, and as, a client of an SDK sends over ``http``."""

    def __init__(self, http: "httpx2.AsyncClient") -> None:
        self._http = http
        self._url: httpx2.URL | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._timeout = http.timeout.as_dict()

    @property
    def knows(self) -> bool:
        """Whether it has seen a request."""
        return self._url is not None

    def learn(self, request: "httpx2.Request") -> None:
        """The SDK has sent this, and it was taken."""
        self._headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _NOT_AGAIN]
        self._url = request.url

    async def send(self, content: bytes) -> "httpx2.Response":
        """The reply, whatever it says; its body is unread. Raises what the HTTP library raises."""
        import httpx2

        assert self._url is not None
        request = httpx2.Request(
            "POST",
            self._url,
            headers=[*self._headers, (b"Content-Length", b"%d" % len(content))],
            cookies=self._http.cookies,
            stream=httpx2.ByteStream(content),
            extensions={"timeout": self._timeout},
        )
        return await self._http.send(request, stream=True)
