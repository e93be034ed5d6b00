"""Providers that fail: one error with the right code and a safe text, one retry at most, and a thread that goes on."""

from typing import Any

import pytest

from agui_gate_adapters.testkit.agui import Stream
from agui_gate_adapters.testkit.conformance.ground import Shop, Suite, call, say, turn

Json = dict[str, Any]

SECRET = "sk-live-0123456789 customer data"  # noqa: S105 it stands for one
HALF = {
    "type": "message",
    "deltas": ["Half ", "of ", *"an answer that is long"],
    "text": "Half of an answer that is long",
}
AT_ONCE: dict[str, tuple[Json, str]] = {
    "a wrong key": ({"kind": "status", "status": 401}, "provider_auth"),
    "no permission": ({"kind": "status", "status": 403}, "provider_auth"),
    "a bad request": ({"kind": "status", "status": 400}, "provider_rejected"),
    "not found": ({"kind": "status", "status": 404}, "provider_rejected"),
    "too large": ({"kind": "status", "status": 413}, "provider_rejected"),
    "a long wait": ({"kind": "status", "status": 429, "retry_after": 60}, "rate_limited"),
}
"""Failures that a retry can't help."""
ONCE_MORE: dict[str, tuple[Json, str]] = {
    "429": ({"kind": "status", "status": 429, "retry_after": 0}, "rate_limited"),
    "500": ({"kind": "status", "status": 500, "retry_after": 0}, "provider_unavailable"),
    "502 as HTML": ({"kind": "html", "status": 502, "retry_after": 0}, "provider_unavailable"),
    "503": ({"kind": "status", "status": 503, "retry_after": 0}, "provider_unavailable"),
    "529": ({"kind": "status", "status": 529, "retry_after": 0}, "provider_unavailable"),
    "408": ({"kind": "status", "status": 408, "retry_after": 0}, "provider_unavailable"),
    "cut at once": ({"kind": "cut", "after_events": 0}, "provider_unavailable"),
    "cut in the first line": ({"kind": "cut", "after_bytes": 3}, "provider_unavailable"),
    "200 as HTML": ({"kind": "html", "status": 200}, "provider_unavailable"),
    "an error as the first event": ({"kind": "error_event", "after_events": 0}, "provider_unavailable"),
}
"""Failures before the first token: tried once more."""
MIDDLE: dict[str, tuple[Json, str]] = {
    "reset": ({"kind": "cut", "after_events": 7}, "provider_unavailable"),
    "a clean end without an end": ({"kind": "cut", "after_events": 7, "clean": True}, "provider_unavailable"),
    "an error event": ({"kind": "error_event", "after_events": 7}, "provider_unavailable"),
    "a flat error event": ({"kind": "error_event", "after_events": 7, "shape": "flat"}, "provider_unavailable"),
    "failed": ({"kind": "failed", "after_events": 7}, "provider_unavailable"),
}
"""Failures after the first token: never tried again."""


class Failures(Suite):
    """One RUN_ERROR; nothing of the provider's own words; the next turn works."""

    @pytest.mark.parametrize("kind", AT_ONCE)
    async def test_what_a_retry_can_not_help_is_told_at_once(self, kind: str) -> None:
        """B19."""
        fault, code = AT_ONCE[kind]
        async with self.ground([], _failing(fault)) as ground:
            client = ground.client()
            self._check_error(await client.say("hello"), code)
            assert len(ground.requests) == 1
            assert (await client.say("once more")).text == "Back."
            assert ground.newest.users == ["hello", "once more"]

    @pytest.mark.parametrize("kind", ONCE_MORE)
    async def test_before_the_first_token_it_is_tried_once_more(self, kind: str) -> None:
        """B19: once, not more."""
        fault, code = ONCE_MORE[kind]
        async with self.ground([], _failing({**fault, "times": 3})) as ground:
            client = ground.client()
            self._check_error(await client.say("hello"), code)
            assert len(ground.requests) == 2
            assert (await client.say("again")).text == "Back."
            assert len(ground.requests) == 4
            assert ground.newest.users == ["hello", "again"]

    async def test_an_answer_that_is_no_stream_is_not_read(self) -> None:
        """The right bytes as plain text: a proxy that collected them, perhaps. The next try may be better."""
        async with self.ground([], [turn(say("Lost."), fault={"kind": "content_type"}), turn(say("Back."))]) as ground:
            assert (await ground.client().say("hello")).text == "Back."
            assert len(ground.requests) == 2

    @pytest.mark.parametrize("kind", MIDDLE)
    async def test_after_the_first_token_it_is_not(self, kind: str) -> None:
        """B19, S30: what was said stays said, and the next turn is legal."""
        fault, code = MIDDLE[kind]
        if fault.get("clean") and not self.says_end:
            pytest.skip("this provider does not say where an answer ends")
        turns = [turn(HALF, fault=_with_private_words(fault), when={"user": "hello"}), turn(say("Back."), repeat=True)]
        async with self.ground([], turns) as ground:
            client = ground.client()
            failed = await client.say("hello")
            self._check_error(failed, code)
            assert failed.text.startswith("Half")
            assert len(ground.requests) == 1
            assert (await client.say("go on")).text == "Back."

    @pytest.mark.parametrize("after", range(3, 10))
    async def test_a_cut_in_the_middle_of_arguments_runs_nothing(self, after: int) -> None:
        """B25: not even where the pieces so far happen to be JSON; each chip ends, and the next turn is legal."""
        if self.object_arguments:
            pytest.skip("arguments come whole on this wire")
        shop = Shop()
        item = {**call("search"), "arguments": '{"q":"ada lovelace"}', "deltas": list('{"q":"ada lovelace"}')}
        cut = {"kind": "cut", "after_events": after, "times": 2}
        turns = [turn(item, fault=cut, when={"user": "search"}), turn(say("Back."), repeat=True)]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            failed = await client.say("search")
            assert (failed.error, shop.searches) == ("provider_unavailable", [])
            assert failed.results.keys() == failed.calls.keys()
            assert (await client.say("well?")).text == "Back."

    async def test_a_limit_in_the_middle_of_arguments_runs_nothing(self) -> None:
        """B25: the answer was cut by a token limit."""
        shop = Shop()
        if not self.finish_reason:
            pytest.skip("this provider doesn't say why an answer ended")
        half = {**call("search"), "arguments": {"q": "ad"} if self.object_arguments else '{"q": "ad'}
        turns = [turn(say("Let me see."), half, status="incomplete"), turn(say("Back."), repeat=True)]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            stopped = await client.say("search")
            assert (stopped.text, shop.searches) == ("Let me see.", [])
            assert stopped.results.keys() == stopped.calls.keys()
            assert all("cut off" in said for said in stopped.results.values())
            assert (await client.say("well?")).text == "Back."

    async def test_half_a_character_harms_nobody(self) -> None:
        """The connection drops inside a UTF-8 character."""
        text = {"type": "message", "text": "🌞🌞🌞🌞", "deltas": ["🌞🌞", "🌞🌞"]}
        for after in range(400, 700, 37):
            fault = {"kind": "cut", "after_bytes": after, "times": 2}
            async with self.ground([], [turn(text, fault=fault), turn(say("Back."), repeat=True)]) as ground:
                client = ground.client()
                failed = await client.say("hello")
                assert failed.error in ("provider_unavailable", None)
                assert "\ufffd" not in failed.text
                assert (await client.say("go on")).text

    def _check_error(self, stream: Stream, code: str) -> None:
        assert stream.error == code, stream[-1]
        (failure,) = self.failures(stream)
        for word in ("sk-live", "customer data", "<html", "Traceback"):
            assert word not in stream.raw
        assert 10 < len(failure["message"]) < 200


def _with_private_words(fault: Json) -> Json:
    """The fault with a message that must not reach anybody."""
    return {**fault, "message": SECRET} if fault["kind"] in ("status", "error_event", "failed") else fault


def _failing(fault: Json) -> list[Json]:
    return [{"output": [], "fault": _with_private_words(fault)}, turn(say("Back."), repeat=True)]
