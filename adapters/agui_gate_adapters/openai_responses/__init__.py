"""OpenAI's Responses API as a model: chained, in a conversation, or stateless."""

from .adapter import OpenAIResponses

__all__ = ["OpenAIResponses"]
