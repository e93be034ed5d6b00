"""The JSON that CopilotKit's client reads and sends: see `routes.py`."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import QueryParams

from agui_gate.agents.team import Team
from agui_gate.concurrency import json_list
from agui_gate.errors import InvalidRequest
from agui_gate.http.agents import capabilities
from agui_gate.http.threads import MAX_PAGE, PAGE
from agui_gate.http.views import Agents, thread_view
from agui_gate.protocol.cards import iso
from agui_gate.protocol.run_input import MAX_DEPTH
from agui_gate.stores.base import Thread, ThreadHead

T = TypeVar("T")


class Call(msgspec.Struct, frozen=True):
    """A request wrapped into the single route."""

    method: str
    params: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw(b"")


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of a stop; without a run id it means whatever runs on the thread."""

    run_id: str | None = None
    snake_run_id: str | None = msgspec.field(default=None, name="run_id")


class Changes(msgspec.Struct, frozen=True):
    """The body of a change of a thread. Other keys that come with it mean nothing."""

    name: str | None | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET


def decoded(body: bytes, kind: type[T], *, well_formed: bool = True) -> T:
    """Returns the body as ``kind``. Raises `InvalidRequest`; ``well_formed``: valid JSON of the wrong shape is a
    422.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Invalid request: {error}", well_formed=well_formed) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}") from None
    except RecursionError:
        raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.") from None


def limit_of(query: QueryParams) -> int:
    """Returns how many threads are wanted; more than a page may have means a page. Raises `InvalidRequest`."""
    text = query.get("limit") or str(PAGE)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
        raise InvalidRequest("limit must be a positive number.", well_formed=True)
    return min(int(text), MAX_PAGE)


def info(teams: Mapping[str, Team]) -> dict[str, Any]:
    """`GET /info`. No licence fields: a licence of "none" paints a banner over the chat, an absent one nothing."""
    return {
        "version": version("agui-gate"),
        "mode": "sse",
        "agents": {name: _agent(name, team) for name, team in teams.items()},
        "threadEndpoints": {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False},
        "audioFileTranscriptionEnabled": False,
        "suggestions": True,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "telemetryDisabled": True,
    }


def _agent(name: str, team: Team) -> dict[str, Any]:
    return {
        "name": name,
        "description": team.entry.description,
        "className": "AguiGateAgent",
        "capabilities": capabilities(team),
    }


def row(head: ThreadHead) -> dict[str, Any]:
    """Returns a thread in the list. Who owns it is nobody's business but the server's."""
    return {
        "id": head.id,
        "name": head.title,
        "agentId": head.agent,
        "organizationId": "",
        "createdById": "",
        "archived": head.archived,
        "createdAt": iso(head.created_at),
        "updatedAt": iso(head.updated_at),
    }


def inspected_thread(thread: Thread, agents: Agents) -> bytes:
    """Returns a thread's messages as the inspector reads them."""
    messages = [inspected(message) for message in thread_view(thread, agents)["messages"]]
    return msgspec.json.encode({"messages": json_list(messages)})


def inspected(message: dict[str, Any]) -> dict[str, Any]:
    """Returns an AG-UI message as the inspector reads it."""
    shown: dict[str, Any] = {key: message[key] for key in ("id", "role", "content", "toolCallId") if key in message}
    calls = [
        {"id": call["id"], "name": call["function"]["name"], "args": call["function"]["arguments"]}
        for call in message.get("toolCalls", ())
    ]
    return shown | {"toolCalls": calls} if calls else shown
