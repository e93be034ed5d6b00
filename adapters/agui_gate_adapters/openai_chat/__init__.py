"""Any server that speaks OpenAI's Chat Completions API as a model."""

from .adapter import OpenAIChat
from .profiles import PROFILES, Profile

__all__ = ["PROFILES", "OpenAIChat", "Profile"]
