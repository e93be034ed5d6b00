"""Tools that need nobody: free ones in parallel, client tools, mistakes of the model, limits."""

import asyncio
import json

import agui_gate
from agui_gate import ToolContext, ToolError
from agui_gate_adapters.testkit.agui import CARD_TOOL
from agui_gate_adapters.testkit.conformance.ground import (
    COLOR,
    YES,
    Shop,
    Suite,
    call,
    refund,
    say,
    script,
    search,
    status,
    turn,
)


class Tools(Suite):
    """Calls and their outputs, in the order of the model's calls."""

    async def test_several_turns_of_tools(self) -> None:
        """S17, S23: each output reaches the model, once and in order."""
        shop = Shop()
        turns = [turn(search("a")), turn(say("And?"), search("b"), search("c")), turn(say("Three."), repeat=True)]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            stream = await client.say("search")
            assert stream.text == "And?Three."
            assert shop.searches == ["a", "b", "c"]
            assert list(stream.results.values()) == ['["found a"]', '["found b"]', '["found c"]']
            assert ground.newest.outputs == list(stream.results.values())
            again = await client.say("thanks")
            assert again.text == "Three."
            assert ground.newest.outputs == list(stream.results.values())
            assert ground.newest.users == ["search", "thanks"]

    async def test_a_client_a_gated_and_a_free_tool_in_one_turn(self) -> None:
        """B4, B15: the free one runs at once, the others wait, and each gets its own output."""
        shop = Shop()
        picked = call("pick_color", hint="bright")
        async with self.ground(shop.tools, script(say("Let me see."), picked, refund(), search())) as ground:
            client = ground.client(tools=[COLOR])
            first = await client.say("refund and paint")
            assert shop.searches == ["ada"]
            (pick,) = [i for i, name in first.calls.items() if name == "pick_color"]
            second = await client.answer((pick, "green"))
            done = await client.decide(second, approved=True)
            assert (done.text, shop.orders) == ("Done.", ["A1"])
            color, refunded, found = ground.newest.outputs
            assert (color, json.loads(refunded)["order"], json.loads(found)) == ("green", "A1", ["found ada"])

    async def test_a_client_tool_and_a_card_of_a_client_of_1_0(self) -> None:
        """TOOL-4: the gated call is held back until it is decided, and the provider hears of all three.

        What waits is not listed (TOOL-6) unless the operator says that every client takes the list.
        """
        shop = Shop()
        picked = call("pick_color", hint="bright")
        turns = script(say("Let me see."), picked, refund(), search())
        async with self.ground(shop.tools, turns, departs=["TOOL-6"]) as ground:
            client = ground.client(tools=[COLOR, CARD_TOOL], extra={"protocolVersion": "1.0"})
            asked = await client.say("refund and paint")
            assert sorted(asked.calls.values()) == ["confirm_changes", "pick_color", "search"]
            (pick,) = [i for i, name in asked.calls.items() if name == "pick_color"]
            done = await client.answer((pick, "green"), *((card, YES) for card in asked.cards))
            assert (list(done.calls.values()), list(done.results)) == (["refund"], list(done.calls))
            assert (done.text, shop.orders) == ("Done.", ["A1"])
            color, refunded, found = ground.newest.outputs
            assert (color, json.loads(refunded)["order"], json.loads(found)) == ("green", "A1", ["found ada"])
            assert "confirm_changes" not in json.dumps([entry.items for entry in ground.requests])
            assert (await client.say("thanks")).text == "Done."

    async def test_a_tool_that_fails_tells_the_model(self) -> None:
        """The run goes on."""

        @agui_gate.tool
        def broken() -> str:
            """Always fails."""
            raise ToolError("out of stock")

        async with self.ground([broken], script(call("broken"))) as ground:
            stream = await ground.client().say("try")
            assert stream.text == "Done."
            assert "out of stock" in ground.newest.outputs[0]

    async def test_mistakes_of_the_model_are_told_to_it(self) -> None:
        """A tool that does not exist, arguments that don't fit, arguments that are no JSON: an output each, no run."""
        shop = Shop()
        broken = {"type": "function_call", "name": "search", "arguments": '{"q": "ad'}
        third = call("search", q=5) if self.object_arguments else broken
        items = (call("nothing_of_ours", x=1), call("search", wrong=1), third)
        async with self.ground(shop.tools, script(*items)) as ground:
            client = ground.client()
            stream = await client.say("go")
            assert (stream.text, shop.searches) == ("Done.", [])
            assert stream.results.keys() == stream.calls.keys()
            assert len(ground.newest.outputs) == 3
            assert (await client.say("well")).text == "Done."

    async def test_a_limit_closes_every_call(self) -> None:
        """S23: stopping at `max_turns` leaves nothing open."""
        shop = Shop()
        turns = [turn(search("a")), turn(search("b")), turn(say("Back."), repeat=True)]
        async with self.ground(shop.tools, turns, max_turns=2) as ground:
            client = ground.client()
            stopped = await client.say("go")
            assert stopped.error == "limit_reached"
            assert stopped.results.keys() == stopped.calls.keys()
            assert (await client.say("go on")).text == "Back."

    async def test_cancelling_in_the_middle_of_a_tool(self) -> None:
        """S29, S30, B9: every open call gets a result, and the next turn is legal."""
        begun, runs = asyncio.Event(), []

        @agui_gate.tool
        async def slow(job: str, ctx: ToolContext) -> str:
            """Takes for ever."""
            runs.append(job)
            begun.set()
            await asyncio.Event().wait()
            return job

        turns = [turn(say("Working."), call("slow", job="a"), call("slow", job="b")), turn(say("Back."), repeat=True)]
        async with self.ground([slow], turns) as ground, asyncio.timeout(20):
            client = ground.client()
            running = asyncio.create_task(client.say("work"))
            await begun.wait()
            reply = await ground.http.post(f"{ground.url}/threads/{client.thread_id}/cancel")
            assert reply.status_code == 200
            stopped = await running
            assert stopped.error == "abort"
            assert stopped.results.keys() == stopped.calls.keys()
            assert [status(content) for content in stopped.results.values()] == ["cancelled", "cancelled"]
            assert (await client.say("and now?")).text == "Back."
            assert (len(ground.newest.outputs), runs) == (2, ["a", "b"])

    async def test_cancelling_a_client_of_1_0_that_has_calls_of_its_own(self) -> None:
        """LIFE-4, TOOL-4: the run was stopped and did not fail; what is the page's is not answered for it."""
        begun, shop = asyncio.Event(), Shop()

        @agui_gate.tool
        async def slow(job: str) -> str:
            """Takes for ever."""
            begun.set()
            await asyncio.Event().wait()
            return job

        items = (call("pick_color", hint="bright"), refund(), call("slow", job="a"))
        turns = [turn(say("Working."), *items), turn(say("Back."), repeat=True)]
        async with self.ground([*shop.tools, slow], turns) as ground, asyncio.timeout(20):
            client = ground.client(tools=[COLOR, CARD_TOOL], extra={"protocolVersion": "1.0"})
            running = asyncio.create_task(client.say("work"))
            await begun.wait()
            reply = await ground.http.post(f"{ground.url}/threads/{client.thread_id}/cancel")
            assert reply.status_code == 200
            stopped = await running
            assert stopped[-1]["outcome"] == {"type": "cancelled"}
            assert {stopped.calls.get(i) for i in stopped.results}.isdisjoint({"pick_color", "confirm_changes"})
            said = await client.say("and now?")
            assert (said.text, shop.orders) == ("Back.", [])
            assert [status(content) for content in ground.newest.outputs] == ["cancelled", "cancelled", "cancelled"]
