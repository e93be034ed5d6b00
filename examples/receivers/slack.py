"""Tells a Slack channel of approvals, by an incoming webhook of Slack.

export GATE_SECRETS=whsec_… SLACK_URL=https://hooks.slack.com/services/…
uvicorn slack:app --port 9000
"""

import json
import os
import urllib.request

from hooks import Json, receiver, sentence


def tell(notice: Json) -> None:
    text = sentence(notice).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if link := notice["data"].get("link"):
        text += f" <{link}|Open it>"
    body = json.dumps({"text": text}).encode()
    post = urllib.request.Request(os.environ["SLACK_URL"], body, {"content-type": "application/json"})  # noqa: S310 yours
    urllib.request.urlopen(post, timeout=8).close()  # noqa: S310 as above


app = receiver(tell, os.environ.get("GATE_SECRETS", "").split())
