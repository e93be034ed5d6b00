"""Scenarios about what a server asks people: interrupts, and every kind of answer to them."""

import re
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry

from agui_gate_adapters.testkit.check.bench import Bench, Talk
from agui_gate_adapters.testkit.spec.rules import Json, word

NONE = "no interrupt came"

ANNOUNCES = re.compile(r"(?i)interrupt(?![a-z])|(approval|confirmation)[-_. ]?request(?!ed)")
"""Names of CUSTOM events by which a server says that it asks a person, such as LangGraph's `on_interrupt`."""


async def foreign_answers(bench: Bench) -> None:
    """Answers a question that was never asked."""
    entry = {"interruptId": bench.fresh("interrupt"), "status": "resolved", "payload": {"approved": True}}
    talk = await bench.run(bench.asking(bench.user("text"), resume=[entry]))
    kept = talk.finished and not talk.interrupts
    bench.holds("INT-4", kept, f"an answer to an unknown interrupt fails the run: {talk.says()}", talk)


async def an_answer(bench: Bench) -> None:
    """Answers a question, and sends the answer again."""
    asked = await _asked(bench, "INT-8", "INT-6")
    if asked is None:
        return
    entries = [_resolved(interrupt) for interrupt in asked.interrupts]
    after = await _resume(bench, asked, entries)
    unsure = any(not _fits(interrupt) for interrupt in asked.interrupts)
    said = f"the answer to an interrupt is not accepted: {after.says()}"
    bench.holds("INT-8", after.finished, said, after, "note" if unsure else None)


async def abandoning(bench: Bench) -> None:
    """Cancels a question."""
    asked = await _asked(bench, "INT-6")
    if asked is None:
        return
    entries = [{"interruptId": interrupt.get("id"), "status": "cancelled"} for interrupt in asked.interrupts]
    after = await _resume(bench, asked, entries)
    bench.holds("INT-6", after.finished, f"abandoning an interrupt fails the run: {after.says()}", after)


async def silence(bench: Bench) -> None:
    """Sends a message instead of an answer. Only a server that remembers the question can break INT-5."""
    asked = await _asked(bench, "INT-5")
    if asked is None:
        return
    history = asked.history()
    open_calls = {str(interrupt.get("toolCallId")) for interrupt in asked.interrupts}
    ids = {str(interrupt.get("id")) for interrupt in asked.interrupts}
    thread = asked.input["threadId"]
    silent = await bench.run(bench.asking(*history, bench.user("text"), thread=thread))
    if silent.results() & open_calls:
        bench.broke("INT-5", "a missing answer is treated as a decision: the open call has a result", silent)
    elif _refused(silent) or {str(interrupt.get("id")) for interrupt in silent.interrupts} & ids:
        bench.tried.add("INT-5")
    else:
        await _did_it_know(bench, asked, silent)


def _refused(talk: Talk) -> bool:
    """Whether a run was refused, before it began or with an error."""
    return talk.refused or talk.last.get("type") == "RUN_ERROR"


async def _did_it_know(bench: Bench, asked: Talk, silent: Talk) -> None:
    """Answers an interrupt that a run went on without: does the answer still count?"""
    entries = [_resolved(interrupt) for interrupt in asked.interrupts]
    late = await _resume(bench, asked, entries, history=silent.history())
    open_calls = {str(interrupt.get("toolCallId")) for interrupt in asked.interrupts}
    if late.results() & open_calls:
        said = f"an open interrupt without an answer: {silent.says()}, though the server still knew it"
        bench.broke("INT-5", said, silent)
    else:
        bench.cannot(
            "the server continued as if it had asked nothing; whether it knew of the interrupt can't be determined",
            "INT-5",
        )


async def part_of_the_answers(bench: Bench) -> None:
    """Answers one of several questions: the others stay open."""
    asked = await _asked(bench, "INT-2")
    if asked is None:
        return
    if len(asked.interrupts) < 2:
        bench.cannot("only one question was asked at a time, so a partial answer was impossible", "INT-3")
        return
    first, *others = asked.interrupts
    after = await _resume(bench, asked, [_resolved(first)])
    acted = after.results() & {str(interrupt.get("toolCallId")) for interrupt in others}
    still = {str(interrupt.get("id")) for interrupt in after.interrupts}
    kept = _refused(after) or still >= {str(i.get("id")) for i in others}
    bench.holds("INT-5", kept and not acted, f"the unanswered interrupt doesn't stay open: {after.says()}", after)


async def _asked(bench: Bench, *rules: str) -> Talk | None:
    """Runs until an interrupt; None where none came, which is recorded."""
    talk = await bench.run(bench.asking(bench.user("interrupt")))
    if talk.finished and talk.interrupts:
        return talk
    if talk.finished and not bench.has("INT-1"):  # once is enough
        _hold_open_calls(bench, talk)
    bench.cannot(f"{NONE} ({talk.says()})", *rules, "INT-1", "INT-2")
    return None


def _hold_open_calls(bench: Bench, talk: Talk) -> None:
    """Records a run that stopped at its own call as a success: a breach only if it announced a question."""
    outcome = talk.last.get("outcome")
    stopped = isinstance(outcome, dict) and outcome.get("type") == "cancelled"
    left = {i: name for i, name in talk.calls().items() if i not in talk.results()}
    if not left or stopped:
        return
    names = ", ".join(f"`{name}`" for name in left.values())
    said = f"the run ends as success with its call of {names}, which no page advertised, open"
    if asks := _announced(talk):
        bench.broke("INT-1", f"{said}, after the event `{asks}`, which asks a person", talk)
    else:
        bench.broke("INT-1", f"{said}; if it waits for a person, it has to end with an interrupt", talk, "note")


def _announced(talk: Talk) -> str:
    """Returns the name of the server's own event that announces a question."""
    names = (word(event, "name") for event in talk.events if event.get("type") == "CUSTOM")
    return next((name for name in names if ANNOUNCES.search(name)), "")


async def _resume(bench: Bench, asked: Talk, entries: list[Json], *, history: list[Json] | None = None) -> Talk:
    told = asked.history() if history is None else history
    return await bench.run(bench.asking(*told, thread=asked.input["threadId"], resume=entries))


def _resolved(interrupt: Json) -> Json:
    return {"interruptId": interrupt.get("id"), "status": "resolved", "payload": _consent(interrupt)}


def _fits(interrupt: Json) -> bool:
    """Whether the answer that we make up is one that the interrupt's schema describes. Without one nobody knows."""
    schema = interrupt.get("responseSchema")
    if not isinstance(schema, dict):
        return False
    try:
        return bool(Draft202012Validator(schema, registry=Registry()).is_valid(_consent(interrupt)))
    except Exception:  # whatever a server may have made of its schema
        return False


def _consent(interrupt: Json) -> Json:
    """Returns the answer yes, in the form of the interrupt's schema."""
    schema = interrupt.get("responseSchema")
    members = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(members, dict) or not isinstance(schema, dict):
        return {"approved": True}
    required = ["approved"] if "approved" in members else schema.get("required")
    names = required if isinstance(required, list) else list(members)
    return {name: _example(members.get(name)) for name in names if isinstance(name, str)}


def _example(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "yes"
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    plain = {"boolean": True, "integer": 1, "number": 1, "array": [], "object": {}}
    return schema["const"] if "const" in schema else plain.get(str(schema.get("type")), "yes")
