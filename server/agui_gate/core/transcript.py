"""The record of what was said on a thread, in the three forms it takes.

*Entries* are loose: the thread's journal as it is stored, or a client's history as it came in. They are appended one by
one: a user's message, an assistant's turn, a result, a card. Any order, any gaps.

A *transcript* is settled: every tool call sits inside the assistant turn that made it, together with its output.
`SettledCall.output` is required, so "a call without a result" can't be written down. Only the sanitizer
(`core/sanitizer.py`) makes transcripts, and adapters accept nothing else.

*Messages* (AG-UI's flat list) are made from entries by `protocol/snapshot.py`.

All structs are frozen and encode to JSON with msgspec, which is how stores keep entries.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from agui_gate.core.content import CallKind as CallKind
from agui_gate.core.content import CallPart as CallPart
from agui_gate.core.content import Content as Content
from agui_gate.core.content import ConversationRef as ConversationRef
from agui_gate.core.content import Media as Media
from agui_gate.core.content import More as More
from agui_gate.core.content import Output as Output
from agui_gate.core.content import Private as Private
from agui_gate.core.content import ReasoningPart as ReasoningPart
from agui_gate.core.content import Shown as Shown
from agui_gate.core.content import Struct as Struct
from agui_gate.core.content import Text as Text
from agui_gate.core.content import TextPart as TextPart

CARD_TOOL = "confirm_changes"
"""The name of the synthetic call that shows a gated call to clients (docs/http-api.md#a-card)."""

Role = Literal["user", "system", "developer"]


class UserEntry(Struct, tag="user", tag_field="type"):
    """A message that only the client can know. ``id`` is the client's, or minted when it sent none (``minted``)."""

    id: str
    content: tuple[Content, ...]
    role: Role = "user"
    minted: bool = False
    more: More = None


class KeptEntry(Struct, tag="kept", tag_field="type"):
    """A message of a history that a client brought which says nothing to a model: its reasoning, or an empty one.

    ``message`` is the message as it is shown again, as JSON.
    """

    id: str
    message: str


class TurnEntry(Struct, tag="turn", tag_field="type"):
    """A turn of the assistant: what one provider response said.

    ``origin`` is the adapter that made it ("" when a client's history did). ``ref`` is set when the provider
    committed it. ``cut`` marks a turn whose stream did not finish: its complete text is kept, its calls are not.
    ``agent`` is the member of the team that said it ("": the entry agent). ``task`` is the id of the call that
    delegated the task it belongs to ("": the conversation with the user). ``unfit`` says why it is no answer of the
    form that the agent's have, "" if that was not found.
    """

    id: str
    parts: tuple[TextPart | ReasoningPart | CallPart, ...]
    origin: str = ""
    ref: ConversationRef | None = None
    cut: bool = False
    more: More = None
    agent: str = ""
    task: str = ""
    unfit: str = ""

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """The calls of this turn, in order."""
        return tuple([part for part in self.parts if type(part) is CallPart])

    @property
    def awaited(self) -> tuple[CallPart, ...]:
        """The calls that the model waits to hear about: all but those that the provider ran itself."""
        return tuple([call for call in self.calls if call.kind != "hosted"])

    @property
    def told_calls(self) -> tuple[CallPart, ...]:
        """The calls that a transcript has: no cards, and of a turn that was cut no calls but those that have run."""
        return tuple([call for call in self.calls if _is_told(call, self.cut)])


def _is_told(call: CallPart, cut: bool) -> bool:
    """Returns whether the model hears of this call, of a turn that may have been ``cut``."""
    return call.name != CARD_TOOL and (not cut or call.kind == "hosted")


class ResultEntry(Struct, tag="result", tag_field="type"):
    """The output of a call that needed no approval, hosted ones included (others have theirs in the ledger alone).

    ``unverified``: a client says so, of a call that is not its own; the model is told. ``given_up``: the call is the
    client's, which will never give its result; the model is told this in its place.
    """

    call_id: str
    message_id: str
    output: Output
    unverified: bool = False
    given_up: bool = False
    more: More = None


class CardEntry(Struct, tag="card", tag_field="type"):
    """A `confirm_changes` card that was shown for a gated call. Display only: it never reaches a provider."""

    id: str
    message_id: str
    approval_id: str
    arguments: str


class CardClosedEntry(Struct, tag="card_closed", tag_field="type"):
    """A card's answer as the client sent it, or the server's note that it can no longer be answered.

    ``said``: what the client sent, where it came too late and ``content`` is what is true instead. ``retired``: it is
    the server's note.
    """

    card_id: str
    message_id: str
    content: str
    said: str | None = None
    retired: bool = False

    @property
    def by_client(self) -> bool:
        """True if ``content`` is what the client said."""
        return self.said is None and not self.retired


class ReportedEntry(Struct, tag="reported", tag_field="type"):
    """A gated call's outcome was sent to the client. The outcome itself is in the ledger; this only says: not again.

    Of a call that a branch has dropped it says that its id is taken.
    """

    call_id: str


class PassedEntry(Struct, tag="passed", tag_field="type"):
    """An entry of older journals: a note that is in the ledger now, as the states ``passed`` and ``given_back``.

    The migration that brought these states has read it. It is decoded still, and means nothing.
    """

    call_id: str
    back: bool = False


class HandedOffEntry(Struct, tag="handed_off", tag_field="type"):
    """A hand-off: from here on ``agent`` answers in ``task`` ("": the conversation with the user).

    ``agent`` is spelled as in `TurnEntry`. ``call_id`` is the call that transferred it.
    """

    call_id: str
    agent: str
    task: str = ""


class RanCall(Struct):
    """A call that nobody had to approve and that ran: the ledger has no record of it. ``arguments`` is JSON."""

    id: str
    name: str
    arguments: str
    output: Output


class ReplacedEntry(Struct, tag="replaced", tag_field="type"):
    """An answer was regenerated or edited away. What ran in it stays done; ``id`` is the AG-UI message that says so.

    ``gated`` are calls with a record that ran (id, arguments as issued), ``free`` others that ran, ``cards``
    the ids of cards that were shown, each with its approval's.
    """

    id: str
    gated: tuple[tuple[str, str], ...] = ()
    free: tuple[RanCall, ...] = ()
    cards: tuple[tuple[str, str], ...] = ()


class LeftOutEntry(Struct, tag="left_out", tag_field="type"):
    """The model is told ``note`` in the place of something that came in: no provider could take it, or one refused it.

    About the message ``message_id`` (its content's part number ``part``, or all of it), or the output of ``call_id``.
    The message itself stays in the journal as it came. One that comes again with other content, an edit, is not meant.
    """

    note: str
    message_id: str = ""
    part: int | None = None
    call_id: str = ""


class WindowEntry(Struct, tag="window", tag_field="type"):
    """A window: from here on the model of ``agent`` is sent less than all (`Agent(history=…)`).

    That is the conversation from the message ``start`` on, and of that round only the answers from the turn ``then``
    on.
    ``summary`` is told in the place of the rest. All empty: it is sent the whole again.
    """

    start: str = ""
    then: str = ""
    summary: str = ""
    agent: str = ""
    task: str = ""


class ActionEntry(Struct, tag="action", tag_field="type"):
    """An action of the user's in a component, as the client says: a call that no model made, and its result.

    ``message_id`` is the assistant's message that shows the call, ``result_id`` the tool message. Nothing of it can be
    verified here, and the model is told so.
    """

    message_id: str
    call_id: str
    name: str
    arguments: str
    result_id: str
    output: Output


class StateEntry(Struct, tag="state", tag_field="type"):
    """The tool of this call has changed the shared state: a new version of it.

    ``back`` are the operations (JSON Patch) that lead from there to the version before; None where they are too large.
    """

    call_id: str
    back: tuple[dict[str, Any], ...] | None = None


class ActivityEntry(Struct, tag="activity", tag_field="type"):
    """An activity that the tool of this call shows on the page, of this ``kind``. Display only: no model gets it.

    What a model shows beside its answer has the id of its turn for the call's, here and in `StateEntry`.

    Of several with one ``message_id`` the newest content counts, in the place of the first.
    """

    message_id: str
    kind: str
    content: dict[str, Any]
    call_id: str


class PreviewEntry(Struct, tag="preview", tag_field="type"):
    """The page shows the arguments of this call at this place of the shared state, while a person is asked about it."""

    call_id: str
    place: tuple[str, ...]


class EndedEntry(Struct, tag="ended", tag_field="type"):
    """The run ``run_key`` ended before it was complete: by a failure, or stopped. Who comes back is told that again.

    ``code`` and ``message`` are what its client was told; no model is. ``reason`` and ``silent``: see `Stop`.
    """

    run_key: str
    code: str
    message: str
    reason: str | None = None
    silent: bool = False


KnownEntry = (
    UserEntry
    | KeptEntry
    | TurnEntry
    | ResultEntry
    | CardEntry
    | CardClosedEntry
    | ReportedEntry
    | PassedEntry
    | ReplacedEntry
    | LeftOutEntry
    | WindowEntry
    | ActionEntry
    | HandedOffEntry
    | StateEntry
    | ActivityEntry
    | PreviewEntry
    | EndedEntry
)


class UnreadEntry(Struct):
    """An entry of a kind that this version doesn't know, as it was written (`stored.py`). It is shown as nothing."""

    body: bytes


Entry = KnownEntry | UnreadEntry


class SettledCall(Struct, tag="call", tag_field="type"):
    """A call with its output. ``arguments`` is what really ran: an edit may have changed it from `part.arguments`.

    ``consent`` is for held calls (`sanitizer.carrying`): what the provider is told about it with this request. True
    (run it) is told in at most one request ever, False is a no. None: it was told before, or must not be told anything
    any more.
    """

    part: CallPart
    output: Output
    arguments: str
    consent: bool | None = None

    @property
    def edited(self) -> bool:
        """True if a person changed the arguments before it ran."""
        return self.arguments != self.part.arguments


class UserTurn(Struct, tag="user", tag_field="type"):
    """A user's (or the application's) message in a transcript."""

    id: str
    content: tuple[Content, ...]
    role: Role = "user"
    is_note: bool = False
    """True if it says something about the answer before it, and begins nothing."""


class AssistantTurn(Struct, tag="assistant", tag_field="type"):
    """An assistant turn whose calls all have their outputs."""

    id: str
    parts: tuple[TextPart | ReasoningPart | SettledCall, ...]
    origin: str = ""
    ref: ConversationRef | None = None

    @property
    def calls(self) -> tuple[SettledCall, ...]:
        """The settled calls of this turn, in order."""
        return tuple([part for part in self.parts if type(part) is SettledCall])

    @property
    def local_calls(self) -> tuple[SettledCall, ...]:
        """The calls whose output the model is given by us, in order: not those that the provider runs itself."""
        return tuple([part for part in self.parts if type(part) is SettledCall and part.part.local])


Transcript = Sequence[UserTurn | AssistantTurn]
"""A settled conversation, oldest first."""


class Beginning(msgspec.Struct, frozen=True, eq=False):
    """The beginning of a thread's transcript that later requests have, too: its first ``turns``.

    ``made`` is where adapters keep what they make of these turns, by names that say all that it depends on besides: of
    how many turns it is, and the thing itself. That is never changed, and its `len` is about the bytes that it takes,
    besides some for each turn. Only a request with this very ``transcript`` may use it.
    """

    transcript: Transcript
    turns: int
    made: dict[str, tuple[int, Any]]
