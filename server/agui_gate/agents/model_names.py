"""Models by name: `anthropic:claude-…` is the adapter that is installed as `anthropic`, with that model.

An adapter of your own is found the same way once your distribution says so:

    [project.entry-points."agui_gate.adapters"]
    mine = "my_package:MyAdapter"        # called with the model's name
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agui_gate.adapter import Adapter
from agui_gate.errors import ConfigurationError
from agui_gate.extra_loader import load

GROUP = "agui_gate.adapters"
"""The entry points that name adapters; each is called with a model's name and returns an `Adapter`."""


def adapter_of(agent: str, model: str | Sequence[Any]) -> Adapter:
    """Returns the adapter for the model of ``agent``: a name, or a list of names and adapters. Raises
    `ConfigurationError`.
    """
    if isinstance(model, str):
        return adapter_for(model)
    several: Adapter = load("model_fallback").adapter_of(agent, model)
    return several


def adapter_for(name: str) -> Adapter:
    """Returns the adapter for ``name``, which is `adapter:model`. Raises `ConfigurationError` that says what would be
    right.
    """
    kind, separator, model = name.partition(":")
    if not separator or not kind or not model:
        raise ConfigurationError(f"A model is adapter:model, such as openai:gpt-5.4-mini; {name!r} is not.")
    known = {point.name: point for point in entry_points(group=GROUP)}
    if kind not in known:
        names = ", ".join(sorted(known)) or "none; install agui-gate again"
        raise ConfigurationError(f"No adapter called {kind!r} is installed; there is {names}.")
    return _made(known[kind], model)


def _made(point: EntryPoint, model: str) -> Adapter:
    """Returns the adapter of an entry point, for ``model``. Raises `ConfigurationError`."""
    try:
        adapter = point.load()(model)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"The adapter {point.name!r} can't be used: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(adapter, Adapter):
        raise ConfigurationError(f"{point.value} is not an adapter: see agui_gate.adapter.Adapter.")
    return adapter
