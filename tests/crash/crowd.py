"""Crowds that answer the same questions at once, over several replicas of one store."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from tests.crash.customer import Customer
from tests.crash.nursery import Replica
from tests.crash.replica import HASTY_MS
from tests.crash.world import World, crowd_script, orders_of
from tests.product.kit import TIMEOUT

T = TypeVar("T")
Json = dict[str, Any]

AT_ONCE = 200
"""Attempts that are under way at a time."""
ASKING = 16
"""Questions that are asked for at a time."""
ENDS = {"done", "rejected", "cancelled", "expired"}


class Question(msgspec.Struct, frozen=True):
    """One approval that waits, and its customer."""

    customer: Customer
    order: str
    id: str
    call_id: str


class Said(msgspec.Struct, frozen=True):
    """What came of one attempt. ``state``: the approval's, where the reply says it."""

    order: str
    status: int
    state: str | None = None
    result: str | None = None


class Crowd:
    """``chance`` decides who does what where; a crowd with the same seed does the same. ``states``: what came of the
    approvals, by their ids.
    """

    def __init__(self, world: World, replicas: Sequence[Replica], seed: int) -> None:
        self.world, self.replicas = world, replicas
        self.chance = random.Random(seed)
        self.states: dict[str, str] = {}

    async def ask(self, number: int, tool: Callable[[int], str]) -> list[Question]:
        """Have so many questions asked, each in a thread of its own, at any of the replicas."""
        orders = {f"#{n:05};": orders_of((tool(n), f"O{n:05}")) for n in range(number)}
        self.world.emulator.load(crowd_script(orders))
        return await together([lambda text=text: self._ask(text) for text in orders], ASKING)  # type: ignore[misc]  # a default binds

    async def _ask(self, text: str) -> Question:
        customer = self.world.customer(self.chance.choice(self.replicas), nowhere)
        (asked,) = (await customer.orders(text)).interrupts
        return Question(customer, f"O{text[1:6]}", asked["id"], asked["toolCallId"])

    def anywhere(self) -> str:
        """The address of one of the replicas."""
        return self.chance.choice(self.replicas).url

    async def approve(self, question: Question) -> Said:
        """One attempt to approve, at any replica: mostly from outside, now and then in a run."""
        url = self.anywhere()
        if self.chance.random() < 0.15:
            return await self.answered(question, url, "resolved", {"approved": True})
        return await self.decide(question, url, approved=True)

    async def decide(self, question: Question, url: str, *, approved: bool) -> Said:
        """`POST /approvals/{id}`."""
        client = self.world.client
        response = await client.post(f"{url}/approvals/{question.id}", json={"approved": approved}, timeout=TIMEOUT)
        body = response.json()
        return Said(question.order, response.status_code, body.get("state"), body.get("result"))

    async def answered(self, question: Question, url: str, status: str, payload: Json) -> Said:
        """A run with an answer in `resume[]`."""
        entry = {"interruptId": question.id, "status": status, "payload": payload}
        body = question.customer.body(resume=[entry])
        response = await self.world.client.post(url + "/", json=body, timeout=TIMEOUT)
        result = f"refunded {question.order}"
        told = result if response.status_code == 200 and f'"{result}"' in response.text else None
        return Said(question.order, response.status_code, "done" if told else None, told)

    async def final(self, question: Question) -> set[str]:
        """The state of an approval, as every replica has it."""
        urls = [f"{replica.url}/approvals/{question.id}" for replica in self.replicas]
        found = [(await self.world.client.get(url)).json()["state"] for url in urls]
        self.states[question.id] = found[-1]
        return set(found)


async def nowhere() -> str:
    """Where customers go whose replica is not to die."""
    raise AssertionError("a replica died")


async def together(work: Iterable[Callable[[], Awaitable[T]]], at_once: int) -> list[T]:
    """Do all of it, so many at a time; in the order given."""
    room = asyncio.Semaphore(at_once)

    async def one(act: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await act()

    return await asyncio.gather(*(one(act) for act in work))


# --- the two races ---------------------------------------------------------------------------------------------------
class Approved(msgspec.Struct, frozen=True):
    """What came of many attempts to approve. ``executions``: how many effects there are. ``broken``: in words."""

    approvals: int
    attempts: int
    executions: int
    told: dict[str, int]
    broken: list[str]


async def approve_all(crowd: Crowd, approvals: int, each: int) -> Approved:
    """Approve each of so many approvals so often, everywhere at once."""
    questions = await crowd.ask(approvals, lambda _: "refund")
    attempts: list[Question] = []
    for start in range(0, approvals, 10):  # some at a time, so that the attempts on one of them meet
        some = questions[start : start + 10] * each
        crowd.chance.shuffle(some)
        attempts += some
    said = await together([lambda q=q: crowd.approve(q) for q in attempts], AT_ONCE)  # type: ignore[misc]  # a default binds
    ran = Counter(effect.order for effect in crowd.world.ran())
    broken = [f"{question.order} ran {ran[question.order]} times" for question in questions if ran[question.order] != 1]
    broken += [f"{one.order} was told {one}" for one in said if not fair(one)]
    broken += [f"{q.order} is {states}" for q in questions if (states := await crowd.final(q)) != {"done"}]
    told = Counter(f"{one.status} {one.state or 'busy'}" for one in said)
    return Approved(approvals, len(said), sum(ran.values()), dict(told), broken)


def fair(said: Said) -> bool:
    """Whether it is the outcome, the claim that is at work on it, or a refusal because the thread is busy."""
    if said.state == "done":
        return said.status in (200, 409) and said.result == f"refunded {said.order}"
    return (said.status, said.state) in ((409, "claimed"), (409, None), (200, None))


class Rounds(msgspec.Struct, frozen=True):
    """What came of many rounds of everything at once. ``ends``: how many ended how. ``broken``: in words."""

    rounds: int
    ends: dict[str, int]
    broken: list[str]


async def everything_at_once(crowd: Crowd, rounds: int, at_once: int = 8) -> Rounds:
    """Approve, reject, expire and cancel each of so many approvals, everywhere at once."""
    tools = ["refund", *(f"hasty_{ms}" for ms in HASTY_MS)]
    ends: Counter[str] = Counter()
    broken: list[str] = []
    names = {f"#{n:05};": crowd.chance.choice(tools) for n in range(rounds)}
    orders = {text: orders_of((tool, f"O{text[1:6]}")) for text, tool in names.items()}
    crowd.world.emulator.load(crowd_script(orders))
    played = await together([lambda text=text: _round(crowd, text) for text in orders], at_once)  # type: ignore[misc]  # a default binds
    ran = Counter(effect.order for effect in crowd.world.ran())
    for order, states, said in played:
        ends.update(states)
        (state,) = states if len(states) == 1 else ("several",)
        if state not in ENDS or ran[order] != (state == "done"):
            broken.append(f"{order} is {states} and ran {ran[order]} times")
        broken += [
            f"{order} is {state}, and {one} was told" for one in said if one.state not in (None, state, "claimed")
        ]
    return Rounds(rounds, dict(ends), broken)


async def _round(crowd: Crowd, text: str) -> tuple[str, set[str], list[Said]]:
    question = await crowd._ask(text)
    urls = [crowd.anywhere() for _ in range(4)]
    acts: list[Awaitable[Any]] = [
        crowd.decide(question, urls[0], approved=True),
        crowd.decide(question, urls[1], approved=False),
        crowd.answered(question, urls[2], "cancelled", {}),
        crowd.world.client.get(f"{urls[3]}/approvals/{question.id}"),  # who looks expires what is overdue
    ]
    crowd.chance.shuffle(acts)
    said = [one for one in await asyncio.gather(*acts) if isinstance(one, Said)]
    return question.order, await crowd.final(question), said
