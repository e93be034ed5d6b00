"""Tells a channel of Microsoft Teams of approvals, by a workflow that posts what comes to its webhook.

export GATE_SECRETS=whsec_… TEAMS_URL=https://….logic.azure.com/workflows/…
uvicorn teams:app --port 9000
"""

import json
import os
import urllib.request

from hooks import Json, receiver, sentence


def card(notice: Json) -> Json:
    """Returns an Adaptive Card. It opens the call and has no button that decides."""
    link = notice["data"].get("link")
    return {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": sentence(notice), "wrap": True}],
        "actions": [{"type": "Action.OpenUrl", "title": "Open it", "url": link}] if link else [],
    }


def tell(notice: Json) -> None:
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card(notice)}
    body = json.dumps({"type": "message", "attachments": [attachment]}).encode()
    post = urllib.request.Request(os.environ["TEAMS_URL"], body, {"content-type": "application/json"})  # noqa: S310 yours
    urllib.request.urlopen(post, timeout=8).close()  # noqa: S310 as above


app = receiver(tell, os.environ.get("GATE_SECRETS", "").split())
