"""What the tests of every adapter have to know about this one."""

from agui_gate_adapters.openai_chat import OpenAIChat, Profile
from agui_gate_adapters.testkit import CHAT_PROFILES
from tests.adapters.openai_sdk import HOPELESS, OPENAI, framed
from tests.adapters.subject import Subject, Way

from .support import SERVERS


def said(text: str) -> bytes:
    """A whole stream."""
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    return framed({"choices": [{"delta": {"content": text}}]}, end) + b"data: [DONE]\n\n"


SUBJECT = Subject(
    name="openai_chat",
    make=OpenAIChat,
    needs_a_key_everywhere=False,
    origin="openai-chat",
    path="/chat/completions",
    said=said,
    hopeless=HOPELESS,
    **OPENAI,
)


def way(server: str, profile: Profile) -> Way:
    """At this kind of server."""
    told = CHAT_PROFILES[server].usage
    return Way(
        SUBJECT,
        server,
        {"chat": server},
        {"profile": profile},
        text_after=3 if server == "azure" else 2,
        counted_as=profile.name if told == "last_chunk" or (told != "never" and profile.stream_usage) else None,
    )


PLAIN = Way(SUBJECT, text_after=2, counted_as="openai")
BY_SERVER = {server: way(server, profile) for server, profile in SERVERS.items()}
WAYS = [BY_SERVER[server] for server in ("openai", "vllm", "deepseek", "kimi", "mistral", "lenient")]
EVERY_WAY = list(BY_SERVER.values())
