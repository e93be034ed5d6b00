"""The ids of a turn's calls: the provider's own where they can be, new ones where not, none twice."""

import re
from collections.abc import Sequence
from itertools import count
from typing import Literal

from agui_gate.adapter import SettledCall
from agui_gate_adapters.common.names import stable_id

MAX_CALL_ID = 64
"""Characters that a call id may have (C6)."""

Rule = Literal["any", "nine", "verbatim"]
"""See `Profile.call_ids`."""

_NINE = re.compile(r"[A-Za-z0-9]{9}")


def call_ids(turn_id: str, calls: Sequence[SettledCall], rule: Rule, *, ours: bool, before: int) -> list[str]:
    """One id a call, in order. ``before`` is how many calls the earlier turns had."""
    used: set[str] = set()
    ids = []
    for position, call in enumerate(calls):
        call_id = call.part.wire_id
        if not ours or not _fits(call_id, rule) or call_id in used:
            call_id = _minted(call, rule, before + position, used, turn_id)
        used.add(call_id)
        ids.append(call_id)
    return ids


def _fits(call_id: str, rule: Rule) -> bool:
    match rule:
        case "any":
            return 0 < len(call_id) <= MAX_CALL_ID
        case "nine":
            return bool(_NINE.fullmatch(call_id))
        case "verbatim":
            return bool(call_id)


def _minted(call: SettledCall, rule: Rule, number: int, used: set[str], turn_id: str) -> str:
    """A new id, the same every time; where the model expects its own kind, of that kind."""
    if rule == "verbatim":
        call_id = f"functions.{call.part.name}:{number}"  # the name is one that providers take: see `common.names`
        if len(call_id) <= MAX_CALL_ID and call_id not in used:
            return call_id
    for attempt in count():
        names = (turn_id, str(number), call.part.id, str(attempt))
        call_id = stable_id("", *names, digits=9) if rule == "nine" else stable_id("call_", *names)
        if call_id not in used:
            return call_id
    raise AssertionError("unreachable: count() does not end")
