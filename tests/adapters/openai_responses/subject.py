"""What the tests of every adapter have to know about this one."""

from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.adapters.openai_sdk import HOPELESS, OPENAI, framed
from tests.adapters.subject import Subject, Way
from tests.adapters.support import Json

from .support import NEEDS


def said(text: str) -> bytes:
    """A whole stream."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return framed(
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", **at, "delta": text},
        {"type": "response.completed", "response": {"id": "resp_1"}},
    )


SUBJECT = Subject(
    name="openai_responses",
    make=OpenAIResponses,
    origin="openai-responses:chain",
    origin_elsewhere="openai-responses:stateless",
    path="/responses",
    said=said,
    ends_calls_early=True,
    hopeless=HOPELESS,
    **OPENAI,
)

_SAME: Json = {"quiet": 2, "text_after": 5, "counted_as": "openai"}

PLAIN = Way(SUBJECT, options={"mode": "chain"}, remembers=True, **_SAME)
BY_PROFILE = {
    profile: [
        Way(SUBJECT, f"{profile}-{mode}", {"profile": profile}, {"mode": mode, **needs}, remembers=remembers, **_SAME)
        for mode, remembers in (("chain", True), ("conversation", True), ("stateless", False))
    ]
    for profile, needs in NEEDS.items()
}
WAYS = BY_PROFILE["openai"]
EVERY_WAY = [way for ways in BY_PROFILE.values() for way in ways]
