"""Token counts of a run: those of its turns, added up."""

from collections.abc import Iterable

from agui_gate.adapter import TurnDone, Usage


def totals(turns: Iterable[TurnDone]) -> tuple[Usage, ...]:
    """One entry per provider and model. A count is what those turns add up to that reported it (USE-1)."""
    found: dict[tuple[str, str], Usage] = {}
    for done in turns:
        if (usage := done.usage) is not None and usage.reported:
            key = (usage.provider, usage.model)
            found[key] = found[key].plus(usage) if key in found else usage
    return tuple(found.values())
