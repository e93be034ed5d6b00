"""Held calls on the wire: what the provider asked, and what it is told (R19).

The provider pairs the two by the request item's id. It still has that item where it is asked to continue, and only the
answer goes. Where everything is sent, the item goes too, after the tools of its server, which it refers to. A "yes"
that is sent twice may run the call twice: what says it is sent again only where the provider surely did not act.
"""

from collections.abc import Mapping, Sequence

from agui_gate.adapter import AssistantTurn, SettledCall, Transcript
from agui_gate.errors import ConsentLost
from agui_gate_adapters.common.decisions import reason_of

from .hosted_kinds import where_servers_are
from .wire import Body


def held_calls(turn: AssistantTurn) -> list[SettledCall]:
    """The calls of the turn that the provider asked about."""
    return [call for call in turn.calls if call.part.kind == "held"]


def agrees(transcript: Transcript, hosted_tools: Sequence[Body]) -> bool:
    """Whether the provider is to be told to run something.

    Raises `ConsentLost` if that was agreed to for a server that is not among ``hosted_tools``, or is another one now.
    (Calls from before that was kept don't say which it was.)
    """
    agreed = [call for turn in transcript if isinstance(turn, AssistantTurn) for call in turn.calls if call.consent]
    servers = where_servers_are(hosted_tools) if agreed else {}
    for private in (call.part.private or {} for call in agreed):
        if "server" in private and servers.get(private.get("server_label", "")) != private["server"]:
            raise ConsentLost("What was approved is for a server that is another one now, or gone. It was not run.")
    return bool(agreed)


def responses(turn: AssistantTurn) -> list[Body]:
    """What the provider is told about the turn's held calls."""
    return [_response(call) for call in held_calls(turn) if call.consent is not None]


def requests(turn: AssistantTurn, transcript: Transcript) -> Mapping[str, Sequence[Body]]:
    """By call id: the items that a provider which remembers nothing needs with `responses`, in their place.

    The tools of a server come once, before the first request for it. They may have been listed in an earlier turn.
    """
    if not any(call.consent is not None for call in turn.calls):
        return {}
    lists = _tool_lists(transcript)
    items: dict[str, Sequence[Body]] = {}
    for call in held_calls(turn):
        private = call.part.private or {}
        label = private.get("server_label", "")
        if call.consent is not None:
            listed = lists.pop(label, None)
            items[call.part.id] = ([listed] if listed else []) + [_request(call, label, private.get("name", ""))]
    return items


def _tool_lists(transcript: Transcript) -> dict[str, Body]:
    turns = (turn for turn in transcript if isinstance(turn, AssistantTurn))
    private = (call.part.private or {} for turn in turns for call in held_calls(turn))
    return {known["server_label"]: known["tool_list"] for known in private if "tool_list" in known}


def _request(call: SettledCall, label: str, name: str) -> Body:
    return {
        "type": "mcp_approval_request",
        "id": call.part.wire_id,
        "server_label": label,
        "name": name,
        "arguments": call.part.arguments,
    }


def _response(call: SettledCall) -> Body:
    body: Body = {
        "type": "mcp_approval_response",
        "approval_request_id": call.part.wire_id,
        "approve": call.consent is True,
    }
    return body if call.consent else body | {"reason": reason_of(call.output.content)}
