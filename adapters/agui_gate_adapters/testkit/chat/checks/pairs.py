"""Calls and their answers (C1, C2, C3), turn by turn; what may follow them; the reasoning that comes back with them.

An assistant message with calls opens a run. The tool messages right after it answer its calls in any order. Any other
message closes the run, and so does the end of the list. Ids mean nothing beyond their run: a later turn may use the
same ones again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_order", "check_pairs", "check_reasoning"]


class _Run:
    """The calls of one assistant message while their answers come in."""

    def __init__(self, calls: list[Json]) -> None:
        self.awaited = Counter(call["id"] for call in calls)
        self.answered: dict[str, int] = {}

    @property
    def repeated(self) -> list[str]:
        return [call_id for call_id, times in self.awaited.items() if times > 1]

    @property
    def unanswered(self) -> list[str]:
        return list(self.awaited.elements())


def check_pairs(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Walk the messages; yields in the order in which the API would notice."""
    run: _Run | None = None
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            yield from _answer(run, message["tool_call_id"], index, profile)
            continue
        if run is not None and run.unanswered:
            yield cv.unanswered(profile, run.unanswered, index)
        run = None
        if message["role"] == "assistant" and message.get("tool_calls"):
            run = _Run(message["tool_calls"])
            if run.repeated and not profile.repeated_calls:
                # Two calls of one id cannot both be answered, so the second one never is.
                yield cv.unanswered(profile, run.repeated, index)
    if run is not None and run.unanswered:
        yield cv.unanswered(profile, run.unanswered, None)


def _answer(run: _Run | None, call_id: str, index: int, profile: ChatProfile) -> Iterator[Violation]:
    if run is None or call_id not in run.awaited:
        yield cv.not_an_answer(profile, index)
    elif not run.awaited[call_id]:
        yield cv.answered_twice(call_id, run.answered[call_id], index)
    else:
        run.awaited[call_id] -= 1
        run.answered[call_id] = index


def check_order(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield the user messages that follow answers at once, where the server wants a reply in between."""
    for before, message in pairwise(messages if profile.reply_after_tools else ()):
        if before["role"] == "tool" and message["role"] == "user":
            yield cv.no_reply_between()


def check_reasoning(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield the tool-calling turns since the last user message that lost their reasoning; an empty text will do."""
    if profile.reasoning_back != "required" or profile.reasoning_field is None:
        return
    last_user = max((index for index, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for index in range(last_user + 1, len(messages)):
        message = messages[index]
        if message.get("tool_calls") and not isinstance(message.get(profile.reasoning_field), str):
            yield cv.reasoning_lost(profile, index)
