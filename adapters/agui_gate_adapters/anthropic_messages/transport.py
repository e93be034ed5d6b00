"""Requests through the `anthropic` SDK."""

import os
import re
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agui_gate.errors import ProviderAuth
from agui_gate_adapters.common.failures import ErrorReply, Failure
from agui_gate_adapters.common.key_files import KeyFile, find_key_file
from agui_gate_adapters.common.transport import Transport

from .failures import API

if TYPE_CHECKING:
    import anthropic
    import httpx2

_PARAM = re.compile(r"([a-z_]+(?:\.\w+)*): ")
"""The member that a refusal is about; the API names it at the beginning of the sentence and nowhere else."""


class MessagesTransport(Transport):
    """``base_url`` without ``/v1``; None falls back to the SDK's own, ``api_key`` to ANTHROPIC_API_KEY and its like.

    ``client`` is an `AsyncAnthropic`. ``version`` is the API's; None is the one that the SDK was made for.
    """

    models = "/v1/models"

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None,
        api_key: str | None,
        client: "anthropic.AsyncAnthropic | None",
        timeout: float,
        version: str | None = None,
    ) -> None:
        super().__init__(API, model=model, path="/v1/messages", given=client, timeout=timeout)
        self._base_url = base_url
        self._api_key = api_key
        self._headers = {"anthropic-version": version} if version else None
        self._file: tuple[str, KeyFile] | None = None

    async def client(self) -> Any:
        """Returns the client of this event loop, with the key that its file has now. Raises `Failure` when the package
        or the key is missing.
        """
        client = await super().client()
        if self._file is not None:
            setattr(client, self._file[0], await self._file[1]())
        return client

    @staticmethod
    def _sdk() -> ModuleType:
        import anthropic

        return anthropic

    @property
    def _missing_sdk(self) -> str:
        return "The package anthropic is not installed: pip install 'agui-gate[anthropic]'."

    def _new_client(self, http: "httpx2.AsyncClient", timeout: "httpx2.Timeout") -> "anthropic.AsyncAnthropic":
        import anthropic

        # Without a key the SDK may still find a token, or a profile on disk; only when it finds nothing we know better.
        self._file = None if self._api_key else _find_file()
        keys = {self._file[0]: self._file[1].last} if self._file else {"api_key": self._api_key}
        try:
            client = anthropic.AsyncAnthropic(
                **keys,
                base_url=self._base_url,
                timeout=timeout,
                max_retries=0,
                http_client=http,
                default_headers=self._headers,
            )
        except anthropic.AnthropicError as error:  # such as a profile that can't be read
            raise self.failure(error) from error
        if not (client.api_key or client.auth_token or client.credentials):
            raise Failure(ProviderAuth("There is no API key: set ANTHROPIC_API_KEY or pass api_key."))
        return client

    def _error_reply(self, error: Any) -> ErrorReply:
        body = error.body if isinstance(error.body, dict) else {}
        inner = body.get("error")
        said = inner if isinstance(inner, dict) else body
        message = _text(said.get("message"))
        param = _PARAM.match(message)
        # `invalid_request_error` says nothing beyond the status.
        code = _text(said.get("type")).replace("invalid_request_error", "")
        return ErrorReply(code, message, param[1] if param else "")

    def _is_about_the_key(self, error: Exception) -> bool:
        return super()._is_about_the_key(error) or (isinstance(error, TypeError) and "authentication" in str(error))


def _find_file() -> tuple[str, KeyFile] | None:
    """Returns the file of the key or else of the token, and the client's attribute for it. Raises
    `ConfigurationError`.
    """
    if file := find_key_file("ANTHROPIC_API_KEY"):
        return "api_key", file
    is_set = os.environ.get("ANTHROPIC_API_KEY")  # which the SDK prefers to a token
    file = None if is_set else find_key_file("ANTHROPIC_AUTH_TOKEN")
    return ("auth_token", file) if file else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
