"""Who has which tool's name: the agent itself first, then its sources in the order in which it names them.

A source may come to list any name at any time. It must not end the agent's runs with it, nor take the place of another
tool. So what is listed under a taken name is left out, with one warning. A source that is away keeps the names that it
had: its tools are not swapped for another server's while it can't be reached.
"""

from collections.abc import Iterable, Sequence

import structlog

from agui_gate.tool import RESERVED_NAMES, Tool
from agui_gate.tool_source import ToolSource

Found = tuple[ToolSource, Sequence[Tool] | None]
"""A source, and what it lists now; None while it can't be reached."""

log = structlog.get_logger("agui_gate.tools")


def identity(source: ToolSource) -> str:
    """What tells a source from any other: more than its name, where it says more."""
    return str(getattr(source, "identity", None) or source.name)


class Names:
    """The names of one agent's tools, over all its runs. ``own`` are the agent's own."""

    def __init__(self, agent: str, own: Iterable[str]) -> None:
        self._agent = agent
        self._own = frozenset(own)
        self._transfers: tuple[str, ...] = ()
        self._kept: dict[str, list[str]] = {}
        self._warned: set[tuple[str, str]] = set()

    def reserve(self, transfers: Iterable[str]) -> None:
        """No source gets these names: they are tools that hand off to another agent."""
        self._transfers = tuple(transfers)

    def share(self, found: Sequence[Found]) -> list[list[Tool]]:
        """The tools of each source that may keep their names."""
        takers = dict.fromkeys(self._own, "the agent itself") | dict.fromkeys(RESERVED_NAMES, "confirm cards")
        takers |= dict.fromkeys(self._transfers, "a hand-off")
        shared = []
        for source, listed in found:
            left = [tool for tool in listed or () if self._takes(tool.name, source, takers)]
            if listed is None:
                takers = dict.fromkeys(self._kept.get(identity(source), ()), source.name) | takers
            else:
                self._kept[identity(source)] = [tool.name for tool in left]
            shared.append(left)
        return shared

    def _takes(self, name: str, source: ToolSource, takers: dict[str, str]) -> bool:
        """Whether ``source`` gets ``name``; it is taken then."""
        if name not in takers:
            takers[name] = source.name
            return True
        if (identity(source), name) not in self._warned:
            self._warned.add((identity(source), name))
            log.warning("tool_name_taken", agent=self._agent, source=source.name, tool=name, taken_by=takers[name])
        return False
