"""Makes entries of those messages of a client's history that are not plain: see `reconciliation.import_history`.

Any history may have such a message, and few have one. So this is loaded with the first.
"""

from collections.abc import Container

import msgspec

from agui_gate.core import answers as an
from agui_gate.core.transcript import (
    CARD_TOOL,
    CallPart,
    Entry,
    KeptEntry,
    Output,
    ResultEntry,
    TextPart,
    TurnEntry,
)
from agui_gate.protocol.run_input import Message, check_depth
from agui_gate.protocol.snapshot import with_more
from agui_gate.threads.reconciliation import NewId, reported, user_entry

UNTRUSTED = '{"status":"unknown","message":"The record of this approval is gone. The call was not executed."}'


def imported(
    message: Message, new_id: NewId, calls: list[CallPart], cards: Container[str], theirs: Container[str]
) -> Entry | None:
    """Returns the entry of a message; None if nothing is kept of it. Adds its calls to ``calls``."""
    role = message.role
    if role in ("assistant", "tool") and message.subagent_run_id:
        return _of_a_subagent(message, new_id)
    if role == "tool":
        if message.tool_call_id and message.tool_call_id not in cards:
            return _imported_result(message, message.tool_call_id, new_id, theirs)
        return None
    if role == "assistant":
        return _imported_turn(message, new_id, calls)
    if role == "activity":
        return None
    return (role != "reasoning" and user_entry(message, new_id)) or _kept(message, new_id)


def _imported_turn(message: Message, new_id: NewId, calls: list[CallPart]) -> TurnEntry | KeptEntry | None:
    """Returns what an assistant's message says, and adds its calls to ``calls``."""
    turn_id, content = message.id or new_id(), message.content
    text = content if type(content) is str else message.text
    blank = not text or text.isspace()
    found: list[TextPart | CallPart] = [] if blank else [TextPart(turn_id, text)]
    for call in message.tool_calls or ():
        name = call.function.name
        if name != CARD_TOOL and call.id and name:
            if call.metadata is not None:
                check_depth(call.metadata)
            arguments = call.function.arguments or "{}"
            part = CallPart(call.id, call.id, name, arguments, turn_id, kind="client", more=call.more)
            found.append(part)
            calls.append(part)
    if found:
        return TurnEntry(turn_id, tuple(found), more=message.more(blank))
    return None if message.tool_calls else _kept(message, new_id)


def _kept(message: Message, new_id: NewId) -> KeptEntry:
    """Returns a message that only clients need, of the shape that its role has."""
    message_id = message.id or new_id()
    shown = {"id": message_id, "role": message.role}
    if message.role != "assistant" or isinstance(message.content, str):
        shown["content"] = message.text
    shown = shown if (more := message.more()) is None else with_more(shown, more)
    return KeptEntry(message_id, msgspec.json.encode(shown).decode())


def _of_a_subagent(message: Message, new_id: NewId) -> KeptEntry:
    shown = msgspec.json.decode(_kept(message, new_id).message)
    if message.tool_calls:
        calls = [(call.id, call.function) for call in message.tool_calls if call.id and call.function.name]
        told = [(call_id, {"name": made.name, "arguments": made.arguments or "{}"}) for call_id, made in calls]
        shown["toolCalls"] = [{"id": call_id, "type": "function", "function": call} for call_id, call in told]
    if message.role == "tool":
        shown["toolCallId"] = message.tool_call_id or ""
    return KeptEntry(shown["id"], msgspec.json.encode(shown).decode())


def _imported_result(message: Message, call_id: str, new_id: NewId, theirs: Container[str]) -> ResultEntry:
    output = reported(message)
    if an.looks_like_answer(output.content) or (output.error and an.looks_like_answer(output.error)):
        return ResultEntry(call_id, message.id or new_id(), Output(UNTRUSTED, True))
    return ResultEntry(call_id, message.id or new_id(), output, call_id not in theirs, more=message.more())
