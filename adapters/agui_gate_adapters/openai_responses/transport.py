"""Requests to the Responses API and the Conversations API."""

from agui_gate.errors import ProviderRejected
from agui_gate_adapters.common.failures import Failure, unreachable
from agui_gate_adapters.common.openai_transport import OpenAITransport


class ResponsesTransport(OpenAITransport):
    """Streams responses, and makes the conversations that they belong to."""

    async def create_conversation(self) -> str:
        """Make an empty conversation; its id. Raises `Failure`."""
        client = await self.client()
        try:
            reply = await client.post("/conversations", cast_to=object, body={}, options={"max_retries": 0})
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
