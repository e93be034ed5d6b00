"""Anthropic's Messages API as a model."""

from .adapter import AnthropicMessages

__all__ = ["AnthropicMessages"]
