"""TARGET: `module:object`, looked up from the current directory; and --model, another model for its agents."""

import difflib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from agui_gate.agents.agent import Agent
from agui_gate.agents.model_names import adapter_for
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.extra_loader import load

PLAIN = "assistant"
"""The agent that there is when a model is named and nothing else: no instructions, no tools."""

model_option = click.option(
    "--model", metavar="ADAPTER:MODEL", help="Use this model instead. Without TARGET, a plain agent uses it."
)


@dataclass(frozen=True, slots=True)
class Target:
    """The agents that a TARGET named, or an ASGI application of which these are the agents that could be found."""

    agents: tuple[Agent, ...]
    app: Any = None


def load_target(name: str | None, model: str | None = None) -> Target:
    """Loads what ``name`` names, with ``model`` (adapter:model) as the model of its agents; without a name, a plain
    agent.

    Raises `ConfigurationError` that says what is wrong with either and what would be right.
    """
    if name is None:
        if model is None:
            raise ConfigurationError("Name a TARGET, such as support:agent, or a model with --model.")
        return Target((Agent(name=PLAIN, model=model),))
    target = _load(name)
    if model is None:
        return target
    if target.app is not None:
        raise ConfigurationError(f"{name} is an application with agents of its own: --model can't change them.")
    return Target(load("teams").with_model(target.agents, adapter_for(model)))


def _load(name: str) -> Target:
    module_name, separator, path = name.partition(":")
    if not separator or not module_name or not path:
        raise ConfigurationError(f"TARGET is module:object, such as support:agent; {name!r} is not{_hint(name)}.")
    if module_name.endswith(".py") or os.sep in module_name:
        raise ConfigurationError(f"TARGET takes a module's name, not a file{_hint(name)}.")
    found: Any = _import(module_name)
    for part in path.split("."):
        found = _attribute(found, part, module_name)
    return _target(found, name)


def pick_agent(target: Target, name: str | None) -> Agent:
    """Returns the agent called ``name``, or the first one. Raises `ConfigurationError` if there is none."""
    if not target.agents:
        raise ConfigurationError("This application was not made by create_app, so its agents can't be found.")
    if name is None:
        return target.agents[0]
    known = {agent.name: agent for agent in target.agents}
    if name not in known:
        raise ConfigurationError(f"There is no agent {name!r}; there is {', '.join(known)}.")
    return known[name]


def states_of(app: Any) -> list[Any]:
    """Returns the ``state`` of every `create_app` application in ``app``, however it is mounted."""
    found = [app.state] if hasattr(getattr(app, "state", None), "engine") else []
    inner = [getattr(app, "app", None), *(getattr(route, "app", None) for route in getattr(app, "routes", None) or ())]
    return found + [state for part in inner if part is not None for state in states_of(part)]


def _import(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigurationError(f"There is no module {error.name!r} in {here} or on the Python path.") from error
        raise ConfigurationError(f"{name} imports {error.name!r}, which is not installed.") from error
    except AguiGateError:
        raise
    except SystemExit as error:
        raise ConfigurationError(
            f"Importing {name} ended the program: it calls sys.exit() outside a function."
        ) from error
    except Exception as error:
        raise ConfigurationError(f"Importing {name} failed in {_place(error)}") from error


def _place(error: Exception) -> str:
    """Returns where it happened, and what. A syntax error happens in the import system, but is somewhere else."""
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)} line {error.lineno}: {kind}: {error.msg}"
    where = _innermost(traceback.extract_tb(error.__traceback__))
    return f"{os.path.basename(where.filename)} line {where.lineno}: {kind}: {error}"


def _innermost(frames: Sequence[traceback.FrameSummary]) -> traceback.FrameSummary:
    """Returns the last place in files of this directory; where there is none, the last one."""
    here = f"{os.getcwd()}{os.sep}"
    own = [one for one in frames if one.filename.startswith(here) and "site-packages" not in one.filename]
    return (own or frames)[-1]


def _attribute(owner: Any, name: str, module: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        useful = [key for key, value in vars(owner).items() if isinstance(value, Agent) or _is_asgi(value)]
        useful = difflib.get_close_matches(name, useful, n=3, cutoff=0.5) or useful[:3]
        hint = f"; did you mean {' or '.join(f'{module}:{key}' for key in useful)}?" if useful else "."
        raise ConfigurationError(f"{module} has no {name!r}{hint}") from None


def _target(found: Any, name: str) -> Target:
    if isinstance(found, Agent):
        return Target((found,))
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        if found and all(isinstance(item, Agent) for item in found):
            return Target(tuple(found))
        raise ConfigurationError(f"{name} is a list, but not a list of agents.")
    if _is_asgi(found):
        return Target(tuple(agent for state in states_of(found) for agent in state.engine.agents.values()), found)
    raise ConfigurationError(f"{name} is of type {type(found).__name__}; name an Agent, a list of them, or an app.")


def _is_asgi(found: Any) -> bool:
    if isinstance(found, type):
        return False
    call = found if inspect.isroutine(found) else getattr(found, "__call__", None)  # noqa: B004  (looked at, not called)
    return inspect.iscoroutinefunction(call) and len(inspect.signature(call).parameters) == 3


def _hint(name: str) -> str:
    file, _, path = name.partition(":")
    module = file.removesuffix(".py").replace(os.sep, ".").strip(".")
    return f"; perhaps {module}:{path or 'agent'}" if module else ""
