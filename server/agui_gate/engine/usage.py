"""Token counts of a run: those of its turns, added up."""

from collections.abc import Iterable

import msgspec

from agui_gate.adapter import TurnDone, Usage


def totals(turns: Iterable[TurnDone]) -> tuple[Usage, ...]:
    """One entry per provider and model."""
    found: dict[tuple[str, str], Usage] = {}
    for done in turns:
        if (usage := done.usage) is not None:
            key = (usage.provider, usage.model)
            found[key] = _sum(found[key], usage) if key in found else usage
    return tuple(found.values())


def _sum(left: Usage, right: Usage) -> Usage:
    counts = {
        name: getattr(left, name) + getattr(right, name)
        for name in ("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "reasoning_tokens")
    }
    return msgspec.structs.replace(left, **counts)
