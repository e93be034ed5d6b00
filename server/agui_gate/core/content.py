"""The content of a message from outside, and what all structs of a transcript have in common (`transcript.py`)."""

from typing import Literal, dataclass_transform

import msgspec

More = str | None
"""The rest that came in with something and says nothing to a model: JSON, shown again as it came. See
`protocol/message_shapes.py`."""


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
