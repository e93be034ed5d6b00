"""Handles of files: another provider's is never sent, and one that is gone costs nobody the thread (IN-3, IN-4)."""

from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.adapter import Media, Text
from agui_gate_adapters.testkit import Emulator
from tests.conforming import conforms
from tests.product.inprocess import Parrot, run, run_body, started
from tests.product.test_left_out import FINE, asking, every_adapter, notes, talking, told
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T10"), conforms("IN-3", "IN-4")]

Json = dict[str, Any]
VENDORS = {"stateless": "openai", "chain": "openai", "chat": "openai", "anthropic": "anthropic"}


def document(handle: str, provider: str | None = None) -> Json:
    source = {"type": "file", "value": handle} | ({} if provider is None else {"provider": provider})
    return {"type": "document", "source": source}


def sent(emulator: Emulator) -> str:
    return str(emulator.accepted[-1].body)


@every_adapter
async def test_a_handle_of_another_provider_is_never_sent(name: str) -> None:
    async with talking(name, messages=[asking(document("file-theirs", "google"))]) as (emulator, client):
        first = await client.go()
        assert first.text == "Fine."
        (note,) = notes(first)
        assert (note["messageId"], note["part"]) == ("u1", 1)
        assert note["message"] == "[document left out: it is a file of another provider's]"
        assert note["message"] in told(emulator)
        assert "file-theirs" not in sent(emulator)
        again = await client.say("and now?")
        assert again.text == "Fine."
        assert notes(again) == []
        assert "file-theirs" not in sent(emulator)


@every_adapter
@pytest.mark.parametrize("says", [True, False])
async def test_a_handle_of_its_own_or_of_nobody_is_sent(name: str, says: bool) -> None:
    vendor = next((v for n, v in VENDORS.items() if n in name), "openai")
    part = document("file-ours", vendor if says else None)
    async with talking(name, messages=[asking(part)]) as (emulator, client):
        first = await client.go()
        assert (first.text, notes(first)) == ("Fine.", [])
        assert "file-ours" in sent(emulator)


@every_adapter
async def test_a_file_that_is_gone_is_left_out_and_the_thread_remembers(name: str, tmp_path: Path) -> None:
    store, emulator = f"sqlite:///{tmp_path}/t.db", Emulator(FINE)
    async with talking(name, store=store, emulator=emulator) as (_, client):
        client.messages.append(asking(document("file-gone"), document("file-here")))
        first = await client.go()
        assert first.text == "Fine."
        assert notes(first)
        assert "document left out: the provider could not take it" in told(emulator)
        refused = len(emulator.refusals)
        assert {entry.rule for entry in emulator.refusals} == {"media"}
    async with talking(name, store=store, emulator=emulator) as (_, later):
        later.thread_id, later.messages = client.thread_id, client.messages
        assert (await later.say("and now?")).text == "Fine."
        assert len(emulator.refusals) == refused, "a restart forgets nothing of it"


async def test_an_adapter_that_names_no_vendor_gets_what_came() -> None:
    parrot = Parrot()
    async with started(create_app(Agent(name="a", model=parrot), store="memory://")) as app:
        message = {"role": "user", "id": "u1", "content": [document("file-1", "google")]}
        await run(app, run_body("t", message))
        assert parrot.requests[-1].transcript[0].content == (Media("document", "file", "file-1", None, "google"),)


async def test_whose_it_is_counts_for_each_model_anew() -> None:
    """The next agent of the thread may be the one that can read it."""

    class Googler(Parrot):
        vendor = "google"

    class Other(Parrot):
        vendor = "other"

    one, two = Other(), Googler()
    agents = Agent(name="one", model=one), Agent(name="two", model=two)
    async with started(create_app(*agents, store="memory://")) as app:
        message = {"role": "user", "id": "u1", "content": [document("file-1", "google")]}
        await run(app, run_body("t", message), "/agents/one")
        await run(app, run_body("t", message, {"role": "user", "id": "u2", "content": "and?"}), "/agents/two")
    assert one.requests[-1].transcript[0].content == (Text("[document left out: it is a file of another provider's]"),)
    assert two.requests[-1].transcript[0].content == (Media("document", "file", "file-1", None, "google"),)
