"""The Chat Completions API, as strict or as odd as one of the servers that speak it.

Rules C1 to C7 are in `checks` and `message_checks`, the servers' differences in `profiles`. `answer` turns a turn of a
script into chunks.
"""

from agui_gate_adapters.testkit.chat.api import Chat
from agui_gate_adapters.testkit.chat.checks import check_chat_request
from agui_gate_adapters.testkit.chat.profiles import CHAT_PROFILES, ChatProfile, ChatProfileName

__all__ = ["CHAT_PROFILES", "Chat", "ChatProfile", "ChatProfileName", "check_chat_request"]
