"""A store that is counted: how long its operations take, and what was decided by them.

A decision is counted where it takes effect: once, whoever else tried, in the process whose update got through.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

import msgspec

from agui_gate.core.approvals import DECISIONS, Approval, State
from agui_gate.core.audit import Happened
from agui_gate.errors import LeaseLost, Unavailable
from agui_gate.extras.metrics.families import Families
from agui_gate.stores.base import Change, Store
from agui_gate.stores.lease import DECIDES


class CountedStore:
    """``inner``, each of whose operations is timed. It has just the methods that ``inner`` has.

    ``failed``: the names of those that could not be made since somebody cleared it.
    """

    def __init__(self, inner: Store, families: Families) -> None:
        self._inner, self._families, self.failed = inner, families, set[str]()
        hooks: dict[str, Callable[..., None]] = {"move": self._moved, "commit": self._committed, "note": self._noted}
        for name in dir(type(inner)):
            if not name.startswith("_") and inspect.iscoroutinefunction(inspect.getattr_static(inner, name)):
                setattr(self, name, self._timed(name, getattr(inner, name), hooks.get(name)))

    def __getattr__(self, name: str) -> Any:
        """Returns what ``inner`` has. A method is looked up once."""
        value = getattr(self._inner, name)
        if callable(value):
            setattr(self, name, value)
        return value

    def _timed(
        self, name: str, operation: Callable[..., Awaitable[Any]], hook: Callable[..., None] | None
    ) -> Callable[..., Awaitable[Any]]:
        observe = self._families.store_seconds.observe

        @functools.wraps(operation)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            begun = perf_counter()
            try:
                result = await operation(*args, **kwargs)
            except LeaseLost:
                self._lost(name, args, kwargs)
                raise
            except Unavailable:
                self.failed.add(name)
                raise
            finally:
                observe(perf_counter() - begun, name)
            if hook is not None:
                hook(result, *args, **kwargs)
            return result

        return timed

    def _lost(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Counts a decision that lost its lease. A run is counted when it ends for that."""
        run_key = kwargs.get("run_key") or (args[2] if name == "commit" and len(args) > 2 else "")
        if isinstance(run_key, str) and run_key.startswith(DECIDES):
            self._families.leases_lost.inc()

    def _moved(self, moved: Approval, _approval_id: str, to: State, **_: Any) -> None:
        if to not in DECISIONS or moved.state is State.PENDING or (decision := moved.decision) is None:
            return  # of several people who have to agree, the last one decides
        said = "reject" if not decision.approved else "approve" if decision.edited_arguments is None else "edit"
        self._families.decisions.inc(self._families.tools[moved.tool], said, decision.way or "rule")
        if moved.decided_at is not None:
            self._families.decision_wait.observe(max(0, moved.decided_at - moved.asked_at) / 1000)

    def _committed(self, _: None, _thread: Any, change: Change, _run_key: str) -> None:
        if change.happened:
            self._refused(change.happened)

    def _noted(self, _: None, happened: Sequence[Happened]) -> None:
        self._refused(happened)

    def _refused(self, happened: Sequence[Happened]) -> None:
        for one in happened:
            if one.kind == "refused":
                self._families.refused.inc(msgspec.json.decode(one.body).get("code", ""))
