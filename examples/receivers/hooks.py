"""Receives webhooks of agui-gate: verifies the signature (Standard Webhooks), leaves out what came before, and answers.

A receiver tells people and gives them a link. It decides nothing: who clicks a link logs in and sees the call.
"""

import base64
import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Json = dict[str, Any]
OLDEST = 300
"""Seconds by which the time of a request may differ."""
WORDS = {
    "asked": "waits for you",
    "reminder": "still waits",
    "escalated": "now waits for you, too",
    "handed_to": "was handed to you by a colleague",
    "break_glass": "was decided in an emergency",
    "decided": "was decided",
    "expired": "has expired",
    "orphaned": "was approved, and its server has stopped",
    "unknown": "was interrupted: look whether it took effect",
}


def is_signed(body: bytes, headers: Mapping[str, str], secrets: Sequence[str], now: float) -> bool:
    """Returns whether one of the secrets has signed this, a moment ago."""
    at, sent = headers.get("webhook-timestamp", ""), headers.get("webhook-signature", "")
    if not (at.isascii() and at.isdigit()) or abs(now - int(at)) > OLDEST:
        return False
    text = f"{headers.get('webhook-id', '')}.{at}.".encode() + body
    keys = (base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets)
    ours = [f"v1,{base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()}" for key in keys]
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in ours for other in sent.split(" "))


def sentence(notice: Json) -> str:
    """Returns what people read: one line, without arguments."""
    data, kind = notice["data"], notice["type"].removeprefix("approval.")
    if kind.startswith("deputy."):
        does = "may decide" if kind == "deputy.named" else "decides no more"
        return " ".join(f"{', '.join(data['to'])} {does} in the place of {data['owner']} until {data['until']}".split())
    said = f"{data.get('tool', 'A call')} of {data.get('asker', data['owner'])} {WORDS.get(kind, kind)}"
    if kind == "decided":
        said += f" ({data['state']}{' by ' + data['by'] if 'by' in data else ''})"
    return " ".join(said.split())


def receiver(tell: Callable[[Json], None], secrets: Sequence[str]) -> Starlette:
    """Returns the application. ``tell`` gets each notice, in a thread; if it raises, the notice comes again."""
    seen: OrderedDict[str, None] = OrderedDict()

    async def receive(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > 1_000_000:
                return Response(status_code=413)
        if not is_signed(body, request.headers, secrets, time.time()):
            return Response(status_code=401)
        if (name := request.headers["webhook-id"]) in seen:  # it is delivered at least once
            return Response(status_code=204)
        try:
            await run_in_threadpool(tell, json.loads(body))
        except Exception:
            return Response(status_code=502)
        seen[name] = None
        if len(seen) > 10_000:
            seen.popitem(last=False)
        return Response(status_code=204)

    return Starlette(routes=[Route("/", receive, methods=["POST"])])
