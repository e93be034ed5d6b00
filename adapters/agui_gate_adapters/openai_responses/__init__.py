"""OpenAI's Responses API as a model: chained, in a conversation, or stateless."""

from .adapter import OpenAIResponses
from .hosts import AZURE_SCOPE, FOUNDRY_SCOPE

__all__ = ["AZURE_SCOPE", "FOUNDRY_SCOPE", "OpenAIResponses"]
