"""What messages and turns consist of: content from outside; text, reasoning and calls of a model, and calls' outputs.

`transcript.py` has the entries and turns that are made of these, and all of their names.
"""

from typing import Any, Literal, dataclass_transform

import msgspec

More = str | None
"""The rest that came in with something and says nothing to a model: JSON, shown again as it came. See
`protocol/snapshot.py`."""


# Tells type checkers what msgspec does at run time: subclasses of a frozen struct are frozen.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Struct(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Base: frozen, compact on disk. (Slotted, as every msgspec struct is.)

    Out of the garbage collector's sight: what is frozen and holds JSON can't be part of a cycle. A history has
    thousands of these, and every full collection would walk through them.
    """


class Media(Struct, tag="media", tag_field="type"):
    """An image, audio, video or document part of a user's message.

    ``source`` is ``data`` (base64), ``url`` or ``file`` (a provider's handle), ``value`` what it holds. ``provider``:
    whose handle it is, where that was said.
    """

    kind: Literal["image", "audio", "video", "document"]
    source: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None
    provider: str | None = None
    more: More = None


class Text(Struct, tag="text", tag_field="type"):
    """A text part of a user's message. ``more`` is None where the text was no part, but all of the message."""

    text: str
    more: More = None


Content = Text | Media


CallKind = Literal["server", "gated", "client", "hosted", "held", "task"]
"""The kind of a call, by who resolves it: the server (at once, or after a person agreed), the client, or the provider.

``task``: a sub-agent of ours, whose turns are in the same journal (`TurnEntry.task`). It may take several runs.

``hosted``: the provider ran it, and its result came with the turn. ``held``: the provider would run it and asks first;
what a person decides is told to it with the next request (`SettledCall.consent`). Neither is ever run by us.
"""

Shown = Literal["at_once", "after_turn", "when_decided", "when_done"]
"""The time at which a call was streamed to the client.

That is as the model said it, or held back because its tool has a gate. Then it is
shown after its turn where the gate lets it go free, and else when it is decided. A call that delegates a task may be
held back until that is done. Whether it is held back is the dialect's to say (`protocol/dialects/`).
"""

Private = dict[str, Any]
"""Provider-private JSON an adapter keeps with a part it produced (item ids, phases, signatures, sealed reasoning).

Only the adapter whose `origin` made the turn reads it back; everyone else leaves it alone.
"""


class ConversationRef(Struct):
    """A provider's reference to this thread's conversation: at most one of two typed ids, never a guessed string.

    ``turn_id`` is the assistant turn that was committed with it. The provider knows everything up to and including that
    turn, but no outputs of its calls. ``origin`` is the adapter, endpoint and model that may use it: always the
    adapter's own. ``committed_at`` is in ms since the epoch. ``private`` is whatever else the adapter has to know to go
    on: it is kept, and no client is shown it.
    """

    turn_id: str
    origin: str
    previous_response_id: str | None = None
    conversation_id: str | None = None
    committed_at: int = 0
    private: Private | None = None


class TextPart(Struct, tag="text", tag_field="type"):
    """Assistant text; ``id`` is its AG-UI message id."""

    id: str
    text: str
    private: Private | None = None


class ReasoningPart(Struct, tag="reasoning", tag_field="type"):
    """Reasoning; ``summary`` holds the visible paragraphs and is empty when nothing is visible."""

    id: str
    summary: tuple[str, ...] = ()
    encrypted: str | None = None
    private: Private | None = None


class CallPart(Struct, tag="call", tag_field="type"):
    """A tool call as the model issued it.

    ``id`` is what clients see: unique among the calls that were made here, while a history that a client brought may
    have it twice. ``wire_id`` is the provider's, which may repeat.
    ``parent_id`` is the AG-UI message that shows the call. ``arguments`` is JSON text of an object, or what the model
    wrote where it is not (``malformed`` is then true and the call never runs). ``shown`` says when clients were
    shown it.
    """

    id: str
    wire_id: str
    name: str
    arguments: str
    parent_id: str
    kind: CallKind = "server"
    malformed: bool = False
    private: Private | None = None
    shown: Shown = "at_once"
    more: More = None

    @property
    def local(self) -> bool:
        """True if it is resolved on our side, so that the model has to be given its output."""
        return self.kind not in ("hosted", "held")

    @property
    def is_held(self) -> bool:
        """True if the provider runs it, and has held it back until it is told that it may."""
        return self.kind == "held"


class Output(Struct):
    """The output of a call: the text that the model and the user get.

    What a client reports may be more: ``parts`` if it is a list (``content`` is their text then), and ``error``, which
    stands beside the content.
    """

    content: str
    is_error: bool = False
    error: str = ""
    parts: tuple[Content, ...] | None = None
