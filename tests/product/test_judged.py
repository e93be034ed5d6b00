"""Judged = shown = recorded = edited = run (T1, T3), through the whole product."""

import json
import sqlite3
import uuid
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agui_gate import Gate, Tool, tool
from agui_gate.core.approvals import Decision, State
from agui_gate.stores import open_store
from agui_gate_adapters.testkit import Emulator
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.shop import call, calls, outputs, script, status
from tests.requirements import shows

pytestmark = pytest.mark.anyio
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])

Json = dict[str, Any]
YES = {"approved": True}
BIG = 9007199254740993


class Options(BaseModel):
    force: bool = True
    tags: list[str] = []


class Ops:
    """A gated `deploy` with all kinds of defaults; ``ran`` is what it was called with."""

    def __init__(self, **gate: Any) -> None:
        self.ran: list[Json] = []

        @tool(gate=Gate(**gate))
        def deploy(
            target: str,
            production: bool = True,
            amount: float = 1,
            options: Options = Options(),  # noqa: B008
            on: date = date(2026, 1, 1),
            key: Annotated[str, Field(default_factory=lambda: uuid.uuid4().hex)] = ...,  # type: ignore[assignment]
        ) -> str:
            """Deploy."""
            now = {"target": target, "production": production, "amount": amount}
            self.ran.append({**now, "options": options.model_dump(), "on": str(on), "key": key})
            return "deployed"

        self.tools = [deploy]


def ask(stream: Stream) -> tuple[str, Json, Json]:
    """What is asked: the id to answer, the arguments shown, and the schema of an edit."""
    if stream.interrupts:
        (asked,) = stream.interrupts
        schema = asked["responseSchema"]["properties"].get("editedArgs", {})
        return asked["id"], asked["metadata"]["arguments"], schema
    ((card_id, card),) = stream.cards.items()
    return card_id, card["function_arguments"], card.get("function_parameters", {})


async def answer(chat: Chat, asked: Stream, edited: Json | None = None) -> Stream:
    """Approve, with an edit or without, as the page of that style does."""
    answer_id = ask(asked)[0]
    if asked.interrupts:
        return await chat.resume((answer_id, YES if edited is None else {**YES, "editedArgs": edited}))
    edit = {} if edited is None else {"edited_arguments": edited}
    return await chat.answer((answer_id, {"accepted": True, **edit}))


async def record(p: Product) -> Json:
    (found,) = (await p.get("/approvals?state=all"))["approvals"]
    assert isinstance(found, dict)
    return found


@shows("T1")
@styles
async def test_what_a_gate_is_asked_about_is_shown_recorded_and_run(tools: list[Json]) -> None:
    seen: list[Json] = []
    ops = Ops(when=lambda a: seen.append(a) or a["production"] is True)  # type: ignore[func-returns-value]
    async with product(ops.tools, script(call("deploy", target="web", options={}))) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("deploy")
        _, shown, _ = ask(asked)
        assert shown == seen[0] == (await record(p))["arguments"]
        assert list(shown) == ["target", "production", "amount", "options", "on", "key"], "as the tool names them"
        assert shown | {"key": ""} == {
            "target": "web", "production": True, "amount": 1,
            "options": {"force": True, "tags": []}, "on": "2026-01-01", "key": "",
        }  # fmt: skip
        await answer(chat, asked)
        assert ops.ran == [shown]
        assert (await record(p))["effective_arguments"] == shown
        assert calls(p.inputs()[-1]) in ([], [("deploy", {"target": "web", "options": {}})])
        assert outputs(p.inputs()[-1]) == ["deployed"], "the model is not told of an edit that nobody made"
        p.assert_clean()


@shows("T1")
@pytest.mark.parametrize(
    "wrong",
    [{"production": "true"}, {"production": 1}, {"amount": "1_000"}, {"amount": "nan"}, {"options": {"force": "yes"}}],
    ids=str,
)
@conforms("TOOL-8")
async def test_what_would_be_coerced_is_nobodys_question_and_does_not_run(wrong: Json) -> None:
    ops = Ops(when=lambda a: a["production"] is True)
    async with product(ops.tools, script(call("deploy", target="web", **wrong))) as p:
        done = await p.chat().say("deploy")
        assert (done.interrupts, ops.ran, done.text) == ([], [], "Done.")
        (output,) = outputs(p.inputs()[-1])
        assert json.loads(output)["error"].startswith(f"Invalid arguments for deploy: {next(iter(wrong))}")


@shows("T1")
async def test_a_call_that_the_gate_lets_go_runs_with_what_the_gate_saw() -> None:
    seen: list[Json] = []

    async def when(arguments: Json) -> bool:
        seen.append(json.loads(json.dumps(arguments)))
        arguments["target"] = "elsewhere"
        return False

    ops = Ops(when=when)
    async with product(ops.tools, script(call("deploy", target="web"))) as p:
        assert (await p.chat().say("deploy")).interrupts == []
        assert ops.ran == seen


@shows("T1")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_predicate_that_fails_asks_and_the_server_lives(kind: str, error: type[BaseException]) -> None:
    def when(_: Json) -> bool:
        raise error

    async def later(_: Json) -> bool:
        raise error

    ops = Ops(when=when if kind == "sync" else later)
    async with product(ops.tools, script(call("deploy", target="web"))) as p:
        chat = p.chat()
        asked = await chat.say("deploy")
        assert len(asked.interrupts) == 1
        assert (await p.get("/healthz"))["status_code"] == 200
        await answer(chat, asked)
        assert len(ops.ran) == 1


@shows("T1")
@styles
@pytest.mark.parametrize(
    ("change", "left_out", "expected"),
    [
        ({"amount": 2}, [], {"amount": 2}),
        ({"amount": 2}, ["production", "options", "on", "key"], {"amount": 2}),
        ({"amount": 2, "options": {}}, ["key"], {"amount": 2}),
        ({}, ["amount"], {"amount": 1}),
        ({"amount": 1}, [], {"amount": 1}),
        ({}, [], {}),
    ],
    ids=str,
)
async def test_an_edit_may_name_a_default_or_leave_it_out(
    tools: list[Json], change: Json, left_out: list[str], expected: Json
) -> None:
    ops = Ops(editable=["amount", "key"])
    async with product(ops.tools, script(call("deploy", target="web", amount=5))) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("deploy")
        _, shown, _ = ask(asked)
        edited = {k: v for k, v in {**shown, **change}.items() if k not in left_out}
        await answer(chat, asked, edited)
        assert ops.ran == [{**shown, **expected}], "a key that is made anew each time is the one that was shown"
        assert (await record(p))["effective_arguments"] == ops.ran[0]


@shows("T1")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"target": None}, "target: Input should be a valid string"),
        ({"amount": "5"}, "amount: Input should be a valid number"),
        ({"production": False}, "these arguments may not be edited: production"),
        ({"options": {"force": False}}, "these arguments may not be edited: options"),
        ({"nothing": 1}, "nothing: Extra inputs are not permitted"),
    ],
    ids=str,
)
async def test_an_edit_is_held_to_the_schema_and_to_the_gate(change: Json, says: str) -> None:
    ops = Ops(editable=["amount"])
    async with product(ops.tools, script(call("deploy", target="web"))) as p:
        chat = p.chat()
        asked = await chat.say("deploy")
        again = await answer(chat, asked, {**ask(asked)[1], **change})
        assert says in again.interrupts[0]["message"]
        assert ops.ran == []
        await answer(chat, again)
        assert len(ops.ran) == 1


@shows("B11")
async def test_an_edit_without_a_required_argument_says_which() -> None:
    ops = Ops(editable=["amount"])
    async with product(ops.tools, script(call("deploy", target="web"))) as p:
        asked = await p.chat().say("deploy")
        refused = await p.decide(ask(asked)[0], {**YES, "edited_arguments": {"amount": 5}})
        assert (refused["status_code"], refused["error"]["message"]) == (
            422,
            "The edit was refused: it gives all arguments, and target is missing.",
        )


@shows("T1", "B2")
@pytest.mark.parametrize("issued", [True, False], ids=["as issued", "as shown"])
async def test_an_answer_may_name_the_arguments_as_issued_or_as_shown(issued: bool) -> None:
    ops = Ops()
    async with product(ops.tools, script(call("deploy", target="web"))) as p:
        chat = p.chat()
        asked = await chat.say("deploy")
        arguments = {"target": "web"} if issued else ask(asked)[1]
        for claim in ({"target": "other"}, arguments):
            item = {"id": ask(asked)[0], "name": "deploy", "arguments": claim, "approved": True}
            chat.messages.append({"id": f"u{claim}", "role": "user", "content": "", "function_approvals": [item]})
            assert ops.ran == []
            await chat.go()
        assert len(ops.ran) == 1


@shows("T3")
@styles
async def test_integers_that_a_browser_would_round_are_shown_and_edited_as_text(tools: list[Json]) -> None:
    """The card showed …992, the tool ran …993, and an edit of another field was refused."""
    ran: list[Any] = []

    @tool(gate=Gate(editable=["note", "to"]))
    def pay(account: int, note: str = "", to: list[int] | None = None) -> str:
        """Pay."""
        ran.append((account, note, to))
        return "paid"

    for edit, expected in (
        ({"note": "x"}, (BIG, "x", [-BIG, 5])),
        ({"to": [str(-BIG), str(2**70)]}, (BIG, "", [-BIG, 2**70])),
        ({"to": None}, (BIG, "", None)),
    ):
        async with product([pay], script(call("pay", account=BIG, to=[-BIG, 5]))) as p:
            chat = p.chat(tools=tools)
            asked = await chat.say("pay")
            _, shown, schema = ask(asked)
            assert shown == {"account": str(BIG), "note": "", "to": [str(-BIG), 5]}
            assert schema["properties"]["account"]["type"] == ["integer", "string"]
            assert (await record(p))["arguments"] == shown
            await answer(chat, asked, {**shown, **edit})
            assert ran.pop() == expected


@shows("T3")
async def test_a_text_of_digits_stays_a_text_and_a_changed_number_a_change() -> None:
    ran: list[Any] = []

    @tool(gate=Gate(editable=["note"]))
    def pay(account: int, note: str) -> str:
        """Pay."""
        ran.append((account, note))
        return "paid"

    async with product([pay], script(call("pay", account=BIG, note="x"))) as p:
        chat = p.chat()
        asked = await chat.say("pay")
        for rounded in (BIG - 1, str(BIG - 1)):
            asked = await answer(chat, asked, {"account": rounded, "note": "y"})
            assert "may not be edited: account" in asked.interrupts[0]["message"]
        await answer(chat, asked, {"account": str(BIG), "note": str(BIG)})
        assert ran == [(BIG, str(BIG))]


@shows("T1")
async def test_a_question_shows_what_hides_in_an_argument() -> None:
    ops = Ops(message="Deploy {target} ({amount})?")
    async with product(ops.tools, script(call("deploy", target="\u202eevil\u200b é 😀", amount=2))) as p:
        (asked,) = (await p.chat().say("deploy")).interrupts
        assert asked["message"] == "Deploy ⟦U+202E⟧evil⟦U+200B⟧ é 😀 (2)?"
        assert asked["metadata"]["arguments"]["target"] == "\u202eevil\u200b é 😀", "the value itself is untouched"


def changed(description: str, *, idempotent: bool = False) -> tuple[Tool, list[float]]:
    """The tool `pay`, as it is with that description of its argument."""
    ran: list[float] = []

    def pay(amount: Annotated[float, Field(description=description)]) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    return Tool(pay, gate=True, idempotent=idempotent), ran


@shows("T2")
async def test_a_tool_that_changed_since_it_was_asked_is_not_run(tmp_path: Path) -> None:
    store, emulator = f"sqlite:///{tmp_path / 'gate.db'}", Emulator(script=script(call("pay", amount=5)))
    euros, ran_euros = changed("In euros")
    cents, ran_cents = changed("In cents")
    async with product([euros], store=store, emulator=emulator) as p:
        chat = p.chat()
        approval = ask(await chat.say("pay"))[0]
    async with product([cents], store=store, emulator=emulator) as p:
        chat.product, chat.url = p, p.url
        again = await chat.resume((approval, YES))
        assert "pay has changed since this was asked. Nothing was run." in again.interrupts[0]["message"]
        refused = await p.decide(approval, YES)
        assert (refused["status_code"], refused["error"]["code"]) == (422, "approval_refused")
        assert ran_cents == []
    async with product([euros], store=store, emulator=emulator) as p:
        chat.product, chat.url = p, p.url
        await chat.resume((approval, YES))
        assert ran_euros == [5]


@shows("T2")
async def test_a_tool_that_is_gone_for_good_closes_its_question(tmp_path: Path) -> None:
    store, emulator = f"sqlite:///{tmp_path / 'gate.db'}", Emulator(script=script(call("pay", amount=5)))
    async with product([changed("")[0]], store=store, emulator=emulator) as p:
        chat = p.chat()
        approval = ask(await chat.say("pay"))[0]
    async with product([], store=store, emulator=emulator) as p:
        chat.product, chat.url = p, p.url
        (result,) = (await chat.resume((approval, YES))).results.values()
        assert json.loads(result) == {"status": "error", "error": "There is no tool called pay."}


@shows("T2")
@pytest.mark.parametrize("same", [True, False])
async def test_an_interrupted_call_is_only_repeated_by_the_tool_that_it_was_for(tmp_path: Path, same: bool) -> None:
    store, emulator = f"sqlite:///{tmp_path / 'gate.db'}", Emulator(script=script(call("pay", amount=5)))
    before, _ = changed("In euros", idempotent=True)
    async with product([before], store=store, emulator=emulator) as p:
        chat = p.chat()
        approval = ask(await chat.say("pay"))[0]
    left = open_store(store)
    await left.start()  # what is left when a process dies at work
    await left.move(approval, State.CLAIMED, decision=Decision(approved=True, by="local", way="http"))
    await left.aclose()
    after, ran = changed("In euros" if same else "In cents", idempotent=True)
    async with product([after], store=store, emulator=emulator) as p:
        chat.product, chat.url = p, p.url
        (result,) = (await chat.go()).results.values()
        assert (result, ran) == ("paid", [5]) if same else (status(result), ran) == ("unknown", [])


@shows("T2")
async def test_what_was_asked_before_this_was_recorded_still_runs(tmp_path: Path) -> None:
    store, emulator = f"sqlite:///{tmp_path / 'gate.db'}", Emulator(script=script(call("pay", amount=5)))
    before, _ = changed("In euros")
    async with product([before], store=store, emulator=emulator) as p:
        chat = p.chat()
        approval = ask(await chat.say("pay"))[0]
    with closing(sqlite3.connect(tmp_path / "gate.db")) as db, db:
        db.execute("""UPDATE approvals SET schema_digest = NULL, arguments = '{"amount":"5"}'""")
        db.execute("DELETE FROM approval_events")  # which is younger still
    after, ran = changed("In cents")
    async with product([after], store=store, emulator=emulator) as p:
        chat.product, chat.url = p, p.url
        await chat.resume((approval, YES))
        assert ran == [5]
