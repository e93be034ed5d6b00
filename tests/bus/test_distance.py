"""The product over a bus that is not in its process: the engine knows of a bus what `bus/base.py` says, and no more."""

from collections.abc import Callable

import pytest

from agui_gate.bus.base import Bus
from agui_gate.config.limits import EVENTS_BYTES
from agui_gate.config.settings import Settings
from tests.bus.distant import DistantBus
from tests.bus.wire_in_memory import across, shared
from tests.product.kit import product
from tests.product.live import frame_id, frames, rest, starting
from tests.product.shop import Shop, refund, say, script
from tests.product.test_connect import at_every_event, note, the_same, two_turns
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

Far = Callable[..., Bus]


@pytest.fixture(params=["distant", "across"])
def far(request: pytest.FixtureRequest) -> Far:
    """Makes a bus, which may keep so many ``run_bytes``. The second kind reads on another replica what it publishes."""
    if request.param == "distant":
        return DistantBus
    return lambda run_bytes=EVENTS_BYTES: across(shared(run_bytes))[0]


async def test_coming_late_at_every_event(far: Far) -> None:
    async with product([*Shop().tools, note], two_turns(20), bus=far()) as p:
        chat = p.chat()
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        stream, clients = await at_every_event(p, chat)
        the_same(chat, stream, clients)
        p.assert_clean()


async def test_coming_late_to_a_run_that_says_more_than_is_kept(far: Far) -> None:
    async with product([*Shop().tools, note], two_turns(300), bus=far(run_bytes=16 * 1024)) as p:
        chat = p.chat()
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        stream, clients = await at_every_event(p, chat, every=40)
        the_same(chat, stream, clients)


async def test_going_on_after_any_event(far: Far) -> None:
    async with product([], [{"output": [say("word " * 30)]}], bus=far(), settings=Settings()) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.end()
            said = frames(reader.raw)
            for number, each in enumerate(said):
                assert await rest(p, reader.run_key, frame_id(each)) == "".join(said[number + 1 :])


async def test_an_approval_from_question_to_answer(far: Far) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), after="Refunded."), bus=far()) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.orders) == ("Refunded.", ["A1"])
        p.assert_clean()
