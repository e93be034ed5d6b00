"""Says what to type where a server refuses a run because of its address or for want of a token."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from agui_gate.cli.terminal.layout import whole_line
from agui_gate.client import ClientError, Limits, Refused
from agui_gate.client.connection import Connection

MOST_NAMES = 10
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


async def explained(error: ClientError, url: str, headers: Mapping[str, str]) -> str:
    """Returns what went wrong, in a sentence that ends with what to type, if that is known."""
    if not isinstance(error, Refused):
        return error.message
    status = error.http_status
    if status in (401, 403):
        if any(name.lower() == "authorization" for name in headers):
            return f"The server refuses this token ({status}). Check --header 'Authorization: …'."
        return f"The server requires a token ({status}). Add --header 'Authorization: Bearer TOKEN'."
    if 300 <= status < 400:
        fix = f"Type: {_typed(slashed)}" if (slashed := _slashed(url)) else "Pass the address it redirects to."
        return f"{url} redirects ({status}). {fix}"
    if status in (404, 405):
        return f"There is no AG-UI agent at {url} ({status}). {await _elsewhere(url, headers)}"
    return error.message


def _typed(url: str) -> str:
    return whole_line(f"agui-gate chat {url}")


def _slashed(url: str) -> str:
    """Returns the address with a slash at its end; "" if it has one."""
    parts = urlsplit(url)
    return "" if parts.path.endswith("/") else urlunsplit(parts._replace(path=f"{parts.path}/"))


async def _elsewhere(url: str, headers: Mapping[str, str]) -> str:
    """Returns where an agent may be: an agui-gate is asked which it has."""
    parts = urlsplit(url)
    origin = urlunsplit((parts.scheme, parts.netloc, "/", "", ""))
    for place in dict.fromkeys((url, origin)):
        connection = Connection(place, headers, Limits(connect=5.0, event=1024 * 1024))
        try:
            names = _names(await connection.asked("GET", "/agents"))
        except ClientError:
            names = []
        finally:
            await connection.aclose()
        if names:
            return f"This server has {', '.join(names)}. Type: {_typed(f'{connection.base}/agents/{names[0]}')}"
    if slashed := _slashed(url):
        return f"Try it with a slash at its end: {_typed(slashed)}"
    return "Check its path: it must be the address that accepts runs (POST)."


def _names(told: object) -> list[str]:
    """Returns the agents' names that can be typed as they are."""
    agents = told.get("agents") if isinstance(told, dict) else None
    listed = [agent.get("name") for agent in agents if isinstance(agent, dict)] if isinstance(agents, list) else []
    return [name for name in listed if isinstance(name, str) and _NAME.fullmatch(name)][:MOST_NAMES]
