"""Sends requests through the `openai` SDK, to OpenAI and to servers that implement its APIs."""

import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from agui_gate.adapter import TRACE_HEADERS
from agui_gate.errors import ProviderAuth

from .failures import Api, ErrorReply, Failure
from .key_files import find_key_file
from .large_requests import Pieces
from .transport import Transport, bound

if TYPE_CHECKING:
    import httpx2
    import openai

    from .wire import Body, Wire


# Requests that differ from the first one in their body alone.
#
# To make a request, an SDK copies options, merges headers and takes addresses apart: that takes longer than to send it.
# With a key that stays the same, the same comes out each time. So the first request is the SDK's, with all that it
# knows (the environment, too); those after it have its address and its headers. The HTTP client merges nothing into
# them, either: its own headers are among them. Only the cookies are those of the moment.

_NOT_AGAIN = (b"content-length", b"transfer-encoding", b"cookie", b"traceparent", b"tracestate")
"""What is about one request alone, in small letters."""


class Repeater:
    """Repeats the requests of an SDK's client over ``http``, with other bodies. Over a `Wire` they go past ``http``."""

    def __init__(self, http: "httpx2.AsyncClient") -> None:
        self._http = http
        self._wire: Wire | None = None
        self._url: httpx2.URL | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._timeout = http.timeout.as_dict()

    @property
    def knows(self) -> bool:
        """Whether it has seen a request."""
        return self._url is not None

    def learn(self, response: "httpx2.Response") -> None:
        """Remembers a request that the SDK has sent and the provider accepted."""
        request = response.request
        self._headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _NOT_AGAIN]
        self._url = request.url
        self._wire = response.extensions.get("wire")
        if self._wire is not None:
            self._head = self._wire.head(request.method, request.url, self._headers)

    async def send(self, content: "bytes | Pieces") -> "httpx2.Response | Body":
        """Sends a request and returns the reply of any status, its body unread; where nothing else of it matters, the
        body alone. Raises what the HTTP library raises.
        """
        if self._wire is None:
            return await self._http.send(self._request(content), stream=True)
        if self._http.cookies:
            response = await self._wire.handle_async_request(self._request(content))
        else:
            head = self._head
            if trace := TRACE_HEADERS.get():
                more = "".join([f"{name}: {value}\r\n" for name, value in trace.items()])
                head = type(head)(head.host, head.port, head.tls, head.lines + more.encode())
            answer = await self._wire.send(head, content, self._timeout)
            if isinstance(answer, AsyncIterator):
                return answer
            response = answer
        if not response.is_success or "set-cookie" in response.headers:
            await self._heed(response)
        return response

    def _request(self, content: "bytes | Pieces") -> "httpx2.Request":
        import httpx2

        assert self._url is not None
        return httpx2.Request(
            "POST",
            self._url,
            headers=[*self._headers, *_trace(), (b"Content-Length", b"%d" % len(content))],
            cookies=self._http.cookies,
            content=content,
            extensions={"timeout": self._timeout},
        )

    async def _heed(self, response: "httpx2.Response") -> None:
        """Does with an answer what ``http`` would: keeps its cookies, and bounds an error's body."""
        try:
            response.request = self._request(b"")
            self._http.cookies.extract_cookies(response)
            await bound(response)
        except BaseException:
            await response.aclose()
            raise


def _trace() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in TRACE_HEADERS.get().items()]


ApiKey = str | Callable[[], Awaitable[str]]
"""A key, or what gives a fresh token whenever a request is sent."""


class OpenAITransport(Transport):
    """``base_url`` and ``api_key`` fall back to OPENAI_BASE_URL and OPENAI_API_KEY, or OPENAI_API_KEY_FILE.

    ``client`` is an `AsyncOpenAI`.
    """

    def __init__(
        self,
        api: Api,
        *,
        model: str,
        path: str,
        base_url: str | None,
        api_key: ApiKey | None,
        client: "openai.AsyncOpenAI | None",
        timeout: float,
    ) -> None:
        super().__init__(api, model=model, path=path, given=client, timeout=timeout)
        self._base_url = base_url
        self._api_key = api_key
        self._repeaters: weakref.WeakKeyDictionary[Any, Repeater] = weakref.WeakKeyDictionary()

    @staticmethod
    def _sdk() -> ModuleType:
        import openai

        return openai

    @property
    def _missing_sdk(self) -> str:
        return "The package openai is not installed: pip install openai."

    def _new_client(self, http: "httpx2.AsyncClient", timeout: "httpx2.Timeout") -> "openai.AsyncOpenAI":
        import openai

        key = self._api_key or find_key_file("OPENAI_API_KEY")
        try:
            client = openai.AsyncOpenAI(
                api_key=key, base_url=self._base_url, timeout=timeout, max_retries=0, http_client=http
            )
        except openai.OpenAIError as error:
            raise Failure(ProviderAuth("There is no API key: set OPENAI_API_KEY or pass api_key.")) from error
        if not callable(key):  # else each request has a key of its own
            self._repeaters[client] = Repeater(http)
        return client

    async def _post(self, client: Any, content: "bytes | Pieces", headers: dict[str, str]) -> "httpx2.Response | Body":
        """Posts a client's first turn through the SDK, and later ones like it. Raises what the SDK raises."""
        repeater = self._repeaters.get(client)
        if repeater is None:
            return await super()._post(client, content, headers)
        if not repeater.knows:
            response = await super()._post(client, content, headers)
            repeater.learn(cast("httpx2.Response", response))
            return response
        response = await repeater.send(content)
        if not isinstance(response, AsyncIterator) and not response.is_success:
            raise await self._refusal(response)
        return response

    async def _refusal(self, response: "httpx2.Response") -> Exception:
        """Makes the SDK's exception of an error reply. Its body is bounded: see `transport.bound`."""
        await response.aread()
        try:
            body: Any = response.json()
        except ValueError:
            body = response.text.strip()
        said = body.get("error", body) if isinstance(body, dict) else body
        import openai

        return openai.APIStatusError(f"status {response.status_code}", response=response, body=said)

    def _error_reply(self, error: Any) -> ErrorReply:
        # Compatible servers answer with other shapes too: `error` as a string, or no wrapper at all.
        body = error.body if isinstance(error.body, dict) else {"message": error.body}
        kind = _text(body.get("type"))
        code = _text(error.code) or _text(body.get("code")) or kind.replace("invalid_request_error", "")
        return ErrorReply(code, _text(body.get("message")), _text(error.param) or _text(body.get("param")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
