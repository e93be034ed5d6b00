"""Who may ask, in words, and what of that would surprise: for `agui-gate serve` and `agui-gate doctor`.

``states`` are those of applications (`target.states_of`), whose guards say what counts. Without any, an application
would be made from the settings.
"""

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from typing import Any

from agui_gate.adapter import Finding, ModelEvent, TurnRequest
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Roster
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import LOCAL
from agui_gate.errors import AguiGateError
from agui_gate.extra_loader import load
from agui_gate.http.bearer import Bearer, FileBearer

LOCAL_ONLY = "this machine only, as no tokens are set"
IGNORED = "AGUI_GATE_TOKENS is not used: the application has an auth= of its own."
"""What is said of fixed tokens in the settings that open nothing."""


def access_of(settings: Settings, states: Sequence[Any]) -> str:
    """Returns who may ask."""
    if any(state.guard.loopback_only for state in states) or not (states or settings.tokens or settings.signed_tokens):
        return LOCAL_ONLY
    if any(_asks_application(state) for state in states):
        return "as the application's auth decides"
    signed = f"with tokens of {settings.jwt_issuer}" if settings.signed_tokens else ""
    fixed = f"with the token of {', '.join(settings.tokens)}" if settings.tokens else ""
    return " and ".join(filter(None, (signed, fixed))) or "as the application's settings decide"


def ignores_tokens(settings: Settings, states: Sequence[Any]) -> bool:
    """Returns whether the settings have tokens that no application asks for."""
    return bool(settings.tokens) and bool(states) and all(_asks_application(state) for state in states)


def undecidable(settings: Settings, agents: Collection[Agent], states: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yields the tools whose calls nobody could approve, as far as the people are known; and why."""
    roleless = settings.signed_tokens and not settings.jwt_roles
    asked = [
        (state.engine.members, _people_of(state.guard.auth), roleless and not _asks_application(state))
        for state in states
    ]
    if not states:
        some = None if settings.signed_tokens else tuple(settings.tokens) or (LOCAL,)
        asked = [(Roster(tuple(agents)).members, some, roleless)]
    for members, people, nobody_has_roles in asked:
        gates = any(tool.gate and tool.gate.people for one in members.values() for tool in one.by_name.values())
        if gates and people:
            yield from load("people.deciders").undecidable(members, people)
        elif gates and nobody_has_roles:
            yield from load("people.deciders").undecidable_without_roles(members)


def why_refused(settings: Settings, agents: Collection[Agent] = ()) -> str | None:
    """Returns why no server starts with these settings, store and bus left aside; None if one would.

    It makes an application and starts nothing. Without ``agents``: one that has a single agent.
    """
    from agui_gate.http.app import create_app

    try:
        some = agents or (Agent(name="assistant", model=_NoModel()),)
        create_app(*some, store="memory://", bus="memory://", settings=settings)
    except AguiGateError as error:
        return error.message
    except ImportError as error:
        return f"The package {error.name} is not installed."
    return None


class _NoModel:
    """The model of an agent that is never asked."""

    origin = "none"

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Yields nothing."""
        nothing: Sequence[Sequence[ModelEvent]] = ()
        for batch in nothing:
            yield batch

    async def check(self) -> Sequence[Finding]:
        """Finds nothing."""
        return ()

    async def aclose(self) -> None:
        """Does nothing."""


def _people_of(auth: Any) -> Collection[str] | None:
    """Returns the ids of all who may ever ask; None where others know them."""
    return (LOCAL,) if auth is None else auth.principals if isinstance(auth, (Bearer, FileBearer)) else None


def _asks_application(state: Any) -> bool:
    """Returns whether an application asks its own ``auth``. Those of the settings can be given other tokens."""
    return state.guard.auth is not None and not hasattr(state.guard.auth, "replace")
