"""Freezes: once one has answered, no call that it is about is let go, in whichever process."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agui_gate import Principal
from agui_gate.cli.program import program
from agui_gate.cli.store_access import user_name
from agui_gate.core.approvals import State
from agui_gate.core.freezes import Freeze
from agui_gate.errors import Frozen
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk
from tests.stores.support import ask, gated
from tests.stores.test_processes import PATIENCE_S, process

pytestmark = pytest.mark.anyio

ADA = Principal("ada", "acme")
PEOPLE: dict[str, Any] = {"ada": ADA, "plain": "bob"}
ALL = Freeze(reason="The till is checked.")


async def test_who_agrees_is_told_and_the_call_goes_on_waiting(store: FullStore) -> None:
    async with Desk(PEOPLE).open(store) as desk:
        approval_id = await desk.ask("ada")
        assert "frozen" not in (await desk.get("ada", f"/approvals/{approval_id}")).json()
        assert await store.freeze(ALL)
        answer = await desk.decide("ada", approval_id)
        assert answer.status == 403
        assert answer.json()["error"] | {"retry_after": None} == {
            "code": "frozen",
            "message": "This is frozen: The till is checked.",
            "retry_after": None,
        }
        one = f"/approvals/{approval_id}"
        thread = f"/threads/{(await desk.get('ada', one)).json()['thread_id']}"
        for path in (one, f"{one}?view=card", "/approvals", thread, f"{thread}?view=calls"):
            place, _, query = path.partition("?")
            view = (await desk.get("ada", place, query)).json()
            (view,) = view.get("calls") or view.get("approvals") or [view]
            assert (view["state"], view["frozen"]) == ("pending", "This is frozen: The till is checked.")
        resume = [{"interruptId": approval_id, "status": "resolved", "payload": {"approved": True}}]
        events = await desk.say("ada", "refund", resume=resume, messages=[])
        (refused,) = [event["value"] for event in events if event.get("name") == "agui-gate:answer_refused"]
        assert refused["message"] == "This is frozen: The till is checked."
        assert events[-1]["outcome"]["interrupts"][0]["id"] == approval_id
        assert desk.ran == []
        assert await store.freeze(ALL, lift=True)
        assert not await store.freeze(ALL, lift=True)
        assert (await desk.decide("ada", approval_id)).json()["state"] == "done"


async def test_a_frozen_call_can_be_rejected() -> None:
    async with Desk(PEOPLE).open() as desk:
        approval_id = await desk.ask("ada")
        await desk.app.state.engine.store.freeze(ALL)
        assert (await desk.decide("ada", approval_id, approved=False)).json()["state"] == "rejected"


async def test_a_rule_lets_nothing_go_that_is_frozen(store: FullStore) -> None:
    async with Desk(PEOPLE, when=lambda arguments, ctx: False).open(store) as desk:
        await store.freeze(ALL)
        await desk.ask("ada")
        assert desk.ran == []


@pytest.mark.parametrize(
    ("about", "frozen"),
    [
        (Freeze(tool="refund"), True),
        (Freeze(tool="other"), False),
        (Freeze(agent="support"), True),
        (Freeze(agent="other"), False),
        (Freeze(of_tenant="acme"), True),
        (Freeze(of_tenant=""), False),
        (Freeze(of_tenant="ada"), False),
        (Freeze(tool="refund", agent="support", of_tenant="acme"), True),
        (Freeze(tool="refund", of_tenant="other"), False),
    ],
)
def test_what_a_freeze_is_about(about: Freeze, frozen: bool) -> None:
    assert about.is_about(gated(principal="acme\x1fada")) is frozen


async def test_there_is_one_freeze_of_each(store: FullStore) -> None:
    await store.start()
    for wanted in (ALL, Freeze(reason="Again."), Freeze(tool="refund"), Freeze(agent="refund")):
        await store.freeze(wanted)
    found = {(one.tool, one.agent, one.of_tenant, one.reason) for one in await store.freezes()}
    assert found == {(None, None, None, "Again."), ("refund", None, None, ""), (None, "refund", None, "")}
    await ask(store, gated("a1", agent="other", tool="other"))
    with pytest.raises(Frozen, match="Again"):
        await store.move("a1", State.CLAIMED)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("processes", "calls"), [(2, 100), pytest.param(4, 200, marks=pytest.mark.spare)])
async def test_no_call_is_claimed_after_the_answer(
    kind: str, processes: int, calls: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Processes claim one call after the other; in the middle of it there is a freeze. Their last claim is after it."""
    place = str(tmp_path / "store.db") if kind == "sqlite" else str(request.getfixturevalue("tables"))
    store: FullStore = SQLiteStore(place) if kind == "sqlite" else PostgresStore(place)
    await store.start()
    await asyncio.gather(*(ask(store, gated(f"a{n}"), thread_id=f"t{n}") for n in range(calls)))
    with ExitStack() as opened:
        clickers = [opened.enter_context(process("click", place)) for _ in range(processes)]
        for clicker in clickers:
            assert clicker.stdin is not None
            clicker.stdin.write("go\n")
            clicker.stdin.flush()
        async with asyncio.timeout(PATIENCE_S):
            while not await _claimed(store):
                pass  # each look waits for the store
        await store.freeze(ALL)
        after = await _claimed(store)
        told = [await asyncio.to_thread(clicker.communicate, "go\n", timeout=PATIENCE_S) for clicker in clickers]
    assert await _claimed(store) == after, "none after the answer"
    assert all(int(out.removeprefix("ready\n")) > 0 for out, _ in told)
    await store.aclose()


async def _claimed(store: FullStore) -> set[str]:
    page = await store.list_approvals("alice", limit=1000, which="claimed")
    return {approval.id for approval in page.approvals}


def test_the_command(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/store.db"

    async def make() -> None:
        store = SQLiteStore(str(tmp_path / "store.db"))
        await store.start()
        await store.aclose()

    asyncio.run(make())

    def freeze(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(program, ["freeze", "--store", place, *options])
        logged.append(result.stderr)
        return result.exit_code, result.stdout

    logged: list[str] = []
    assert freeze("--list") == (0, "Nothing is frozen.\n")
    code, told = freeze("--tool", "refund", "--tenant", "", "--reason", "Checked.")
    assert (code, told.startswith("frozen since "), told.endswith("Z: tool refund, tenant (none) (Checked.)\n")) == (
        0,
        True,
        True,
    )
    code, told = freeze()
    assert (code, told.count("\n"), "all gated calls" in told) == (0, 2, True)
    assert freeze("--agent", "x", "--lift")[0] == 1
    assert freeze("--lift")[1].count("\n") == 1
    assert freeze("--tool", "refund", "--tenant", "", "--lift") == (0, "Nothing is frozen.\n")
    lines = [line.partition(" event=")[2] for text in logged for line in text.splitlines() if " event=" in line]
    who = f" by={user_name()}"
    about = " tool=refund tenant="
    assert lines == [f"frozen{who}{about}", f"frozen{who}", f"lifted{who}", f"lifted{who}{about}"]
    assert freeze("--lift", "--list")[0] == 2
