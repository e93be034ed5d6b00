"""`?view=card`: what cards need is in one answer, bounded as any list, and all of it the principal's own."""

from pathlib import Path
from typing import Any

import pytest

from agui_gate import Gate, tool
from agui_gate.config.settings import Settings
from agui_gate.stores import cursor
from tests.product.kit import product
from tests.product.shop import Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T4")]

ALICE, BOB = {"authorization": "Bearer A"}, {"authorization": "Bearer B"}
TWO = Settings(tokens="alice:A,bob:B")
TWICE = [{"output": [refund()]}, {"output": [refund()]}, {"output": [say("Done.")], "repeat": True}]
EDIT_OF_THE_ORDER = {"approved": True, "edited_arguments": {"order_id": "B2", "amount": 20}}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"


async def test_a_card_has_the_schema_and_what_ran_and_what_was_refused(store: str) -> None:
    async with product(Shop(editable=["amount"]).tools, TWICE, store=store) as p:
        chat = p.chat()
        await chat.say("refund A1")
        (first,) = (await p.get("/approvals?view=card"))["approvals"]
        assert (first["already_ran"], first["refused"], first["editable"]) == ([], None, ["amount"])
        await p.decide(first["id"], {"approved": True})
        await chat.say("refund A1 again")
        (record,) = (await p.get("/approvals"))["approvals"]
        refused = await p.decide(record["id"], EDIT_OF_THE_ORDER)
        assert refused["status_code"] == 422
        (card,) = (await p.get("/approvals?view=card"))["approvals"]
        assert {name: card[name] for name in record} == record, "a card is a record, and more"
        assert list(card["schema"]["properties"]) == ["order_id", "amount"]
        assert card["schema"]["properties"]["amount"] == {"type": "number"}
        assert card["refused"] == "The edit was refused."
        (ran,) = card["already_ran"]
        assert (ran["state"], ran["arguments"], ran["replaced"]) == ("done", {"order_id": "A1", "amount": 20}, False)
        assert card["thread"] == {"title": "refund A1", "agent": record["agent"]}
        alone = await p.get(f"/approvals/{card['id']}?view=card")
        assert alone.pop("status_code") == 200
        assert alone == card


async def test_nothing_of_others_is_in_a_card(store: str) -> None:
    """Also where two people's threads have the same id: what ran, or was refused, in the other's is not told."""
    async with product(Shop().tools, TWICE, store=store, settings=TWO) as p:
        for headers in (ALICE, BOB):
            await p.chat(thread_id="same", headers=headers).say("refund A1")
        (hers,) = (await p.get("/approvals", ALICE))["approvals"]
        await p.decide(hers["id"], EDIT_OF_THE_ORDER, ALICE)
        await p.decide(hers["id"], {"approved": True}, ALICE)
        (his,) = (await p.get("/approvals?view=card", BOB))["approvals"]
        assert his["id"] != hers["id"]
        assert (his["already_ran"], his["refused"]) == ([], None)
        assert (await p.get(f"/approvals/{hers['id']}?view=card", BOB))["status_code"] == 404
        assert (await p.get("/approvals?view=card"))["status_code"] == 401


def wide(letters: str) -> Any:
    @tool(gate=Gate())
    def wide(a: str) -> str:
        return a

    wide.parameters["description"] = letters
    return wide


async def test_a_page_is_as_large_as_any_other(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schemas count: what does not fit is on the next page, and nothing is left out or told twice."""
    calls = [call("wide", a=str(number)) for number in range(5)]
    async with product([wide("x" * 1000)], script(*calls), store=store) as p:
        await p.chat().say("all")
        ids = [record["id"] for record in (await p.get("/approvals"))["approvals"]]
        monkeypatch.setattr(cursor, "PAGE_BYTES", 4500)
        found: list[str] = []
        pages, at = 0, ""
        while pages == 0 or at:
            page = await p.get(f"/approvals?view=card&cursor={at}")
            found += [card["id"] for card in page["approvals"]]
            pages, at = pages + 1, page["next_cursor"]
        assert found == ids
        assert pages > 1
        assert (await p.get("/approvals?view=some"))["status_code"] == 422


async def test_calls_that_a_page_names_are_one_answer(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with product(Shop().tools, [{"output": [refund()], "repeat": True}], store=store, settings=TWO) as p:
        mine, deleted = p.chat(headers=ALICE), p.chat(headers=ALICE)
        for chat in (mine, deleted, p.chat(headers=BOB)):
            await chat.say("refund A1")
        cards = {one["thread_id"]: one for one in (await p.get("/approvals?view=card", ALICE))["approvals"]}
        first, second = cards[mine.thread_id], cards[deleted.thread_id]
        (his,) = (await p.get("/approvals", BOB))["approvals"]
        await p.decide(second["id"], {"approved": True}, ALICE)
        await p.client.delete(f"{p.url}/threads/{deleted.thread_id}", headers=ALICE)
        named = "&id=".join([second["id"], his["id"], "", "x" * 300, first["id"], first["id"]])
        said = await p.get(f"/approvals?view=card&id={named}", ALICE)
        assert said["approvals"] == [first]
        gone = {one["id"]: one["record"] for one in said["gone"]}
        assert gone.pop(second["id"])["state"] == "done", "what is kept of it"
        assert gone == {his["id"]: None, "": None, "x" * 300: None}
        monkeypatch.setattr(cursor, "PAGE_BYTES", 1)
        assert (await p.get(f"/approvals?id={first['id']}", ALICE))["approvals"], "one is always told"
        many = "&id=".join(map(str, range(101)))
        assert (await p.get(f"/approvals?id={many}", ALICE))["status_code"] == 422


async def test_a_call_whose_tool_is_not_here_has_no_schema(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'gate.db'}"
    async with product(Shop().tools, script(refund()), store=store) as p:
        await p.chat().say("refund A1")
    async with product([], script(), store=store) as p:
        (card,) = (await p.get("/approvals?view=card"))["approvals"]
        assert card["schema"] is None
        assert card["arguments"] == {"order_id": "A1", "amount": 20}
