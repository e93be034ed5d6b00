"""Tests content that stays in the history: one request may be refused for it, never all that follow.

Clients send their whole history with every run, and the server keeps its own. So what can't be sent would otherwise
come again with each request. That is a picture that can't be read, a name that no tool can have, or a message against
the provider's policy.
"""

import json
from typing import Any

import pytest

from agui_gate_adapters.testkit.conformance.ground import SeenRequest, Shop, Suite, call, say, search, turn

Json = dict[str, Any]

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_FINE = [turn(say("Fine."), repeat=True)]
FORBIDDEN = "words that the provider does not like"


def _image(value: str, mime_type: str = "image/png", source: str = "data") -> Json:
    return {"type": "image", "source": {"type": source, "value": value, "mimeType": mime_type}}


UNREADABLE = {
    "broken base64": _image("@@@"),
    "another's label": _image(_PNG, "image/jpeg"),
    "no picture": _image("aGVsbG8="),
    "nothing": _image(""),
    "a file's address": _image("file:///etc/passwd", source="url"),
    "a script's address": _image("javascript:alert(1)", source="url"),
}
"""What the server sees by itself: the provider is never asked."""

REFUSED = {
    "a picture that was cut": _image(_PNG[:72]),
    "an address where nothing is": _image("https://pictures.invalid/a.png", source="url"),
}
"""What the provider alone can see. It may refuse that once."""

NAMES = ["functions.pay", "multi_tool_use.parallel", "a b", "x" * 200, "naïve", "$"]
"""Names that no provider takes for a tool: models invent some, and histories bring others."""


class Poison(Suite):
    """Attachments, names, roles and content that are refused."""

    @pytest.mark.parametrize("kind", UNREADABLE)
    async def test_an_attachment_that_can_not_be_one_is_never_sent(self, kind: str) -> None:
        """It is told in words, or sent as what its bytes are."""
        async with self.ground([], _FINE) as ground:
            client = ground.client(messages=[_user(UNREADABLE[kind])])
            assert (await client.go()).text == "Fine."
            assert (await client.say("and now?")).text == "Fine."

    @pytest.mark.parametrize("kind", REFUSED)
    async def test_an_attachment_that_is_refused_is_left_out(self, kind: str) -> None:
        """The same run goes on without it, and no later one asks again: say `MediaRefused` when you hear such a no."""
        async with self.ground([], _FINE, may_refuse=["media"]) as ground:
            client = ground.client(messages=[_user(REFUSED[kind])])
            assert (await client.go()).text == "Fine."
            refused = len(ground.emulator.refusals)
            assert (await client.say("and now?")).text == "Fine."
            assert len(ground.emulator.refusals) == refused
            assert any("What is this?" in text for text in SeenRequest(ground.requests[0].items).users)

    @pytest.mark.parametrize("name", NAMES)
    async def test_a_name_that_the_model_invents(self, name: str) -> None:
        """It is told that there is no such tool, and the conversation goes on."""
        shop = Shop()
        turns = [turn(call(name, q="x")), turn(say("Sorry.")), *_FINE]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            stream = await client.say("pay")
            assert stream.text == "Sorry."
            assert "There is no tool called" in next(iter(stream.results.values()))
            assert (await client.say("and now?")).text == "Fine."
            assert not shop.searches
            assert not shop.refunds

    @pytest.mark.parametrize("name", NAMES)
    async def test_a_name_in_a_history_from_elsewhere(self, name: str) -> None:
        """The call is told under a name that the provider takes."""
        history = [
            {"id": "u", "role": "user", "content": "pay"},
            {"id": "m", "role": "assistant", "toolCalls": [_call("c1", name), _call("c2", "search")]},
            {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "paid"},
            {"id": "r2", "role": "tool", "toolCallId": "c2", "content": "found"},
        ]
        async with self.ground(Shop().tools, _FINE) as ground:
            client = ground.client(messages=history)
            assert (await client.say("and now?")).text == "Fine."
            assert len({name for name, _ in ground.newest.calls}) == 2

    @pytest.mark.parametrize("name", [*NAMES, "search.orders"])
    async def test_a_tool_of_the_client_may_be_called_what_it_likes(self, name: str) -> None:
        """The client's call has the tool's own name, whatever the provider was told."""
        shop = Shop()
        tool = {"name": name, "description": "Theirs.", "parameters": {"type": "object", "properties": {}}}
        async with self.ground(shop.tools, _FINE) as ground:
            client = ground.client(tools=[tool])
            await client.say("hello")
            (advertised,) = ground.advertised - {"search", "refund", "ship"}
            ground.emulator.load([turn(call(advertised)), *_FINE])
            asked = await client.say("use it")
            ((call_id, called),) = asked.calls.items()
            assert called == name
            client.messages.append({"id": "r", "role": "tool", "toolCallId": call_id, "content": "green"})
            assert (await client.go()).text == "Fine."
            assert ground.newest.outputs == ["green"]

    @pytest.mark.parametrize("roles", ["context", "as_sent", "drop"])
    async def test_messages_of_the_application_anywhere(self, roles: Any) -> None:
        """First, between a call and its result, last: many templates take one, at the beginning."""
        system = {"role": "system", "content": "Be nice."}
        history = [
            {"id": "s1", **system},
            {"id": "u", "role": "user", "content": "find"},
            {"id": "m", "role": "assistant", "toolCalls": [_call("c1", "search")]},
            {"id": "s2", **system, "role": "developer"},
            {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "found"},
            {"id": "s3", **system},
        ]
        turns = [turn(search()), turn(say("Found.")), *_FINE]
        async with self.ground(Shop().tools, turns, client_roles=roles) as ground:
            client = ground.client(messages=history)
            assert (await client.say("find more")).text == "Found."
            client.messages.append({"id": "s4", **system, "content": "Be very nice."})
            assert (await client.go()).text == "Fine."
            assert (await client.say("thanks")).text == "Fine."

    async def test_what_is_against_the_policy_ends_one_run(self) -> None:
        """Say `ContentRefused`: the message is left out from then on, and people still see it."""
        async with self.ground([], _FINE, may_refuse=["policy"]) as ground:
            ground.emulator.flagged = (FORBIDDEN,)
            client = ground.client()
            assert (await client.say("hello")).text == "Fine."
            refused = await client.say(FORBIDDEN)
            assert refused.error in (None, "provider_rejected")
            assert (await client.say("and now?")).text == "Fine."
            assert (await client.say("really?")).text == "Fine."
            assert len(ground.emulator.refusals) <= 1
            assert [m["content"] for m in client.messages if m["role"] == "user"][1] == FORBIDDEN

    async def test_what_is_against_the_policy_in_an_older_message(self) -> None:
        """A history from elsewhere has it in the middle: two runs may fail of it, not more."""
        history = [
            {"id": "u1", "role": "user", "content": FORBIDDEN},
            {"id": "m1", "role": "assistant", "content": "Well."},
        ]
        async with self.ground([], _FINE, may_refuse=["policy"]) as ground:
            ground.emulator.flagged = (FORBIDDEN,)
            client = ground.client(messages=json.loads(json.dumps(history)))
            await client.say("one")
            await client.say("two")
            assert (await client.say("three")).text == "Fine."


def _user(part: Json) -> Json:
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}


def _call(call_id: str, name: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
