"""What a store and its bus are: their kinds, the schema, and how many processes use them now."""

from importlib.resources import files
from typing import Any, cast

from agui_gate.bus.replicas.messages import Here, here
from agui_gate.stores.lease import is_gone
from agui_gate.stores.sql.operations import Last, Statement, Steps

Json = dict[str, Any]

_OWNERS = "SELECT owner FROM processes"


def kind_of(part: object) -> str:
    """Returns the kind of a store or a bus by where its class is: ``sqlite``, ``postgres``, ``redis``; or its name."""
    for name in ("_inner", "_wire"):
        while (inner := getattr(part, "__dict__", {}).get(name)) is not None:
            part = inner
    package, *names = type(part).__module__.split(".")
    return names[1] if package == "agui_gate" and len(names) > 1 else type(part).__name__


def newest_schema(store: object) -> int:
    """Returns the newest schema of such a store that this release knows. One in memory has SQLite's."""
    folder = files("agui_gate.stores")
    folder = folder / "postgres" / "migrations" if kind_of(store) == "postgres" else folder / "migrations"
    return sum(one.name.endswith(".sql") for one in folder.iterdir())


async def count_processes(store: Any, bus: object) -> int | None:
    """Returns how many processes use the store now. None where nobody can say: a file knows those of this machine, and
    PostgreSQL those whose bus it is; else the bus, those that hear it. Raises `Unavailable`.
    """
    kinds = (kind_of(store), kind_of(bus))
    if kinds[0] == "sqlite":
        return int(await store._do("read", _processes))
    if kinds == ("postgres", "postgres"):
        from agui_gate.stores.postgres import readiness

        return len(await store._do("read", readiness.servers))
    if kinds[1] == "redis":
        count: int | None = await cast(Any, bus)._wire.count_listeners()
        return count
    return None


async def name_replicas(bus: Any, processes: int | None) -> Json:
    """Returns the ``replicas`` that say who they are, over a bus that they share, and how many are ``silent``: of a
    version that doesn't know the question, or not reached. Without such a bus it is this process alone. ``is_here``: it
    is the one that answers.
    """
    ours = here(0)
    ask = getattr(getattr(bus, "_inner", bus), "servers", None)
    told: list[Here] = [ours] if ask is None else await ask(processes)
    named = [
        {
            "host": one.host,
            "pid": one.pid,
            "version": one.version,
            "revision": one.revision,
            "is_here": (one.host, one.pid) == (ours.host, ours.pid),
        }
        for one in told
    ]
    return {"replicas": named, "silent": 0 if ask is None else max(0, (processes or 0) - len(named))}


def _processes() -> Steps[int]:
    (found,) = yield Last([Statement(_OWNERS)])
    return sum(not is_gone(owner) for (owner,) in found.rows)
