"""What pages are sent is held to the specification: servers write down each whole stream, and all are judged later.

Judging takes the time that the pages want, so it waits until they are done.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from agui_gate_adapters.testkit.spec import breaches
from tests.conforming import DEPARTURES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Recording:
    """An application as ``app`` is, which adds each run that it told to its end to the file ``to``."""

    def __init__(self, app: Any, to: Path) -> None:
        self._app, self._to = app, to

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        heard, told = bytearray(), bytearray()
        is_stream = is_cut = False

        async def listening() -> Message:
            nonlocal is_cut
            message = await receive()
            is_cut = is_cut or message["type"] == "http.disconnect"  # how a runtime stops a run
            heard.extend(message.get("body", b""))
            return message

        async def telling(message: Message) -> None:
            nonlocal is_stream
            if message["type"] == "http.response.start":
                is_stream = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
            elif is_stream:
                told.extend(message.get("body", b""))
            await send(message)
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            if is_stream and is_whole and not is_cut:
                self._write(scope["path"], heard, told)

        await self._app(scope, listening, telling)

    def _write(self, path: str, heard: bytearray, told: bytearray) -> None:
        asked = json.loads(heard)
        route = asked.get("method", path)  # CopilotKit's single route puts the request into an envelope
        line = {"input": asked.get("body", asked), "stream": told.decode(), "replays": route.endswith("/connect")}
        with self._to.open("a") as file:
            file.write(json.dumps(line) + "\n")


def assert_all_conform(*written: Path) -> None:
    """Fail with every rule that a stream of these files doesn't keep, but those that we knowingly don't."""
    lines = [json.loads(line) for file in written if file.exists() for line in file.read_text().splitlines()]
    assert lines, "no page was sent any stream"
    found = [one for line in lines for one in breaches(line["stream"], input=line["input"], replays=line["replays"])]
    broken = sorted({str(one) for one in found if one.rule not in DEPARTURES})
    assert not broken, f"of {len(lines)} streams some break the specification:\n" + "\n".join(broken)
