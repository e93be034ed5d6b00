"""Which rules the events of a stream put to the test: without a result, say, nothing is shown about results."""

from collections.abc import Iterable

from agui_gate_adapters.testkit.spec.finding import Json

ALWAYS = ("GEN-1", "EVT-1", "EVT-2", "IN-1", "VER-1", "TR-1", "SSE-1", "SSE-2", "SSE-3", "EVT-6")
ALWAYS_RUNS = ("LIFE-1", "LIFE-2", "LIFE-3", "LIFE-6", "LIFE-7", "STR-1")

BY_EVENT = {
    "TEXT_MESSAGE_START": ("TEXT-1", "EVT-4"),
    "TEXT_MESSAGE_CHUNK": ("TEXT-1", "EVT-4", "STR-2"),
    "TOOL_CALL_CHUNK": ("STR-2", "LIFE-8"),
    "TOOL_CALL_START": ("LIFE-8",),
    "TOOL_CALL_RESULT": ("TOOL-2", "LIFE-8"),
    "STATE_SNAPSHOT": ("STATE-1",),
    "STATE_DELTA": ("STATE-1", "SNAP-2", "IN-6"),
    "MESSAGES_SNAPSHOT": ("STATE-2",),
    "ACTIVITY_SNAPSHOT": ("ACT-1",),
    "ACTIVITY_DELTA": ("ACT-1", "SNAP-2"),
    "CUSTOM": ("PASS-1",),
    "RAW": ("PASS-1",),
    "STEP_STARTED": ("LIFE-9",),
    "REASONING_START": ("REAS-1",),
    "REASONING_MESSAGE_START": ("REAS-1",),
    "REASONING_MESSAGE_CHUNK": ("REAS-1", "STR-2"),
    "REASONING_ENCRYPTED_VALUE": ("REAS-2",),
    "SUBAGENT_STARTED": ("SUB-1", "SUB-2", "SUB-3", "SUB-4"),
}
BY_MEMBER = {
    "usage": ("USE-1", "USE-2", "USE-3"),
    "metadata": ("META-1",),
    "timestamp": ("EVT-3",),
    "input": ("IN-10",),
}
BY_OUTCOME = {"interrupt": ("INT-1", "INT-2"), "cancelled": ("LIFE-5",)}


def shown_by(events: Iterable[Json]) -> set[str]:
    """The rules that these events show to be kept, if nothing was found."""
    shown: set[str] = set()
    for event in events:
        shown.update(ALWAYS, ALWAYS_RUNS, BY_EVENT.get(str(event.get("type")), ()))
        for member, rules in BY_MEMBER.items():
            shown.update(rules if member in event else ())
        outcome = event.get("outcome")
        kind = outcome.get("type") if isinstance(outcome, dict) else None
        shown.update(BY_OUTCOME.get(str(kind), ()))
    return shown
