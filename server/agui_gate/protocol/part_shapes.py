"""The shapes of a message's parts in AG-UI 1.x, as `request_shapes.py` has those of messages.

Loaded with the first message that has any.
"""

import msgspec

from agui_gate.protocol.request_shapes import ABSENT, NotNull


class TextShape(msgspec.Struct, frozen=True, tag="text", kw_only=True, forbid_unknown_fields=True):
    """`TextPart`."""

    text: str
    id: str = ABSENT
    metadata: NotNull = ABSENT


class DataShape(msgspec.Struct, frozen=True, tag="data", kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`DataSource`."""

    value: str
    mime_type: str


class UrlShape(msgspec.Struct, frozen=True, tag="url", kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`UrlSource`."""

    value: str
    mime_type: str = ABSENT


class FileShape(msgspec.Struct, frozen=True, tag="file", kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`FileSource`."""

    value: str
    provider: str = ABSENT
    mime_type: str = ABSENT


class _MediaShape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: DataShape | UrlShape | FileShape
    id: str = ABSENT
    metadata: NotNull = ABSENT


class ImageShape(_MediaShape, frozen=True, kw_only=True, tag="image"):
    """`ImagePart`."""


class AudioShape(_MediaShape, frozen=True, kw_only=True, tag="audio"):
    """`AudioPart`."""


class VideoShape(_MediaShape, frozen=True, kw_only=True, tag="video"):
    """`VideoPart`."""


class DocumentShape(_MediaShape, frozen=True, kw_only=True, tag="document"):
    """`DocumentPart`."""


class BinaryShape(msgspec.Struct, frozen=True, tag="binary", kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The part that media parts have replaced."""

    mime_type: str
    id: str = ABSENT
    url: str = ABSENT
    data: str = ABSENT
    filename: str = ABSENT


PartShape = TextShape | ImageShape | AudioShape | VideoShape | DocumentShape | BinaryShape
