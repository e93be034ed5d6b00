"""`GET /me`: who asks, which routes are open to them, and whose deputies they are."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agui_gate import Principal
from agui_gate.extras.people.rights import PUBLIC, RIGHTS
from agui_gate.stores.capabilities import FullStore
from tests.people.desk import Desk

pytestmark = pytest.mark.anyio

PEOPLE: dict[str, Any] = {
    "ann": Principal("ann", "acme", ("approver", "finance"), "desk", {"person": "p-ann", "acr": "mfa", "auth_time": 9}),
    "dan": Principal("dan", "acme", ("approver",)),
    "dan of others": Principal("dan", "evil", ("approver",)),
    "zoe": Principal("zoe", "acme", ("break-glass",)),
    "plain": "bob",
    "odd": "x" * 501,
}


async def test_it_says_who_asks_and_for_whom_they_decide(store: FullStore) -> None:
    async with Desk(PEOPLE, approvers="finance").open(store) as desk:
        until = (datetime.fromtimestamp(store.now() / 1000, UTC) + timedelta(days=1)).isoformat()
        named = (await desk.post("ann", "/deputies", {"deputy": "dan", "until": until})).json()
        later = (await desk.post("ann", "/deputies", {"deputy": "zoe", "until": until, "since": until[:-6]})).status
        assert later == 422, "a time that has not begun when it ends"
        ann, dan = (await desk.get("ann", "/me")).json(), (await desk.get("dan", "/me")).json()
        routes = ann.pop("routes")
        assert ann == {
            "principal": "ann", "person": "p-ann", "tenant": "acme", "acts_for": "desk",
            "roles": ["approver", "finance"], "rights": ["approver"], "break_glass": False,
            "acr": "mfa", "auth_time": 9, "deputies": [named], "deputy_of": [],
        }  # fmt: skip
        assert (dan["deputies"], dan["deputy_of"]) == ([], [named])
        others = (await desk.get("dan of others", "/me")).json()
        assert (others["tenant"], others["deputies"], others["deputy_of"]) == ("evil", [], [])
        opened = [f"{method} {path.replace(':path', '')}" for (method, path), by in RIGHTS.items() if "approver" in by]
        assert routes == dan["routes"] == opened
        assert not any(path in opened for (_, path), by in RIGHTS.items() if by == PUBLIC)


async def test_of_whom_no_more_than_a_name_is_known() -> None:
    async with Desk(PEOPLE).open() as desk:
        plain, zoe = (await desk.get("plain", "/me")).json(), (await desk.get("zoe", "/me")).json()
        assert (plain["principal"], plain["person"], plain["tenant"], plain["rights"]) == ("bob", "bob", "", ["user"])
        assert (plain["break_glass"], plain["deputies"], plain["auth_time"]) == (False, [], None)
        assert (zoe["break_glass"], "POST /deputies" in zoe["routes"], "GET /approvals" in zoe["routes"]) == (
            True, False, True,
        )  # fmt: skip
        for who in ("odd", "nobody"):
            assert (await desk.get(who, "/me")).status == 401
