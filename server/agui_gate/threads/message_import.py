"""A client's messages as entries of a journal: new ones, and whole histories of threads that nobody here has seen.

Nothing of a history is trusted as an approval. Results of calls that are not the client's own are marked as unverified:
this server did not see those calls run.
"""

import os
from collections.abc import Callable, Container, Iterator, Sequence
from typing import cast

import msgspec

from agui_gate.core import answers as an
from agui_gate.core.media import placeholder, problem
from agui_gate.core.transcript import (
    CARD_TOOL,
    CallPart,
    Entry,
    KeptEntry,
    LeftOutEntry,
    Media,
    Output,
    ResultEntry,
    Role,
    TextPart,
    TurnEntry,
    UserEntry,
)
from agui_gate.protocol.message_shapes import with_more
from agui_gate.protocol.run_input import Message, check_depth, parts, says_nothing

UNTRUSTED = '{"status":"unknown","message":"The record of this approval is gone. The call was not executed."}'

NewId = Callable[[], str]


def new_id() -> str:
    """Returns a fresh random id: 32 hex digits."""
    return os.urandom(16).hex()


def user_entry(message: Message, new_id: NewId) -> UserEntry | None:
    """Returns a user's, system's or developer's message; None if it says nothing."""
    content = parts(message.content)
    if not content or (not isinstance(message.content, str) and says_nothing(content)):
        return None
    minted = not message.id
    return UserEntry(message.id or new_id(), content, cast(Role, message.role), minted, message.more())


def reported(message: Message) -> Output:
    """Returns the output that a tool message reports for its call."""
    content = parts(message.content) if isinstance(message.content, list) else None
    return Output(message.text, message.error is not None, message.error or "", content)


def admitted(entry: UserEntry) -> Iterator[Entry]:
    """Yields the message, and notes in the place of what no provider could take of it."""
    yield entry
    for place, part in enumerate(entry.content):
        if isinstance(part, Media) and (reason := problem(part)) is not None:
            yield LeftOutEntry(placeholder(part, reason), entry.id, place)


def taken(entry: ResultEntry) -> Iterator[Entry]:
    """Yields the result, and what is left of it where no provider could take it."""
    yield entry
    for place, part in enumerate(entry.output.parts or ()):
        if isinstance(part, Media) and (reason := problem(part)) is not None:
            yield LeftOutEntry(placeholder(part, reason), part=place, call_id=entry.call_id)


def import_history(messages: Sequence[Message], new_id: NewId, client_tools: Container[str] = ()) -> Iterator[Entry]:
    """Yields a client's history as loose entries, for a thread the server has never seen. Cards and activity stay out
    (B8).

    ``client_tools`` are the names of the tools that the client runs itself, so that it knows their results. What a
    sub-agent said is shown again, and no model is told it: the result of the call that delegated says what came of it.
    """
    cards = {c.id for m in messages for c in m.tool_calls or () if c.function.name == CARD_TOOL}
    theirs = {c.id for m in messages for c in m.tool_calls or () if c.function.name in client_tools}
    for message in messages:
        if message.subagent_run_id and message.role in ("assistant", "tool"):
            yield _of_a_subagent(message, new_id)
        elif message.role in ("user", "system", "developer"):
            entry = user_entry(message, new_id)
            if entry is not None:
                yield from admitted(entry)
            else:
                yield _kept(message, new_id)
        elif message.role == "assistant":
            turn = _imported_turn(message, new_id)
            if turn.parts:
                yield turn
            elif not message.tool_calls:
                yield _kept(message, new_id)
        elif message.role == "reasoning":
            yield _kept(message, new_id)
        elif message.role == "tool" and message.tool_call_id and message.tool_call_id not in cards:
            verified = message.tool_call_id in theirs
            yield from taken(_imported_result(message, message.tool_call_id, new_id, verified=verified))


def _imported_turn(message: Message, new_id: NewId) -> TurnEntry:
    turn_id = message.id or new_id()
    text = message.text
    blank = not text.strip()
    found: list[TextPart | CallPart] = [] if blank else [TextPart(turn_id, text)]
    for call in message.tool_calls or ():
        if call.function.name != CARD_TOOL and call.id and call.function.name:
            arguments = call.function.arguments or "{}"
            name = call.function.name
            if call.metadata is not None:
                check_depth(call.metadata)
            found.append(CallPart(call.id, call.id, name, arguments, turn_id, kind="client", more=call.more))
    return TurnEntry(turn_id, tuple(found), more=message.more(blank))


def _kept(message: Message, new_id: NewId) -> KeptEntry:
    """Returns a message that only clients need, of the shape that its role has."""
    message_id = message.id or new_id()
    shown = {"id": message_id, "role": message.role}
    if message.role != "assistant" or isinstance(message.content, str):
        shown["content"] = message.text
    more = message.more()
    shown = shown if more is None else with_more(shown, more)
    return KeptEntry(message_id, msgspec.json.encode(shown).decode())


def _of_a_subagent(message: Message, new_id: NewId) -> KeptEntry:
    shown = msgspec.json.decode(_kept(message, new_id).message)
    if message.tool_calls:
        calls = (call for call in message.tool_calls if call.id and call.function.name)
        functions = (
            (call.id, {"name": call.function.name, "arguments": call.function.arguments or "{}"}) for call in calls
        )
        shown["toolCalls"] = [{"id": call_id, "type": "function", "function": told} for call_id, told in functions]
    if message.role == "tool":
        shown["toolCallId"] = message.tool_call_id or ""
    return KeptEntry(shown["id"], msgspec.json.encode(shown).decode())


def _imported_result(message: Message, call_id: str, new_id: NewId, *, verified: bool) -> ResultEntry:
    output = reported(message)
    if an.looks_like_answer(output.content) or an.looks_like_answer(output.error):
        return ResultEntry(call_id, message.id or new_id(), Output(UNTRUSTED, True))
    return ResultEntry(call_id, message.id or new_id(), output, not verified, more=message.more())
