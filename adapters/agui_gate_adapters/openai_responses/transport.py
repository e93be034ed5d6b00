"""Requests to the Responses API and the Conversations API."""

from typing import Any

from agui_gate.errors import ProviderRejected
from agui_gate_adapters.common.failures import Failure, unreachable
from agui_gate_adapters.common.openai_transport import OpenAITransport
from agui_gate_adapters.common.transport import ONE_REQUEST


class ResponsesTransport(OpenAITransport):
    """Streams responses, and makes the conversations that they belong to.

    ``knows_models`` is false where models are not listed under the names that requests give them.
    """

    def __init__(self, *args: Any, knows_models: bool = True, **more: Any) -> None:
        super().__init__(*args, **more)
        self._knows_models = knows_models

    async def get_model(self) -> Any:
        """Returns the provider's description of the model, or sends a request without input to learn of it.

        That one is refused after the key and the model were looked at, and before anything is generated or paid for.
        """
        if self._knows_models:
            return await super().get_model()
        client = await self.client()
        try:
            return await client.post(self._path, cast_to=object, body={"model": self._model}, options=ONE_REQUEST)
        except Exception as error:
            # What exactly a host says about the missing input differs; about the model they all name it.
            if getattr(error, "status_code", None) == 400 and getattr(error, "param", None) != "model":
                return {"id": self._model}
            raise self.failure(error) from error

    async def delete(self, path: str) -> bool:
        """Deletes a stored response, a conversation or an item of one; returns whether it was there. Raises
        `Failure`.
        """
        client = await self.client()
        try:
            await client.delete(path, cast_to=object, options=ONE_REQUEST)
        except Exception as error:
            if getattr(error, "status_code", None) == 404:
                return False
            raise self.failure(error) from error
        return True

    async def items_of(self, conversation_id: str) -> list[str]:
        """Returns the ids of up to 100 items of a conversation; none where it is gone. Raises `Failure`."""
        client = await self.client()
        try:
            reply = await client.get(
                f"/conversations/{conversation_id}/items?limit=100", cast_to=object, options=ONE_REQUEST
            )
        except Exception as error:
            if getattr(error, "status_code", None) == 404:
                return []
            raise self.failure(error) from error
        items = reply.get("data") if isinstance(reply, dict) else None
        return [item["id"] for item in items or [] if isinstance(item, dict) and isinstance(item.get("id"), str)]

    async def create_conversation(self) -> str:
        """Make an empty conversation; its id. Raises `Failure`."""
        client = await self.client()
        try:
            reply = await client.post("/conversations", cast_to=object, body={}, options=ONE_REQUEST)
        except Exception as error:
            failure = self.failure(error)
            if getattr(error, "status_code", None) in (404, 405):
                message = "The provider has no conversations: use mode='chain' or mode='stateless'."
                raise Failure(ProviderRejected(message)) from error
            raise failure from error
        conversation_id = reply.get("id") if isinstance(reply, dict) else None
        if not isinstance(conversation_id, str):
            raise unreachable("The provider answered with something that is not a conversation.", sent=True)
        return conversation_id
