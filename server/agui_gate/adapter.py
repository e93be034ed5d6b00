"""The port: what a provider adapter is.

An adapter turns a settled transcript into one provider request, and the provider's byte stream into model events. That
is all it does: it never runs a tool, never sees an approval, never talks AG-UI, and keeps no thread state of its own.
It remembers things between turns in two places: the `private` field of the parts that it produces, and the
`ConversationRef` of the turn. Both come back to it with the transcript.

Adapters import this module and `agui_gate.errors`, and nothing deeper.

Events come in batches: everything one network read brought, in order, so that the engine can encode and send it at
once. A turn's events are, per item: a start, deltas, an end; then exactly one `TurnDone`, or a `ProviderError` raised.
Text, reasoning and calls of one turn may interleave; `key` tells them apart and is the adapter's own (unique in a
turn).

Hosted calls: what a provider runs itself (web search, its own MCP client) is a call that starts with ``hosted=True``.
After its `CallEnd` comes a `CallResult`, or a `CallHeld` if the provider asks before it runs it. Nobody runs such a
call here. In a transcript it is a settled call whose `part.kind` is ``hosted`` or ``held``, with what the adapter kept
of it in ``private``; `AssistantTurn.local_calls` leaves these out. An adapter replays those of its own origin, if its
provider wants them and in the way it wants them. All others it tells as text, in their place in the turn, in the words
of `retold`: another origin's, and those that can't be replayed.

A request may be large: a thread has up to some tens of megabytes and tens of thousands of messages. One event loop
serves everybody. So what goes through a whole request is a pure function. Where the request is `large`, it is called
beside the loop (`off_loop`).

Names are anybody's: models invent some, clients' tools and histories bring others. What a provider refuses for its
content (an attachment, a message) it would refuse with every request that follows, so say which it is: `MediaRefused`,
`ContentRefused`. The engine asks again without the attachment, and leaves out what was refused from then on. The form
of an answer that a provider doesn't take is `FormRefused`: then the engine tells the model of it in the instructions.

A held call's `consent` is what the provider is to be told with this request. An adapter that can't tell a True raises
`ConsentLost` before its first event and is asked again, without it. A False that can't be told is told as text. True is
in one request only, which must never be repeated unless the provider is known not to have acted on it. With it in the
transcript, `RateLimited` and `ProviderAuth` mean exactly that: raise `ProviderUnavailable` where it is not known.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Literal, Protocol, dataclass_transform, runtime_checkable

import msgspec

from agui_gate.concurrency import collector_paused, off_loop, rounds
from agui_gate.core.json_text import is_deeper
from agui_gate.core.model_capabilities import Abilities, Declares
from agui_gate.core.open_questions import ANSWER, open_question
from agui_gate.core.sse import SSESplitter
from agui_gate.core.transcript import (
    AssistantTurn,
    Beginning,
    CallPart,
    Content,
    ConversationRef,
    Media,
    Output,
    Private,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    UserTurn,
)
from agui_gate.core.usage import Usage, token_count

__all__ = [
    "ANSWER",
    "TRACE_HEADERS",
    "Abilities",
    "Activity",
    "Adapter",
    "AssistantTurn",
    "Beginning",
    "CallDelta",
    "CallEnd",
    "CallHeld",
    "CallPart",
    "CallResult",
    "CallStart",
    "Content",
    "ConversationRef",
    "Declares",
    "Finding",
    "Media",
    "ModelEvent",
    "NamedTool",
    "Notice",
    "Output",
    "OutputSpec",
    "Private",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReasoningPart",
    "ReasoningStart",
    "SSESplitter",
    "SettledCall",
    "StateChanged",
    "Text",
    "TextDelta",
    "TextEnd",
    "TextPart",
    "TextStart",
    "ToolChoice",
    "ToolSpec",
    "Transcript",
    "TurnDone",
    "TurnRequest",
    "Usage",
    "UserTurn",
    "collector_paused",
    "is_deeper",
    "misfit",
    "off_loop",
    "open_question",
    "retold",
    "rounds",
    "token_count",
]

MAX_RETOLD = 2_000
"""Characters of a call, and of its result, that `retold` keeps."""


TRACE_HEADERS: ContextVar[Mapping[str, str]] = ContextVar("trace_headers", default=MappingProxyType({}))
"""Headers for what is sent now: the trace that it is part of (W3C `traceparent`). Empty where no traces are made."""


# Tells type checkers what msgspec does at run time: subclasses of a frozen struct are frozen.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class _Event(msgspec.Struct, frozen=True, gc=False):
    """Base of model events: cheap to make, never tracked by the garbage collector (they hold no cycles)."""


class TextStart(_Event):
    """A text item begins. Nothing is shown until its first delta."""

    key: str


class TextDelta(_Event):
    """A piece of text; may be empty."""

    key: str
    text: str


class TextEnd(_Event):
    """The text item is complete."""

    key: str
    private: Private | None = None


class ReasoningStart(_Event):
    """A reasoning item begins; it may stay invisible."""

    key: str


class ReasoningDelta(_Event):
    """A piece of visible reasoning. A new ``paragraph`` number begins a new paragraph."""

    key: str
    text: str
    paragraph: int = 0


class ReasoningEnd(_Event):
    """The reasoning item is complete. ``encrypted`` is its sealed form, to survive in client histories (S20)."""

    key: str
    encrypted: str | None = None
    private: Private | None = None


class CallStart(_Event):
    """A tool call begins. ``wire_id`` is the provider's pairing id and need not be unique (S24).

    ``hosted``: the provider runs it. Its ``name`` is for people (letters, digits, _ and -, as for any tool).
    ``asks``: it does so after a person agreed; a `CallHeld` follows.
    """

    key: str
    wire_id: str
    name: str
    hosted: bool = False
    asks: bool = False


class CallDelta(_Event):
    """A piece of the call's JSON arguments."""

    key: str
    text: str


class CallEnd(_Event):
    """The call is complete; ``arguments`` is its whole JSON text. Only calls that got here can run (B25)."""

    key: str
    arguments: str
    private: Private | None = None


class CallResult(_Event):
    """The result of a hosted call, as text for people; it comes after the call's end. Ignored for any other call.

    ``private`` is added to the one of `CallEnd`. No large media in ``content``: it is cut at 65,536 characters.
    """

    key: str
    content: str
    is_error: bool = False
    private: Private | None = None


class CallHeld(_Event):
    """The provider asks whether it may run this hosted call, which has ended. A person decides, as with a gated call.

    ``expires_after`` is in seconds. ``message`` is what the person is asked. ``editable`` are the arguments that the
    person may change: the adapter tells the provider of it (`SettledCall.edited`). A question that wants more than a
    yes or a no has the arguments of `open_question`, and ``editable=(ANSWER,)``.
    """

    key: str
    expires_after: float | None = None
    message: str | None = None
    editable: tuple[str, ...] = ()


class Notice(_Event):
    """Something to show that is neither text, reasoning nor a call (annotations). ``name`` is namespaced."""

    name: str
    value: Any


class Activity(_Event):
    """An activity, for people: all that is shown of it from now on. ``kind`` is for pages, as the content is."""

    key: str
    kind: str
    content: dict[str, Any]


class StateChanged(_Event):
    """The shared state as the provider has it now. Only where the request had one (`TurnRequest.state`)."""

    state: Any


class TurnDone(_Event):
    """The response ended by itself. ``status`` is ``incomplete`` when a limit or filter cut it (``reason`` says which).

    ``ref`` is what the provider remembers now; the engine fills in ``turn_id`` and ``committed_at`` and stores it.
    ``refused``: the model declined to answer, as its provider says; the text is its reason. ``origin``: that of the
    adapter that answered, where one stands before several.
    """

    status: Literal["completed", "incomplete"] = "completed"
    reason: str | None = None
    usage: Usage | None = None
    ref: ConversationRef | None = None
    refused: bool = False
    origin: str = ""


ModelEvent = (
    TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | CallStart
    | CallDelta
    | CallEnd
    | CallResult
    | CallHeld
    | Notice
    | Activity
    | StateChanged
    | TurnDone
)


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it. ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class NamedTool(msgspec.Struct, frozen=True):
    """The one tool that the model has to call."""

    name: str


ToolChoice = Literal["none", "required"] | NamedTool
"""The choice of a model among its tools: call none, has to call some, has to call this one."""


class OutputSpec(msgspec.Struct, frozen=True):
    """The form of the answer, as a JSON Schema. ``name`` is up to 64 letters, digits, _ and -."""

    name: str
    schema: dict[str, Any]


class TurnRequest(msgspec.Struct, frozen=True):
    """The request for one turn, with everything that it needs.

    It is for reading: the server keeps the transcript for the thread's next runs, and the objects in it (a part's
    ``private``, an activity's ``content``) are the ones that it keeps. What an adapter changes, it copies.
    ``transcript`` is always complete; ``ref`` says what the provider already has. It is None when there is nothing, or
    nothing it may use (after a branch or a hand-off, S22). ``tool_choice`` is None where the model decides; a
    `NamedTool` is always one of ``tools``. An adapter whose provider can't be told leaves it out. ``large``: to go
    through all of it takes so long that others would notice. ``conversation`` names the conversation, the same with
    each request and unlike any other's. It says who and where, so nobody is told it as it is; () is a new one.
    ``output`` is the form that the answer has to have, where the adapter said that its provider can be told
    (`TellsOutput`). Else it is None, and in the instructions. ``state`` is the shared state, where the agent has a
    model of it and the adapter has ``shares_state = True``; else None. ``beginning`` is what an adapter need not make
    again. ``size``: the bytes that the server stores of the conversation; 0 where that is not known.
    """

    transcript: Transcript
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    ref: ConversationRef | None = None
    tool_choice: ToolChoice | None = None
    large: bool = False
    conversation: tuple[str, ...] = ()
    output: OutputSpec | None = None
    state: Any = None
    beginning: Beginning | None = None
    size: int = 0


class Finding(msgspec.Struct, frozen=True):
    """A finding, one line of `agui-gate doctor`: what was checked, whether it is well, and what to do if it is not.

    ``ok`` is None where the check can't tell: that breaks nothing, and is said.
    """

    what: str
    ok: bool | None
    detail: str = ""
    fix: str = ""


def misfit(value: Any, schema: Any) -> str | None:
    """Returns what is wrong with ``value`` by a JSON Schema, without a word of it; None if nothing is."""
    from agui_gate.core import schema_match  # few providers bring schemas

    return schema_match.misfit(value, schema)


def retold(call: SettledCall) -> str:
    """Returns a call that the provider ran (or would have run) itself, as a line of text for a model that can't be
    shown it.
    """
    what = "asked for approval" if call.part.is_held else "was run by the provider"
    return f"[{call.part.name} {_cut(call.arguments)} {what}: {_cut(call.output.content)}]"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_RETOLD else f"{text[:MAX_RETOLD]}…"


@runtime_checkable
class TellsOutput(Protocol):
    """An adapter may have this too: it can tell its provider the form of an answer (`TurnRequest.output`)."""

    def tells_output(self, output: OutputSpec, *, tools: bool) -> bool:
        """Returns whether it can tell this form; ``tools``: in a request that has tools. Pure, and asked once a run."""
        ...


def tells_output(adapter: object, output: OutputSpec, *, tools: bool) -> bool:
    """Returns whether ``adapter`` can tell its provider this form of an answer."""
    return isinstance(adapter, TellsOutput) and adapter.tells_output(output, tools=tools)


@runtime_checkable
class ChecksSetup(Protocol):
    """An adapter may have this too: a server that starts tells what it finds."""

    async def check_setup(self) -> Sequence[Finding]:
        """Says what is missing before the provider can be asked: a package, a key. No network; never raises."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """A model behind a provider. One instance serves any number of concurrent turns."""

    @property
    def origin(self) -> str:
        """Names provider, endpoint and model; private parts and refs are only used where it is equal."""
        ...

    def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Runs one turn and yields its events in batches.

        Closing the generator (or cancelling the task) closes the provider's stream at once. A transient failure before
        the first event is retried once. A provider that has forgotten the conversation is given the whole transcript,
        once, before the first event (B27). Raises `ProviderError` in one of its classified forms; what was yielded
        before stays valid, but a turn that raised was not committed.
        """
        ...

    async def check(self) -> Sequence[Finding]:
        """Says whether key, endpoint and model work, for `agui-gate doctor`. Bounded; never raises."""
        ...

    async def aclose(self) -> None:
        """Closes connections this adapter opened (not a client the caller supplied). Safe to call twice."""
        ...
