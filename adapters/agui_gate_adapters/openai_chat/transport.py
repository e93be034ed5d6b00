"""Sends requests to a Chat Completions server, also to a local one without keys and with half of the API."""

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agui_gate.errors import ProviderRejected
from agui_gate_adapters.common.failures import ErrorReply, Failure
from agui_gate_adapters.common.openai_transport import OpenAITransport
from agui_gate_adapters.common.transport import ONE_REQUEST

if TYPE_CHECKING:
    import httpx2
    import openai

_NO_KEY = "no-key"


class ChatTransport(OpenAITransport):
    """A transport that requires a key only where the address is OpenAI's own."""

    lists_models = True
    """See `Profile.lists_models`."""

    def _new_client(self, http: "httpx2.AsyncClient", timeout: "httpx2.Timeout") -> "openai.AsyncOpenAI":
        elsewhere = self._base_url or os.environ.get("OPENAI_BASE_URL")
        has_key = self._api_key or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_API_KEY_FILE")
        if elsewhere and not has_key:
            self._api_key = _NO_KEY
        return super()._new_client(http, timeout)

    def _address(self, client: Any) -> str:
        """Returns OpenAI's address; for the older Azure client, with the deployment in it."""
        if isinstance(client, self._sdk().AsyncAzureOpenAI) and "/deployments/" not in str(client.base_url):
            return f"/deployments/{quote(self._model, safe='')}{self._path}"
        return self._path

    async def get_model(self) -> Any:
        """Returns the server's description of the model. Many have only a list of all (vLLM, llama.cpp, DeepSeek).

        Raises `Failure`.
        """
        try:
            return await super().get_model()
        except Failure as failure:
            if not isinstance(failure.error, ProviderRejected):
                raise
            models = await self._models()
            known = next((model for model in models if not self.lists_models or model.get("id") == self._model), None)
            if known is not None:
                return known
            if not models:
                raise
            raise Failure(ProviderRejected(f"The provider does not know the model {self._model!r}.")) from failure

    async def _models(self) -> list[dict[str, Any]]:
        """Returns the models that the server lists. Raises `Failure`."""
        client = await self.client()
        try:
            reply = await client.get(self.models, cast_to=object, options=ONE_REQUEST)
        except Exception as error:
            raise self.failure(error) from error
        listed = reply.get("data") if isinstance(reply, dict) else None
        return [model for model in listed if isinstance(model, dict)] if isinstance(listed, list) else []

    def _error_reply(self, error: Any) -> ErrorReply:
        """Reads an error reply as OpenAI's, or with `detail`, which servers made with FastAPI send."""
        reply = super()._error_reply(error)
        detail = error.body.get("detail") if isinstance(error.body, dict) else None
        return ErrorReply(reply.code, detail, reply.param) if not reply.message and isinstance(detail, str) else reply
