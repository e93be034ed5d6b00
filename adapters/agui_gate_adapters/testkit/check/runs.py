"""Scenarios about what a server says: text, tools, stopping, a thread that goes on."""

import asyncio

from agui_gate_adapters.testkit.check.bench import Bench, Talk
from agui_gate_adapters.testkit.spec.frames import BINARY
from agui_gate_adapters.testkit.spec.rules import Json
from agui_gate_adapters.testkit.spec.shapes import misfits

COLOUR = {
    "name": "agui_check_colour",
    "description": "Show a colour to the user.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]},
}
"""A tool of the frontend's own, for the model to call."""

PAUSES = (0.2, 1.0, 2.0)
"""Seconds between tries, while a server may still be ending a run that was left."""


async def a_second_turn(bench: Bench) -> None:
    """Continues the thread with the history that the page has."""
    first = await bench.run(bench.asking(bench.user("text")))
    if not first.finished:
        return
    history = [*first.history(), bench.user("text")]
    second = await bench.run(bench.asking(*history, thread=first.input["threadId"]))
    bench.holds("IN-1", second.finished, f"a second turn is not accepted: {second.says()}", second)
    held = {str(message.get("id")) for message in history}
    named = {str(e.get("messageId")) for e in second.plain if str(e.get("type")) == "TEXT_MESSAGE_START"}
    again = ", ".join(sorted(held & named))
    bench.holds("EVT-4", not again, f"the second turn streams into messages of the first: {again}", second)


async def own_tools(bench: Bench) -> None:
    """Asks for the server's tools, which are called and answered in the run."""
    talk = await bench.run(bench.asking(bench.user("tool")))
    if not talk.calls():
        bench.cannot("the model called none of the server's tools", "TOOL-2", "TOOL-8")


async def frontend_tools(bench: Bench) -> None:
    """Offers a tool of the page, whose result comes with the next input."""
    asked = await bench.run(bench.asking(bench.user("frontend"), tools=[COLOUR]))
    called = [i for i, name in asked.calls().items() if name == COLOUR["name"]]
    rules = ("TOOL-4", "TOOL-5", "TOOL-6", "TOOL-3")
    if not called or not asked.answer.streams:
        bench.cannot(f"the model did not call the page's tool ({asked.says()})", *rules)
        return
    bench.tried.update(rules[:3])
    if not asked.finished:
        bench.broke("TOOL-5", f"the run doesn't end with RUN_FINISHED at a frontend tool's call: {asked.says()}", asked)
        return
    answers = [_answer(bench, call_id) for call_id in called]
    after = await bench.run(bench.asking(*asked.history(), *answers, thread=asked.input["threadId"], tools=[COLOUR]))
    if not after.finished:  # the rule says only who may not answer
        bench.broke("TOOL-4", f"the page's result of its call is not accepted: {after.says()}", after, "note")


def _answer(bench: Bench, call_id: str) -> Json:
    return {"id": bench.fresh("tool"), "role": "tool", "toolCallId": call_id, "content": "The colour is shown."}


async def parts_in_results(bench: Bench) -> None:
    """Answers a page's call with parts."""
    asked = await bench.run(bench.asking(bench.user("frontend"), tools=[COLOUR]))
    called = [i for i, name in asked.calls().items() if name == COLOUR["name"]]
    if not called or not asked.finished:
        bench.cannot("the model did not call the page's tool", "TOOL-3")
        return
    parts = [
        {"type": "text", "text": "shown"},
        {"type": "video", "source": {"type": "url", "value": "https://example.org/v"}},
    ]
    answers = [{**_answer(bench, call_id), "content": parts} for call_id in called]
    after = await bench.run(bench.asking(*asked.history(), *answers, thread=asked.input["threadId"], tools=[COLOUR]))
    bench.holds("TOOL-3", after.finished, f"a result with parts is not accepted: {after.says()}", after)


async def leaving(bench: Bench) -> None:
    """Disconnects in the middle of a run; the thread has to continue afterwards."""
    left = await bench.run(bench.asking(bench.user("long")), leave_at=("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"))
    bench.cannot("a client can't see over HTTP how a run ended after it disconnected", "LIFE-4")
    if left.answer.end != "left":
        bench.cannot(f"the run ended before the client could disconnect ({left.says()})", "LIFE-5")
        return
    history = [*left.history(), bench.user("text")]
    after = await _again(bench, left, history)
    said = f"after a run that was left, the next one is refused: {after.says()}"
    bench.holds("LIFE-5", after.finished, said, after, "note")  # leaving is not cancelling


async def _again(bench: Bench, left: Talk, history: list[Json]) -> Talk:
    """Runs on a thread that may be busy for a moment."""
    for pause in PAUSES:
        await asyncio.sleep(pause)
        talk = await bench.run(bench.asking(*history, thread=left.input["threadId"]))
        if talk.answer.status != 409:
            return talk
    return await bench.run(bench.asking(*history, thread=left.input["threadId"]))


async def coming_back(bench: Bench) -> None:
    """Connects with the thread's history and without, where the server has /connect."""
    first = await bench.run(bench.asking(bench.user("text")))
    if not first.finished:
        return
    thread = first.input["threadId"]
    for history in (first.history(), []):
        back = await bench.run(bench.asking(*history, thread=thread), replays=True, below="/connect")
        if not back.answer.streams:
            bench.cannot("there is no event stream at the address with /connect", "PROC-6")
            return
        bench.tried.add("PROC-6")


async def the_binary_binding(bench: Bench) -> None:
    """Accepts both bindings, and reads the one that it gets."""
    talk = await bench.run(bench.asking(bench.user("text")), accept=f"{BINARY}, text/event-stream")
    answer = talk.answer
    if answer.streams and not answer.is_binary:
        bench.cannot("the server answers with SSE, which is allowed", "PB-1")
    elif not answer.is_binary:
        bench.broke("PB-1", f"a client that accepts both bindings receives neither: {talk.says()}", talk)
    else:
        exact = answer.content_type == BINARY
        bench.holds("PB-1", exact, f"the content type is {answer.content_type!r}, not exactly {BINARY}", talk)


async def capabilities(bench: Bench) -> None:
    """Reads the server's capabilities, where it has a route for them."""
    told = await bench.peer.get("/capabilities")
    if not isinstance(told, dict) or not told:
        bench.cannot("there is no declaration at the address with /capabilities", "CAP-1", "CAP-2")
        return
    bench.tried.add("CAP-1")
    for fault in misfits(told, "Capabilities"):
        bench.broke("CAP-1", fault.sentence)
    person = told.get("humanInTheLoop")
    if isinstance(person, dict):
        odd = person.get("approveWithEdits") is True and person.get("interrupts") is not True
        bench.holds("CAP-2", not odd, "approveWithEdits is declared without interrupts")
