"""The way to the provider: the SDK finds the address, signs, and reports errors; the bytes are read by us.

`openai` is imported on first use, in a thread: it takes about a second, and the event loop has other streams to serve.
The SDK's own retries are off; what is retried, and how often, is decided in one place (`recovery.py`).

A client that the caller supplies must be an `openai.AsyncOpenAI` (or a subclass of it); its time limits and connection
limits stay its own, and it is never closed here.
"""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import anyio
import anyio.to_thread

from agui_gate.errors import ProviderAuth, ProviderRejected

from .failures import Failure, classify_status, log, unreachable

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai

CONNECT_SECONDS = 5.0
MAX_CONNECTIONS = 4000
"""Each running turn has one connection; a thousand streams a process are the design goal."""

_STREAM_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream",
    "Accept-Encoding": "identity",
    # Tells the SDK to hand out the response unread.
    "X-Stainless-Raw-Response": "stream",
}


class Transport:
    """Requests of one adapter. Its own client is made on first use, one an event loop, and shared by all turns."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None,
        api_key: str | None,
        client: "openai.AsyncOpenAI | None",
        timeout: float,
    ) -> None:
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._given = client
        self._timeout = timeout
        self._own: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = (
            weakref.WeakKeyDictionary()
        )

    async def client(self) -> "openai.AsyncOpenAI":
        """The client of this event loop. Raises `Failure` when the package or the key is missing."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        client = self._own.get(loop)
        if client is None:
            await load_sdk()
            client = self._own.setdefault(loop, self._new_client())
        return client

    def _new_client(self) -> "openai.AsyncOpenAI":
        import httpx2
        import openai

        timeout = httpx2.Timeout(self._timeout, connect=CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=200)
        http = openai.DefaultAsyncHttpxClient(timeout=timeout, limits=limits, verify=_certificates())
        try:
            return openai.AsyncOpenAI(
                api_key=self._api_key, base_url=self._base_url, timeout=timeout, max_retries=0, http_client=http
            )
        except openai.OpenAIError as error:
            raise Failure(ProviderAuth("There is no API key: set OPENAI_API_KEY or pass api_key.")) from error

    async def open(self, content: bytes) -> "httpx2.Response":
        """POST a streaming response request; the reply's body is unread. Raises `Failure`."""
        client = await self.client()
        import httpx2
        import openai

        try:
            reply = await client.post(
                "/responses",
                cast_to=cast("type[Any]", httpx2.Response),
                content=content,
                stream=True,
                stream_cls=openai.AsyncStream[object],
                options={"headers": _STREAM_HEADERS, "max_retries": 0},
            )
        except Exception as error:
            raise self._failure(error) from error
        response = cast("httpx2.Response", reply)
        kind = response.headers.get("content-type", "text/event-stream").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            await response.aclose()
            raise unreachable(
                f"The provider answered with {kind[:40]!r} instead of an event stream: check base_url.", sent=True
            )
        return response

    async def create_conversation(self) -> str:
        """Make an empty conversation; its id. Raises `Failure`."""
        client = await self.client()
        try:
            reply = await client.post("/conversations", cast_to=object, body={}, options={"max_retries": 0})
        except Exception as error:
            failure = self._failure(error)
            if getattr(error, "status_code", None) in (404, 405):
                message = "The provider has no conversations: use mode='chain' or mode='stateless'."
                raise Failure(ProviderRejected(message)) from error
            raise failure from error
        conversation_id = reply.get("id") if isinstance(reply, dict) else None
        if not isinstance(conversation_id, str):
            raise unreachable("The provider answered with something that is not a conversation.", sent=True)
        return conversation_id

    async def get_model(self) -> Any:
        """What the provider says about the model. Raises `Failure`."""
        client = await self.client()
        try:
            return await client.get(
                f"/models/{quote(self._model, safe='/:@')}", cast_to=object, options={"max_retries": 0}
            )
        except Exception as error:
            raise self._failure(error) from error

    async def aclose(self) -> None:
        """Close the clients made here. Those of event loops that are gone can't be closed, only dropped."""
        loop = asyncio.get_running_loop()
        client = self._own.pop(loop, None)
        self._own.clear()
        if client is not None:
            await client.close()

    def _failure(self, error: Exception) -> Failure:
        """Any exception of the SDK or the HTTP library under it (which of the two there are, depends on the client)."""
        import openai

        if isinstance(error, Failure):
            return error
        if isinstance(error, openai.APIStatusError):
            message = _message(error.body)
            code, param = error.code or "", error.param if isinstance(error.param, str) else ""
            wait = _retry_after(error.response.headers)
            return classify_status(error.status_code, code, message, param or "", model=self._model, retry_after=wait)
        log.debug("request failed", exc_info=error)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(error, openai.OpenAIError) and not isinstance(error, openai.APIConnectionError):
            return Failure(ProviderAuth("The API key could not be had: see the log (debug) for the reason."))
        before = type(cause).__name__ in ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
        return unreachable("The provider can't be reached.", sent=not before)


async def read(response: "httpx2.Response") -> AsyncGenerator[bytes, None]:
    """The body's chunks as they come. Raises `Failure` when the connection breaks or stays silent too long."""
    # We ask for an unencoded body; a proxy may encode it all the same, and a test's transport may have read it already.
    raw = response.headers.get("content-encoding", "identity") == "identity" and not response.is_stream_consumed
    try:
        async for chunk in response.aiter_raw() if raw else response.aiter_bytes():
            yield chunk
    except Exception as error:
        log.debug("stream broke", exc_info=error)
        silent = "Timeout" in type(error).__name__
        detail = "The provider fell silent." if silent else "The connection to the provider broke."
        raise unreachable(detail, sent=True) from error


async def load_sdk() -> None:
    """Import `openai` without stopping the event loop. Raises `Failure` with one sentence when it is not installed."""
    try:
        await anyio.to_thread.run_sync(_import_sdk)
    except ImportError as error:
        raise Failure(ProviderRejected(MISSING_SDK)) from error


MISSING_SDK = "The package openai is not installed: pip install openai."


def _import_sdk() -> None:
    import openai

    _ = openai.AsyncOpenAI  # its parts are lazy too
    _certificates()


@cache
def _certificates() -> "ssl.SSLContext":
    """One for all adapters: reading the certificates takes some 40 ms and a megabyte each time."""
    import httpx2

    return httpx2.create_ssl_context()


def _message(body: object) -> str:
    message = body.get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) else ""


def _retry_after(headers: Any) -> float | None:
    """Seconds the provider wants us to wait: `retry-after-ms`, or `retry-after` (its date form is not used there)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) / unit)
        except ValueError:
            continue
    return None
