"""Sends requests to a provider without a vendor's SDK: httpx2, a key in a header, errors as `ErrorReply`.

    http = Http(API, base_url=base_url, headers={"x-key": key}, said=lambda e: ErrorReply(e["kind"], e["text"]))
    response = await sent(http.at("rooms", room, "turns"), request, make)

No redirect is followed and nothing is tried again here: `retries.py` decides that. There is one client an event loop.
"""

import asyncio
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
import msgspec

from agui_gate.adapter import TRACE_HEADERS
from agui_gate.errors import ConfigurationError

from .failures import Api, ErrorReply, Failure, classify_status, log, unreachable
from .large_requests import Pieces
from .transport import certificates, client_options, retry_after

if TYPE_CHECKING:
    import httpx2

_KIND = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,40}")
_NO_CONTENT = 204
_NOT_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")


class Http:
    """Requests below ``base_url``, each with ``headers``. ``said`` reads the JSON body of an error reply.

    ``media`` is the content type of a streamed answer, ``timeout`` how many seconds the provider may be silent.
    ``model`` is told where the provider doesn't know it, ``describes`` is the path at which it describes the model.
    """

    def __init__(
        self,
        api: Api,
        *,
        base_url: str,
        headers: Mapping[str, str],
        said: Callable[[Any], ErrorReply],
        model: str = "",
        describes: Sequence[str] = (),
        media: str = "text/event-stream",
        timeout: float = 60.0,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError("base_url must begin with http:// or https://")
        self.api, self.media = api, media
        self._base, self._headers, self._said = base_url.rstrip("/"), dict(headers), said
        self._model, self._describes, self._timeout = model, describes, timeout
        self._own: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    def at(self, *segments: str) -> "Address":
        """Makes a path of segments that may hold anything: a provider's id can't lead elsewhere."""
        return Address(self, segments)

    async def ask(self, method: str, *segments: str, body: Any = None) -> Any:
        """Returns the JSON answer of a request that isn't streamed; None for 204. Raises `Failure`."""
        content = None if body is None else msgspec.json.encode(body)
        response = await self.send(method, segments, content, accept="application/json")
        try:
            answer = await response.aread()
            return msgspec.json.decode(answer) if response.status_code != _NO_CONTENT else None
        except msgspec.DecodeError as error:
            raise unreachable("The provider's answer is no JSON: check base_url.", sent=True) from error
        except Exception as error:
            log.debug("an answer broke off", exc_info=error)
            raise unreachable("The connection to the provider broke.", sent=True) from error
        finally:
            await response.aclose()

    async def get_model(self) -> Any:
        """Returns the provider's description of the model, for `doctor.check`. Raises `Failure`."""
        return await self.ask("GET", *self._describes)

    async def send(
        self,
        method: str,
        segments: Sequence[str],
        content: bytes | Pieces | None,
        tools: Sequence[str] = (),
        *,
        accept: str = "",
    ) -> "httpx2.Response":
        """Returns a reply of status 200 to 299, its body unread. ``accept``: not a stream. Raises `Failure`."""
        client = await self.client()
        headers = {"Content-Type": "application/json", "Accept": accept or f"{self.media}, application/json"}
        headers |= TRACE_HEADERS.get()
        if isinstance(content, Pieces):
            headers["Content-Length"] = str(len(content))
        path = "/".join(_segment(segment) for segment in segments)
        try:
            request = client.build_request(method, f"{self._base}/{path}", content=content, headers=headers)
            response = await client.send(request, stream=True)
        except Exception as error:
            log.debug("request failed", exc_info=error)
            before = type(error).__name__ in _NOT_SENT
            raise unreachable("The provider can't be reached.", sent=not before) from error
        if not response.is_success:
            raise await self._refusal(response, tools)
        return response

    async def _refusal(self, response: "httpx2.Response", tools: Sequence[str]) -> Failure:
        """Returns the failure that an error reply means. Its body is bounded: see `transport.bound`."""
        reply = ErrorReply()
        try:
            said = self._said(msgspec.json.decode(await response.aread()))
            reply = msgspec.convert(msgspec.structs.asdict(said), ErrorReply)  # what it read may be of any type
        except Exception as error:  # a page, or another shape than this provider's
            log.debug("an error reply could not be read", exc_info=error)
        finally:
            await response.aclose()
        reply = msgspec.structs.replace(reply, retry_after=retry_after(response.headers))
        failure = classify_status(response.status_code, reply, self.api, model=self._model, tools=tools)
        failure.status = response.status_code
        return failure

    async def client(self) -> "httpx2.AsyncClient":
        """Returns the client of this event loop."""
        loop = asyncio.get_running_loop()
        client = self._own.get(loop)
        if client is None:
            await anyio.to_thread.run_sync(certificates)  # which imports httpx2
            client = self._own.setdefault(loop, self._make_client())
        return client

    def _make_client(self) -> "httpx2.AsyncClient":
        import httpx2

        headers = {"Accept-Encoding": "identity", **self._headers}
        return httpx2.AsyncClient(headers=headers, **client_options(self._timeout))

    async def aclose(self) -> None:
        """Close the connections. Those of event loops that are gone can't be closed, only dropped."""
        client = self._own.pop(asyncio.get_running_loop(), None)
        self._own.clear()
        if client is not None:
            await client.aclose()


class Address:
    """The address that turns are posted to, for `provider_turn.sent`."""

    def __init__(self, http: Http, segments: Sequence[str]) -> None:
        self._http, self._segments = http, segments

    async def open(self, content: bytes | Pieces, tools: Sequence[str] = ()) -> "httpx2.Response":
        """Posts a streaming request and returns the reply, its body unread. Raises `Failure`."""
        response = await self._http.send("POST", self._segments, content, tools)
        kind = response.headers.get("content-type", self._http.media).partition(";")[0].strip().lower()
        if kind != self._http.media:
            await response.aclose()
            said = kind if _KIND.fullmatch(kind) else "something else"
            sentence = f"The provider answered with {said} instead of {self._http.media}: check base_url."
            raise unreachable(sentence, sent=True)
        return response


def _segment(segment: str) -> str:
    """Encodes a segment of a path. Raises `Failure` for one that would lead elsewhere."""
    if segment in ("", ".", ".."):
        raise unreachable("The provider gave an id that can't be a part of an address.", sent=False)
    return quote(segment, safe="")
