"""Confirm cards, interrupts and records: how a gated call is shown, and what is told of its decision.

An interrupt has the schema of its answer (`core/answers.py`), with the tool's own schema for `editedArgs`. An edit
replaces all arguments. Whether editing is possible is told by `editedArgs` being in the schema. A question that wants
more than a yes or a no has the schema that came with it (`core/open_questions.py`).

Somebody who asks for another answer is soon asked the same question again, and the card looks as the first one did. So
each card and interrupt has `already_ran`: the same tool's earlier calls in its thread. Pages that show nothing but the
question are told in words what is easily overlooked. That is what ran in an answer that was replaced, and what ran with
the very same arguments.

A record, whole, is what ``GET /approvals/{id}`` answers. In messages and result events it is the value of
``metadata["agui-gate"]``, without what stands around it there anyway. Both generations of clients keep metadata on a
call, on a tool message and on TOOL_CALL_RESULT. They send it back with their history, where it means nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from agui_gate.core import answers, open_questions
from agui_gate.core.approvals import RAN, Approval, State
from agui_gate.core.browser_numbers import for_browser, schema_for_browser
from agui_gate.core.events import METADATA, Interrupt
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.transcript import Entry, ReplacedEntry

RESTORED = "(From a restored backup: it may have been answered before, and may have run then.)"


class AlreadyRan(msgspec.Struct, frozen=True):
    """The same tool's earlier calls in this thread. ``words``: a sentence about those that are easily overlooked."""

    calls: list[dict[str, Any]]
    words: str | None


class NotAllowed(ValueError):
    """An edit that the gate's policy or the tool's schema forbids; the text says why."""


def card_arguments(
    approval: Approval,
    parameters: dict[str, Any],
    refused: str | None = None,
    ran: AlreadyRan | None = None,
    *,
    asker: str = "",
) -> str:
    """JSON arguments of the `confirm_changes` call for ``approval``; ``parameters`` is the tool's JSON Schema.

    ``refused``: why the last answer wasn't taken, where it is shown again. ``ran``: see `already_ran`.
    ``asker``: the agent that the card names; "" for none (`Team.asker`).
    """
    arguments = shown(approval.effective_arguments, parameters)
    asked = _asked(asker, question(approval) or f"Execute {approval.tool}")
    card: dict[str, Any] = {
        "function_name": approval.tool,
        "function_call_id": approval.call_id,
        "function_arguments": arguments,
        "steps": [{"description": _sentences(approval, refused, asked, ran), "status": "enabled"}],
    }
    card |= people(approval)
    if ran:
        card["already_ran"] = ran.calls
    if approval.was:
        card["restored"] = True
    if refused:
        card["refused"] = refused
    if asker:
        card["agent"] = asker
    if approval.editable:
        card["editable"] = list(approval.editable)
        card["function_parameters"] = _for_edits(approval, parameters)  # as `editedArgs` is for an interrupt
    if approval.expires_at is not None:
        card["expires_at"] = iso(approval.expires_at)
    return msgspec.json.encode(card).decode()


def interrupt(
    approval: Approval,
    parameters: dict[str, Any],
    ran: AlreadyRan | None = None,
    refused: str | None = None,
    *,
    asker: str = "",
    task: str = "",
) -> Interrupt:
    """Returns the interrupt that shows ``approval``; all but ``task`` are as for a card. ``task``: the id of the one it
    is in.

    A 0.0.59 client with an expired interrupt is stuck until reset (docs/clients.md#one-style-per-run). So `expiresAt`
    is sent only where extras are, and it is in the metadata for pages that count down. What is in the metadata is there
    twice: under our own prefix (META-1), and by itself, as pages have read it from the start.
    """
    metadata: dict[str, Any] = {"tool": approval.tool, "arguments": shown(approval.effective_arguments, parameters)}
    metadata |= people(approval)
    if approval.editable:
        metadata["editable"] = list(approval.editable)
    expires_at = None if approval.expires_at is None else iso(approval.expires_at)
    if expires_at is not None:
        metadata["expires_at"] = expires_at
    if ran:
        metadata["already_ran"] = ran.calls
    if approval.was:
        metadata["restored"] = True
    if refused:
        metadata["refused"] = refused
    asked = _asked(asker, question(approval) or f"Run {approval.tool}?")
    if asker:
        metadata["agent"] = asker
    wanted = open_questions.schema(approval) if approval.is_held else None
    return Interrupt(
        id=approval.id,
        reason="tool_call" if wanted is None else "input_required",
        tool_call_id=approval.call_id,
        message=_sentences(approval, refused, asked, ran),
        response_schema=wanted or answers.reply_schema(_for_edits(approval, parameters) if approval.editable else None),
        expires_at=expires_at,
        metadata={**metadata, METADATA: metadata},
        subagent_run_id=task or None,
    )


def question(approval: Approval) -> str | None:
    """Returns the gate's message. After somebody's edit it doesn't say any more what would run."""
    if approval.people is None or approval.people.edited is None or not approval.is_pending:
        return approval.message
    return f"{approval.message or f'Run {approval.tool}?'} (Edited by {approval.people.editor}: see the arguments.)"


def people(approval: Approval) -> dict[str, Any]:
    """Returns who has to agree, and who has; nothing where the gate asks for nobody in particular."""
    if approval.people is None:
        return {}
    from agui_gate.protocol.people import terms

    return terms(approval.people, approval.id)


def _asked(asker: str, question: str) -> str:
    return f"{asker} asks: {question}" if asker else question


def _sentences(approval: Approval, refused: str | None, asked: str, ran: AlreadyRan | None) -> str:
    restored = RESTORED if approval.was else None
    return " ".join(part for part in (refused, asked, restored, ran.words if ran else None) if part)


def checked_edit(approval: Approval, edited: dict[str, Any]) -> str | None:
    """Canonical JSON of the edited arguments, or None if they change nothing.

    Raises `NotAllowed` if a field changed that may not be edited. Whether the values fit the tool is the tool's to say.
    """
    original = parse_object(approval.arguments) or {}
    changed = {
        name
        for name in {*original, *edited}
        if (name in original) != (name in edited) or canonical([original.get(name)]) != canonical([edited.get(name)])
    }
    forbidden = sorted(changed - set(approval.editable))
    if forbidden:
        raise NotAllowed(f"these arguments may not be edited: {', '.join(forbidden)[:200]}")
    return canonical(edited) if changed else None


def shown(text: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments as pages get them: in order, and with integers that a browser would round as text."""
    arguments: dict[str, Any] = for_browser(in_order(text, parameters))
    return arguments


def _for_edits(approval: Approval, parameters: dict[str, Any]) -> dict[str, Any]:
    wanted = open_questions.parameters(approval) or parameters
    return schema_for_browser(wanted, parse_object(approval.arguments) or {})


def in_order(text: str, parameters: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments in the order in which the tool names them, for people to read. ``parameters``: its JSON
    Schema.
    """
    arguments = parse_object(text) or {}
    names = [name for name in (parameters or {}).get("properties", {}) if name in arguments]
    return {name: arguments[name] for name in [*names, *(n for n in arguments if n not in names)]}


def iso(ms: int) -> str:
    """Returns a time in ms since the epoch as ISO 8601 in UTC, always as long: such texts sort as the times do."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


MAX_REASON = 1_000
"""Characters of a reason in metadata."""
MAX_ARGUMENTS = 20_000
"""Characters of arguments in metadata: issued and run."""


def record(approval: Approval, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the whole record. ``parameters`` is the tool's JSON Schema: people read the arguments in its order."""
    return {
        "id": approval.id,
        "thread_id": approval.thread_id,
        "agent": approval.agent,
        "call_id": approval.call_id,
        "tool": approval.tool,
        "arguments": shown(approval.arguments, parameters),
        "editable": list(approval.editable),
        "message": _restored_question(approval),
        "asked_at": iso(approval.asked_at),
        "expires_at": None if approval.expires_at is None else iso(approval.expires_at),
        **({} if approval.asker is None else {"asker": approval.asker.id}),
        **people(approval),
        **({"restored": True} if approval.is_asked_again else {}),
        **({"task": True} if approval.opens_task else {}),
        "state": str(approval.state.public),
        "effective_arguments": shown(approval.effective_arguments, parameters),
        "decision": _decision(approval),
        "result": approval.output.content if approval.output else None,
        "replaced": approval.replaced,
    }


def _restored_question(approval: Approval) -> str | None:
    """Returns the question that people are asked; of a restored backup, with a sentence that says so."""
    if not approval.is_asked_again:
        return question(approval)
    return f"{question(approval) or f'Run {approval.tool}?'} {RESTORED}"


def _decision(approval: Approval) -> dict[str, Any] | None:
    """Returns who decided, when, which way, and why; None where nobody did."""
    made = approval.decision
    if made is None:
        return None
    at = None if approval.decided_at is None else iso(approval.decided_at)
    told: dict[str, Any] = {"approved": made.approved, "by": made.by, "at": at, "way": made.way}
    told |= {"grant": made.grant} if made.grant else {}
    if made.absent or made.break_glass:
        from agui_gate.protocol.people import rights

        told |= rights(made)
    return told | {"reason": made.reason} if made.reason else told


def metadata(approval: Approval, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns what a call, its card and their results say of the record. ``parameters``: as in `record`.

    The arguments are here only where a person changed them: as they were issued, and as they ran. What is very long is
    only in the record: this is in a conversation several times.
    """
    told: dict[str, Any] = {"id": approval.id, "state": str(approval.state.public), "decision": _decision(approval)}
    if told["decision"] and len(told["decision"].get("reason", "")) > MAX_REASON:
        told["decision"]["reason"] = f"{told['decision']['reason'][:MAX_REASON]}…"
    size = len(approval.effective_arguments) + len(approval.arguments)
    if approval.effective_arguments != approval.arguments and size <= MAX_ARGUMENTS:
        told["arguments"] = shown(approval.arguments, parameters)
        told["effective_arguments"] = shown(approval.effective_arguments, parameters)
    if approval.replaced:
        told["replaced"] = True
    if approval.opens_task:
        told["task"] = True
    return {METADATA: told}


MAX_EARLIER = 10
"""Calls that are told, the latest ones."""
MAX_WORDS = 3
"""Calls that are told in words."""
MAX_SHOWN = 300
"""Characters of a result or an argument, or of all arguments in words."""


class _Call(msgspec.Struct, frozen=True):
    """A call of the same tool that ran. ``at`` is in ms; None: not known."""

    arguments: str
    state: State
    result: str | None = None
    at: int | None = None
    replaced: bool = False


def already_ran(
    approval: Approval, parameters: dict[str, Any], approvals: Iterable[Approval], entries: Iterable[Entry]
) -> AlreadyRan | None:
    """Returns what to say beside the question about ``approval``; None if nothing ran. ``parameters``: its tool's
    schema.
    """
    ran = _earlier(approval, approvals, entries)
    return (
        AlreadyRan([_call_view(one, parameters) for one in ran], _sentence(approval, ran, parameters)) if ran else None
    )


def _earlier(approval: Approval, approvals: Iterable[Approval], entries: Iterable[Entry]) -> list[_Call]:
    """Returns the calls of its tool that ran in its thread, oldest first, the latest of them."""
    found = [
        _Call(a.effective_arguments, a.state, a.output.content if a.output else None, a.decided_at, a.replaced)
        for a in approvals
        if a.state in RAN and a.id != approval.id and (a.tool, a.source) == (approval.tool, approval.source)
        if not (a.is_begun and a.replaced)  # its turns are gone, and nobody knows whether it had any
    ]
    free = [
        _Call(call.arguments, State.DONE, call.output.content, None, replaced=True)
        for entry in entries
        if isinstance(entry, ReplacedEntry)
        for call in entry.free
        if call.name == approval.tool and not approval.source
    ]
    return [*free, *sorted(found, key=lambda one: one.at or 0)][-MAX_EARLIER:]


def _call_view(one: _Call, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "arguments": {name: _short(value) for name, value in shown(one.arguments, parameters).items()},
        "at": None if one.at is None else iso(one.at),
        "state": str(one.state),
        "result": None if one.result is None else _cut(one.result),
        "replaced": one.replaced,
    }


def _sentence(approval: Approval, ran: Sequence[_Call], parameters: dict[str, Any]) -> str | None:
    """Returns one sentence about what is easily overlooked; None if there is nothing of that kind."""
    asked = canonical(approval.arguments)
    striking = [one for one in ran if one.replaced or _same(one, asked)][-MAX_WORDS:]
    if not striking:
        return None
    return f"Already ran in this thread: {'; '.join(_words(one, parameters) for one in striking)}."


def _same(one: _Call, asked: str) -> bool:
    arguments = parse_object(one.arguments)
    return arguments is not None and canonical(arguments) == asked


def _words(one: _Call, parameters: dict[str, Any]) -> str:
    """Returns a call that ran, in words: its arguments, when, and what came of it."""
    items = in_order(one.arguments, parameters).items()
    named = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in items)
    when = "" if one.at is None else f" at {datetime.fromtimestamp(one.at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    where = ", in an answer that was replaced" if one.replaced else ""
    came = {State.FAILED: ", and failed", State.UNKNOWN: ", and whether it took effect is not known"}.get(one.state, "")
    return f"{_cut(named) or 'without arguments'}{when}{where}{came}"


def _short(value: Any) -> Any:
    """Returns an argument as it is, or the beginning of a long one as text."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= MAX_SHOWN else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
