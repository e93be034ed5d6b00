"""Threads and approvals belong to principals: nobody reads or answers another's, or can tell whether it exists."""

from typing import Any

import pytest

from agui_gate.config.settings import Settings
from tests.product.kit import CARD_TOOL, Product, product
from tests.product.shop import Shop, refund, script, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B22")]

ALICE = {"authorization": "Bearer secret-of-alice-0123456789"}
BOB = {"authorization": "Bearer secret-of-bob-0123456789"}
YES = {"approved": True}


def tokens() -> Settings:
    return Settings(tokens={"alice": "secret-of-alice-0123456789", "bob": "secret-of-bob-0123456789"})


async def test_another_principals_approval_is_the_same_404_as_none() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), settings=tokens()) as p:
        alice = p.chat(headers=ALICE)
        asked = await alice.say("refund A1")
        approval = asked.interrupts[0]["id"]
        for body in (YES, {"approved": False}, "yes"):
            theirs = await p.decide(approval, body, BOB)
            assert theirs == await p.decide("apr_nothing", body, BOB)
            assert theirs["status_code"] == 404
        assert (await p.get("/approvals", BOB))["approvals"] == []
        assert [a["id"] for a in (await p.get("/approvals", ALICE))["approvals"]] == [approval]
        theirs = await p.get(f"/threads/{alice.thread_id}", BOB)
        assert theirs == await p.get("/threads/nothing", BOB)
        assert theirs["status_code"] == 404
        decided = await p.decide(approval, YES, ALICE)
        assert (decided["status_code"], shop.orders) == (200, ["A1"])
        after = await p.decide(approval, YES, BOB)
        assert after["status_code"] == 404, "not a 409 that would say it is there"


@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
async def test_the_same_thread_id_of_two_principals_is_two_threads(tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), settings=tokens()) as p:
        alice = p.chat(headers=ALICE, tools=tools)
        asked = await alice.say("refund A1 for alice")
        p.emulator.load(script(refund("B1"), after="Hello Bob."))
        bob = p.chat(headers=BOB, tools=tools, thread_id=alice.thread_id)
        bob.messages += alice.messages  # he knows everything that she knows
        answers = [{"interruptId": ask["id"], "status": "resolved", "payload": YES} for ask in asked.interrupts]
        for call_id in asked.calls:
            bob.messages.append(
                {"id": f"b-{call_id}", "role": "tool", "toolCallId": call_id, "content": '{"accepted":true}'}
            )
        theirs = await bob.go(resume=answers)
        assert shop.refunds == []
        assert theirs[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        assert [a["arguments"]["order_id"] for a in (await p.get("/approvals", ALICE))["approvals"]] == ["A1"]
        assert "A1" in (await p.get("/approvals", ALICE))["approvals"][0]["arguments"].values()
        p.emulator.load([{"output": [{"type": "message", "text": "Done."}], "repeat": True}])
        done = (
            await alice.resume((asked.interrupts[0]["id"], YES))
            if asked.interrupts
            else await alice.answer((next(iter(asked.cards)), {"accepted": True}))
        )
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert users(p.inputs()[-1]) in ([], ["refund A1 for alice"])
        p.assert_clean()


@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_the_providers_id_is_no_way_into_anothers_thread(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode, settings=tokens()) as p:
        alice = p.chat(headers=ALICE)
        asked = await alice.say("refund A1")
        entry = p.emulator.accepted[-1]
        provider = p.inputs()[-1].get("conversation") or entry.response_id
        assert provider is not None
        bob = p.chat(headers=BOB, thread_id=provider)
        await bob.resume((asked.interrupts[0]["id"], YES))
        await bob.answer((asked.interrupts[0]["toolCallId"], YES))
        assert shop.refunds == []
        done = await alice.resume((asked.interrupts[0]["id"], YES))
        assert (done.text, shop.orders) == ("Done.", ["A1"])


ROUTES = [
    ("POST", "/"),
    ("POST", "/agents/support"),
    ("GET", "/agents"),
    ("GET", "/agents/support/capabilities"),
    ("GET", "/approvals"),
    ("POST", "/approvals/apr_x"),
    ("GET", "/threads/t"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("token", [None, "Bearer wrong", "Basic secret-of-alice-0123456789", "Bearer"])
async def test_every_route_asks_who_it_is(method: str, path: str, token: str | None) -> None:
    async with product(settings=tokens()) as p:
        headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": token})
        response = await p.client.request(method, p.url + path, content=b"{}", headers=headers)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "unauthorized"
        assert "secret" not in response.text


async def test_tools_know_their_principal() -> None:
    from agui_gate import ToolContext, tool

    seen: list[tuple[str, str]] = []

    @tool(gate=True)
    async def whoami(ctx: ToolContext) -> str:
        """Who."""
        seen.append((ctx.principal, ctx.thread_id))
        return ctx.principal

    turn = script({"type": "function_call", "name": "whoami", "arguments": {}})
    async with product([whoami], turn, settings=tokens()) as p:
        await run_for(p, ALICE, seen, turn)
        await run_for(p, BOB, seen, turn)
    assert seen == [("alice", "same"), ("bob", "same")]


async def run_for(p: Product, who: dict[str, str], seen: Any, turn: Any) -> None:
    p.emulator.load(turn)
    chat = p.chat(headers=who, thread_id="same")
    asked = await chat.say("who am I?")
    done = await chat.resume((asked.interrupts[0]["id"], YES))
    assert done.text == "Done."
