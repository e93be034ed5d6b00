"""Calls that don't end, calls of which nobody knows what came, threads that don't answer, and a stop of everything."""

import os
import signal

import httpx2
import pytest

from tests.requirements import shows
from tests.runbook.place import Place, Server

pytestmark = shows("B9")

RESULT = "Refund R-17 of 20 EUR was made"
"""What the pages say was found out."""


def at_work(place: Place, server: Server, thread: str, order: str) -> str:
    """The approval's id of a call that is being carried out, and comes to no end."""
    before = len(place.effects())
    approval = server.ask("ann", thread, f"hang {order}")
    deciding = server.aside(server.decide, "ann", approval)
    server.until(lambda: len(place.effects()) > before or deciding.done(), "at work")
    return approval


def is_told(server: Server, approval: str, text: str) -> None:
    """Its owner sees what was found out, and nothing ran again."""
    record = server.record("ann", approval)
    assert (record["state"], text in record["result"]) == ("done", True)


def test_a_call_that_is_being_carried_out_for_ever(place: Place) -> None:
    page = place.page("claimed")
    server = place.start()
    hung = at_work(place, server, "t1", "H1")
    assert hung not in page.run("Look", 1)
    assert hung in page.run("Look", 2)
    page.run("Cure", 1, THREAD="t1")
    page.run("Cure", 3, APPROVAL=hung)
    page.run("Verify")
    is_told(server, hung, RESULT)

    died = at_work(place, server, "t2", "H2")
    os.kill(server.process.pid, signal.SIGSTOP)  # it reads no signal any more
    assert "end that with SIGKILL" in page.run("Cure", 1, THREAD="t2", code=1)
    page.run("Cure", 2, PID=str(server.process.pid))
    server.end(signal.SIGKILL)
    assert died in page.run("Look", 1)
    server = place.start()
    server.until(lambda: server.record("ann", died)["state"] == "unknown", "settled")
    page.run("Cure", 3, APPROVAL=died)
    page.run("Verify")
    is_told(server, died, RESULT)
    assert "Done." in server.say("ann", "t2", "and now?").text
    assert [effect["order"] for effect in place.effects()] == ["H1", "H2"], "each ran once"
    page.end()


def test_a_call_of_which_nobody_knows_what_came(place: Place) -> None:
    page = place.page("unknown")
    server = place.start()
    for number, outcome in enumerate(("done", "failed"), start=1):
        approval = at_work(place, server, f"t{number}", f"H{number}")
        place.page("claimed").run("Cure", 1, THREAD=f"t{number}")
        assert place.effects()[-1]["key"] in page.run("Look", APPROVAL=approval)
        page.run("Cure", number, APPROVAL=approval)
        page.run("Verify", APPROVAL=approval)
        assert server.record("ann", approval)["state"] == outcome
    server.until_logged("outcome_unknown")
    assert len(place.effects()) == 2
    page.end()


def test_a_thread_that_does_not_answer(place: Place) -> None:
    page = place.page("thread", OWNER="ann")
    server = place.start()
    hangs = server.aside(server.say, "ann", "t1", "hang up")
    server.until(lambda: "running" in server.send("ann", "GET", "/threads/t1").text, "running")
    busy = server.say("ann", "t1", "hello?")
    assert (busy.status_code, "thread_busy" in busy.text) == (409, True)
    assert "t1" in page.run("Look")
    page.run("Cure", THREAD="t1")
    page.run("Verify")
    hangs.result()
    assert "Done." in server.say("ann", "t1", "hello?").text
    page.end()


def test_all_money_stops(place: Place) -> None:
    page = place.page("freeze")
    server, other = place.start(), place.start()
    waits = server.ask("ann", "t1", "refund R1")
    hung = at_work(place, server, "t2", "H1")
    page.run("Stop the harm", 1)
    for replica in (server, other):
        refused = replica.decide("ann", waits)
        assert (refused.status_code, "Payments are being checked" in refused.text) == (403, True)
    assert hung in page.run("Stop the harm", 2, THREAD="t2")
    assert hung in page.run("Cure", 1)
    place.page("unknown").run("Cure", 2, APPROVAL=hung)
    page.run("Cure", 2)
    page.run("Verify")
    assert other.decide("ann", waits).json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["H1", "R1"]
    page.end()


def test_a_restart_loses_nothing(place: Place) -> None:
    server = place.start()
    page = place.page("restart", PID=str(server.process.pid), OLD_ENVIRONMENT="old.env", OLD_COMMAND="old.command")
    waits = server.ask("ann", "t1", "refund R1")
    page.run("Look")
    page.run("Stop the harm")
    assert "PATH=" in (place.folder / "old.env").read_text()
    page.run("Cure")
    with pytest.raises(httpx2.HTTPError):
        server.ready()
    after = place.start()
    page.run("Verify", SERVER=after.url)
    assert after.decide("ann", waits).json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["R1"]
    page.end()
