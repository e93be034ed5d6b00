"""Long conversations of which the model is sent a part: every request is legal, and people see all of it."""

from typing import Any

from agui_gate import Agent, LastRounds, LastTokens, Summary
from agui_gate_adapters.testkit.conformance.ground import Ground, Suite
from agui_gate_adapters.testkit.conformance.shop import Shop, refund, say, search, think, turn

Json = dict[str, Any]

NOTES = {"user": "What came then:"}
"""A request that wants a summary."""


async def _window(ground: Ground, thread_id: str) -> Json | None:
    shown: Json = (await ground.http.get(f"{ground.url}/threads/{thread_id}")).json()
    window: Json | None = shown["window"]
    return window


class Windows(Suite):
    """`Agent(history=…)`."""

    async def test_the_newest_rounds_are_sent(self) -> None:
        """S28: reasoning, calls and results of a round go together, and so does what is asked about."""
        shop = Shop()
        thought = [think()] if self.reasons else []
        turns = [item for n in range(5) for item in (turn(*thought, search(str(n))), turn(say(f"Answer {n}.")))]
        turns += [turn(*thought, refund()), turn(say("Refunded."), repeat=True)]
        async with self.ground(shop.tools, turns, history=LastRounds(2)) as ground:
            client = ground.client()
            for n in range(5):
                assert (await client.say(f"question {n}")).text == f"Answer {n}."
                assert ground.newest.users == [f"question {m}" for m in range(max(0, n - 1), n + 1)]
                assert ground.newest.outputs == [f'["found {m}"]' for m in range(max(0, n - 1), n + 1)]
            asked = await client.say("refund it")
            assert (await client.decide(asked, approved=True)).text == "Refunded."
            assert ground.newest.users == ["question 4", "refund it"]
            assert shop.orders == ["A1"]
            assert (await _window(ground, client.thread_id)) == {
                "from": next(m["id"] for m in client.messages if m.get("content") == "question 4"),
                "then": None,
                "summary": None,
            }
            users = [m["content"] for m in client.messages if m["role"] == "user"]
            assert users == [*(f"question {n}" for n in range(5)), "refund it"]

    async def test_a_round_that_is_too_long_is_cut_between_answers(self) -> None:
        """What the user wants stays; so do the newest answers, each with its results."""
        shop = Shop()
        turns = [turn(search(f"{n}" * 300)) for n in range(8)]
        async with self.ground(shop.tools, [*turns, turn(say("Found."))], history=LastTokens(700)) as ground:
            client = ground.client()
            assert (await client.say("find them all")).text == "Found."
            assert ground.newest.users == ["find them all"]
            assert 0 < len(ground.newest.outputs) == len(ground.newest.calls) < 8
            assert ground.newest.outputs[-1].startswith('["found 777')
            window = await _window(ground, client.thread_id)
            assert window is not None
            assert window["then"] in {m["id"] for m in client.messages if m["role"] == "assistant"}

    async def test_what_is_not_sent_is_summarised_once(self) -> None:
        """The summary is kept in the journal; what it cost is the run's."""
        shop = Shop()
        answer = "A long answer. " * 20
        turns = [
            turn(say("Ada wants a refund of A1."), when=NOTES),
            *(item for n in range(3) for item in (turn(search(str(n))), turn(say(f"{answer}{n}")))),
            turn(say(f"{answer}Bye."), repeat=True),
        ]
        async with self.ground(shop.tools, turns, history=Summary(over=250, keep=100)) as ground:
            client = ground.client()
            for n in range(4):
                assert (await client.say(f"question {n}")).error is None
            summaries = [entry for entry in ground.requests if "What came then:" in str(entry.items)]
            assert len(summaries) == 1
            assert "Ada wants a refund of A1." in ground.newest.users[0]
            assert "question 0" not in "".join(ground.newest.users)
            window = await _window(ground, client.thread_id)
            assert window is not None
            assert window["summary"] == "Ada wants a refund of A1."

    async def test_a_summary_that_can_not_be_written_keeps_nobody_waiting(self) -> None:
        """The newest part is sent then, and the next turn tries again."""
        fault = {"kind": "status", "status": 400}
        turns = [
            turn(say("x"), when=NOTES, fault=fault),
            turn(say("x"), when=NOTES, fault=fault),
            turn(say("A long answer. " * 40), repeat=True),
        ]
        async with self.ground([], turns, history=Summary(over=250, keep=100)) as ground:
            client = ground.client()
            for n in range(3):
                assert (await client.say(f"question {n}")).text.startswith("A long answer.")
            assert ground.newest.users == ["question 2"]
            assert await _window(ground, client.thread_id) is None

    async def test_an_agent_that_is_sent_all_again(self) -> None:
        """The policy was taken away: the next request has the whole conversation, and so it is shown."""
        turns = [turn(say("Yes."), repeat=True)]
        async with self.ground([], turns, history=LastRounds(1)) as ground:
            client = ground.client()
            for text in ("one", "two"):
                await client.say(text)
            assert ground.newest.users == ["two"]
            assert await _window(ground, client.thread_id) is not None
            without: Agent = ground.agent
            object.__setattr__(without, "history", None)
            await client.say("three")
            assert ground.newest.users == ["one", "two", "three"]
            assert await _window(ground, client.thread_id) is None
