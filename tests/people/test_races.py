"""Approvers, deputies, the asker, an emergency, an expiry, a revoke, a freeze and a stop at once, on two servers: there
is one end, and never without the persons. Then calls that a standing grant lets go, while it is revoked.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agui_gate import Grant, Principal
from agui_gate.core.freezes import Freeze
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.people.desk import Desk
from tests.product.inprocess import Answer, request, run, run_body, user
from tests.stores.support import Clock

pytestmark = pytest.mark.anyio

FINANCE = ("approver", "finance")
PEOPLE = {
    "ada": Principal("ada", "acme"),
    "ben": Principal("ben", "acme", FINANCE, claims={"person": "p-ben"}),
    "bot": Principal("bot", "acme", FINANCE, claims={"person": "p-ben"}),
    "cat": Principal("cat", "acme", FINANCE),
    "dan": Principal("dan", "acme", FINANCE),
    "ann": Principal("ann", "acme", FINANCE),
    "eve": Principal("eve", "acme", ("approver",)),
    "zoe": Principal("zoe", "acme", ("break-glass",)),
}
ALARM: dict[str, Any] = {"break_glass": True, "reason": "The till burns."}
FREEZE = Freeze(tool="refund")
HOUR = 3_600_000
STOPPED = {"failed", "unknown"}
"""Of a call that was let go: it was stopped before its tool began, or while it was at work."""
ENDS = {"done", "rejected", "expired", "cancelled", "pending", *STOPPED}
TIMES = 2
"""Calls that a grant lets go in a race."""


class Race:
    """Two servers on one store, and everything that may happen to one call."""

    def __init__(self, desks: list[Desk], stores: list[FullStore], clock: Clock, chance: Random) -> None:
        self.desks, self.stores, self.clock, self.chance = desks, stores, clock, chance
        self.thread, self.asked_again = "", 0
        self.claimed_when_frozen: int | None = None
        self.for_ann_when_gone: int | None = None

    @property
    def desk(self) -> Desk:
        return self.chance.choice(self.desks)

    async def round(self, number: int) -> str:
        """One call; returns how it ended."""
        self.thread, self.claimed_when_frozen, chance = f"t{number}", None, self.chance
        self.for_ann_when_gone, thread = None, self.thread
        approval_id = await self.asked(thread)
        deputies = [await self.name(absent) for absent in ("ann", "ben")]
        edit: dict[str, Any] = {"edited_arguments": {"order_id": "A1", "amount": chance.randrange(5)}}
        acts: dict[str, Any] = {
            "ben": lambda: self.desk.decide("ben", approval_id),
            "bot": lambda: self.desk.decide("bot", approval_id),
            "cat": lambda: self.desk.decide("cat", approval_id),
            "dan": lambda: self.desk.decide("dan", approval_id),
            "ben again": lambda: self.desk.decide("ben", approval_id),
            "dan edits": lambda: self.desk.decide("dan", approval_id, **edit),
            "cat edits": lambda: self.desk.decide("cat", approval_id, **edit),
            "ada says yes": lambda: self.desk.decide("ada", approval_id),
            "ada says no": lambda: self.desk.decide("ada", approval_id, approved=False),
            "stop": lambda: self.desk.post("ada", f"/threads/{thread}/cancel", {}),
            "expiry": self.expire,
            "eve for ann": lambda: self.desk.decide("eve", approval_id),
            "eve again": lambda: self.desk.decide("eve", approval_id),
            "ann": lambda: self.desk.decide("ann", approval_id),
            "ann is back": lambda: self.revoke("ann", deputies[0]),
            "ben is back": lambda: self.revoke("ben", deputies[1]),
            "zoe breaks the glass": lambda: self.desk.decide("zoe", approval_id, **ALARM),
            "freeze": self.freeze,
            "cat's token is revoked": lambda: self.lose_token("cat", approval_id),
            "dan leaves finance": lambda: self.lose_role("dan", approval_id),
            "ann leaves finance": lambda: self.lose_role_with_deputy("ann", approval_id),
        }
        names = chance.sample(sorted(acts), chance.randrange(2, 8))
        if chance.random() < 0.5:
            names = [*{*names, "ben", "cat"} - {"ada says no", "expiry"}]
        chance.shuffle(names)
        answers = await asyncio.gather(*(acts[name]() for name in names))
        stopped = {503} if "stop" in names else set()  # a decision that was stopped before it was made says so
        bad = [answer.body for answer in answers if answer is not None and answer.status in {500, 502, 503} - stopped]
        assert bad == [], names
        end = await self.judged(approval_id, thread, names)
        await self.restore()
        return end

    async def asked(self, thread: str) -> str:
        """The id of the call about which a round is."""
        body = run_body(thread, user("refund"))
        answer = await self.patiently(lambda: run(self.desk.app, body, headers={"authorization": "ada"}))
        assert answer.status == 200, answer.body
        return str(answer.events()[-1]["outcome"]["interrupts"][0]["id"])

    async def patiently(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer before a round begins: as a client does, asks again where the database took too long. Then its
        transaction was rolled back, and the answer says that it may be asked again (`Retry-After`).
        """
        answer = await ask()
        if answer.status != 503 or b"took too long" not in answer.body:
            return answer
        assert int(answer.headers["retry-after"]) > 0
        self.asked_again += 1
        return await ask()

    async def restore(self) -> None:
        """As it was before the round."""
        await self.stores[0].freeze(FREEZE, lift=True)
        for each in await self.stores[0].deputies().find("tenant", "acme"):
            await self.stores[0].deputies().remove(each.id, "ops")
        for desk in self.desks:
            desk.people.update(PEOPLE)

    async def lose_token(self, who: str, approval_id: str) -> None:
        """From then on they are nobody."""
        for desk in self.desks:
            desk.people[who] = None
        assert (await self.desk.decide(who, approval_id)).status == 401

    async def lose_role(self, who: str, approval_id: str) -> None:
        """From then on they are no approver; what they agreed to before, they agreed to."""
        for desk in self.desks:
            desk.people[who] = Principal(who, "acme", ("approver",))
        assert (await self.desk.decide(who, approval_id)).status in {403, 404, 409}

    async def lose_role_with_deputy(self, who: str, approval_id: str) -> None:
        """After it has answered, their deputy agrees to nothing."""
        await self.lose_role(who, approval_id)
        self.for_ann_when_gone = self.said_for(who, await self.trail(self.thread))

    @staticmethod
    def said_for(who: str, events: list[Any]) -> int:
        """How often somebody agreed in their place."""
        said = [event for event in events if event.kind in ("agreed", "approved")]
        return sum(json.loads(event.body).get("absent") == who for event in said)

    async def name(self, absent: str) -> str:
        until = datetime.fromtimestamp(self.clock() / 1000 + 7200, UTC).isoformat()
        named = {"deputy": "eve", "until": until}
        answer = await self.patiently(lambda: self.desk.post(absent, "/deputies", named))
        return str(answer.json()["id"])

    async def revoke(self, who: str, deputy_id: str) -> None:
        await request(self.desk.app, "DELETE", f"/deputies/{deputy_id}", headers={"authorization": who})

    async def freeze(self) -> None:
        """After it has answered, nothing is let go."""
        await self.chance.choice(self.stores).freeze(FREEZE)
        self.claimed_when_frozen = [event.kind for event in await self.trail(self.thread)].count("claimed")

    async def expire(self) -> None:
        self.clock.advance(HOUR + 1)
        for store in self.stores:
            await store.expire()

    async def judged(self, approval_id: str, thread: str, names: list[str]) -> str:
        """Holds what happened against the promises."""
        ran = [context for desk in self.desks for context in desk.ran if context.thread_id == thread]
        record = (await self.desks[0].get("ada", f"/approvals/{approval_id}")).json()
        events = [event for event in await self.trail(thread) if event.approval_id == approval_id]
        ends = [event.kind for event in events if event.kind in ENDS]
        assert record["state"] in ENDS, names
        assert record["state"] not in STOPPED or "stop" in names, names
        assert len(ran) in ({0, 1} if record["state"] == "unknown" else {record["state"] == "done"}), (names, record)
        assert len(ends) == (record["state"] != "pending"), (names, ends)
        if ran:
            self.check_persons(events, names)
        if (before := self.claimed_when_frozen) is not None:
            assert [event.kind for event in events].count("claimed") == before, names
        assert self.for_ann_when_gone in (None, self.said_for("ann", events)), names
        return str(record["state"])

    @staticmethod
    def check_persons(events: list[Any], names: list[str]) -> None:
        """Two different persons, neither who asked nor who edited, said yes to just the arguments that ran, by two
        different rights; or one did in an emergency, and that is said.
        """
        (approved,) = [event for event in events if event.kind == "approved"]
        if approved.by == "zoe":
            assert [event.by for event in events if event.kind == "break_glass"] == ["zoe"], names
            return
        meant = json.loads(approved.body)["arguments"]
        said = [event for event in events if event.kind in ("agreed", "approved")]
        last = next((n for n in range(len(said), 0, -1) if json.loads(said[n - 1].body)["arguments"] != meant), 0)
        bodies = [json.loads(event.body) for event in said[last:]]
        persons = {body["person"] for body in bodies}
        editor = {bodies[0]["person"]} if "edited" in bodies[0] else set()
        assert len(persons - editor - {"ada"}) >= 2, names
        rights = [body.get("absent") or body["person"] for body in bodies]
        assert len({PEOPLE[name].person if name in PEOPLE else name for name in rights} - editor) >= 2, names

    async def trail(self, thread: str) -> list[Any]:
        """The events of ada's thread."""
        page = await self.stores[0].read_events(limit=1000, principal="acme\x1fada", thread_id=thread)
        return list(page.events)


class GrantRace(Race):
    """Calls of three threads by one grant of ``TIMES`` uses, while people decide, revoke, freeze and stop."""

    async def round(self, number: int) -> str:
        chance, first = self.chance, f"g{number}"
        self.thread, self.claimed_when_frozen = first, None
        self.by_grant_when_revoked: int | None = None
        asked, grant = await self.asked(first), {"scope": "arguments"}
        answer = await self.patiently(lambda: self.desk.decide("ben", asked, grant=grant))
        assert answer.json()["state"] == "done", answer.body
        self.grant_id = answer.json()["grant"]
        self.threads = [f"{first}-{n}" for n in range(3)]
        acts: dict[str, Any] = {
            "revoke": lambda: self.revoke_grant("ada"),
            "ben revokes": lambda: self.revoke_grant("ben"),
            "freeze": self.freeze,
            "expiry": self.expire,
            "cat": lambda: self.decide_all("cat"),
            "ada says no": lambda: self.decide_all("ada", approved=False),
            "ben leaves finance": lambda: self.leave("ben"),
            "stop": lambda: self.desk.post("ada", f"/threads/{self.threads[0]}/cancel", {}),
        }
        names = chance.sample(sorted(acts), chance.randrange(1, 5))
        # The order in which they begin is by chance, and some wait for a few steps of the loop.
        racers = [self.later(acts[name], chance.choice([0, 40, 80, 160, 320])) for name in names]
        racers += [self.later(partial(self.call, thread), chance.choice([0, 0, 40])) for thread in self.threads]
        chance.shuffle(racers)
        await asyncio.gather(*racers)
        ends = await self.judged_all(names)
        await self.restore()
        await self.revoke_grant("ada")
        return chance.choice(sorted(ends))

    @staticmethod
    async def later(act: Any, steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        await act()

    async def call(self, thread: str) -> Answer:
        return await run(self.desk.app, run_body(thread, user("refund")), headers={"authorization": "ada"})

    async def leave(self, who: str) -> None:
        for desk in self.desks:
            desk.people[who] = Principal(who, "acme", ("approver",))

    async def decide_all(self, who: str, *, approved: bool = True) -> None:
        waiting = (await self.desk.get(who, "/approvals")).json()["approvals"]
        await asyncio.gather(*(self.desk.decide(who, one["id"], approved) for one in waiting))

    async def revoke_grant(self, who: str) -> None:
        """After it has answered, the grant lets nothing go."""
        path = f"/grants/{self.grant_id}"
        gone = await request(self.desk.app, "DELETE", path, headers={"authorization": who})
        assert gone.status in {200, 404}, gone.body
        if self.by_grant_when_revoked is None:
            self.by_grant_when_revoked = len(self.by_grant(await self.events()))

    async def freeze(self) -> None:
        await self.chance.choice(self.stores).freeze(FREEZE)
        self.claimed_when_frozen = [event.kind for event in await self.events()].count("claimed")

    async def events(self) -> list[Any]:
        return [event for thread in self.threads for event in await self.trail(thread)]

    def by_grant(self, events: list[Any]) -> list[Any]:
        return [event for event in events if event.kind == "approved" and self.grant_id in event.body]

    async def judged_all(self, names: list[str]) -> set[str]:
        """Holds what happened to all calls against the promises; returns how they ended."""
        events, ended = await self.events(), set()
        by_grant = self.by_grant(events)
        assert all((event.way, event.by) == ("grant", "ben") for event in by_grant), names
        assert len(by_grant) <= TIMES, names
        assert self.by_grant_when_revoked in (None, len(by_grant)), names
        assert self.claimed_when_frozen in (None, [event.kind for event in events].count("claimed")), names
        self.claimed_when_frozen = None  # it is about all of them
        for thread in self.threads:
            for approval_id in {event.approval_id for event in events if event.thread_id == thread}:
                ended.add(await self.judged(approval_id, thread, names))
        return ended

    @staticmethod
    def check_persons(events: list[Any], names: list[str]) -> None:
        """One approver said yes: to this call, or beforehand."""
        (approved,) = [event for event in events if event.kind == "approved"]
        assert approved.by in {"ben", "cat"}, names


def _store(kind: str, place: str, clock: Clock) -> FullStore:
    return SQLiteStore(place, clock=clock) if kind == "sqlite" else PostgresStore(place, clock=clock)


async def _race(
    kind: str, place: str, race_of: type[Race], rounds: int, expected: frozenset[str], **gate: Any
) -> set[str]:
    """Returns how the calls of so many rounds ended; of more rounds, until there is each end that is ``expected``."""
    clock, chance, ends = Clock(), Random(rounds), set[str]()
    gate |= {"approvers": "finance", "editable": ["amount"], "expires_after": 3600}
    async with AsyncExitStack() as opened:
        stores = [_store(kind, place, clock) for _ in range(2)]
        desks = [await opened.enter_async_context(Desk(dict(PEOPLE), **gate).open(store)) for store in stores]
        race = race_of(desks, stores, clock, chance)
        for number in range(10 * rounds):
            if number >= rounds and ends >= expected:
                break
            ends.add(await race.round(number))
    print(f"{ends}; before a round, asked again {race.asked_again} times")
    return ends


@pytest.fixture(params=["sqlite", "postgres"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, str]:
    kind = str(request.param)
    return kind, str(tmp_path / "store.db") if kind == "sqlite" else str(request.getfixturevalue("tables"))


@pytest.mark.parametrize("rounds", [25, pytest.param(2_000, marks=pytest.mark.spare)])
async def test_approvers_deputies_an_emergency_and_everything_else(place: tuple[str, str], rounds: int) -> None:
    expected = frozenset({"done", "rejected", "expired", "pending"})
    assert await _race(*place, Race, rounds, expected, needs=2) >= expected


@pytest.mark.parametrize("rounds", [12, pytest.param(2_000, marks=pytest.mark.spare)])
async def test_calls_by_a_grant_its_revocation_and_everything_else(place: tuple[str, str], rounds: int) -> None:
    expected = frozenset({"done", "pending"})
    assert await _race(*place, GrantRace, rounds, expected, grants=[Grant.arguments(times=TIMES)]) >= expected
