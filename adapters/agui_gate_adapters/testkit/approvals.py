"""Approvals of hosted MCP calls: what a request agrees to, and what the emulated provider then does.

The emulated provider "runs" an approved call by saying an `mcp_call` item that names the request. A script may leave
the rest of that item out. The demo model says it, and asks for approval when the user names a tool of a hosted server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agui_gate_adapters.testkit.script import Asked, Turn, last_user_text
from agui_gate_adapters.testkit.wire import Json


def answered(merged: list[Json], fresh: list[Json], *, approve: bool) -> list[Json]:
    """Return the approval requests that the input answers with ``approve``, in the order of the answers."""
    requests = {item["id"]: item for item in merged if item.get("type") == "mcp_approval_request"}
    answers = (item for item in fresh if item.get("type") == "mcp_approval_response" and item["approve"] is approve)
    return [requests[item["approval_request_id"]] for item in answers if item["approval_request_id"] in requests]


def complete(output: Iterable[Json], granted: list[Json]) -> Iterator[Json]:
    """Yield a turn's outputs; each `mcp_call` that names no request gets the next approved one and what it asks for."""
    left = iter(granted)
    for spec in output:
        request = next(left, None) if spec.get("type") == "mcp_call" and "approval_request_id" not in spec else None
        yield spec if request is None else {**_call(request), **spec}


def proceed(asked: Asked) -> Turn | None:
    """Return the demo model's answer to approvals; None if the input brings none."""
    granted = answered(asked.merged, asked.fresh, approve=True)
    denied = answered(asked.merged, asked.fresh, approve=False)
    if not granted and not denied:
        return None
    calls = [{**_call(request), "output": f"{request['name']}: done"} for request in granted]
    said = [f"**{request['name']}** is done." for request in granted]
    said += [f"I did not run **{request['name']}**." for request in denied]
    return Turn(output=(*calls, {"type": "message", "text": " ".join(said), "phase": "final_answer"}))


def asks(asked: Asked) -> Turn | None:
    """Return the demo model's request for approval, if the user names an allowed tool of a hosted MCP server."""
    text = last_user_text(asked.fresh).lower()
    for server in asked.body.get("tools") or ():
        allowed = server.get("allowed_tools") if server.get("type") == "mcp" else None
        names = [str(name) for name in allowed] if isinstance(allowed, list) else []
        for name in names:
            if name.lower() in text:
                return Turn(output=(_listed(server, names), _request(server, name)))
    return None


def _call(request: Json) -> Json:
    told = {name: request[name] for name in ("server_label", "name", "arguments")}
    return {"type": "mcp_call", **told, "approval_request_id": request["id"]}


def _listed(server: Json, names: list[str]) -> Json:
    tools = [{"name": name, "input_schema": {"type": "object"}, "annotations": None} for name in names]
    return {"type": "mcp_list_tools", "server_label": server["server_label"], "tools": tools}


def _request(server: Json, name: str) -> Json:
    return {
        "type": "mcp_approval_request",
        "server_label": server["server_label"],
        "name": name,
        "arguments": "{}",
    }
