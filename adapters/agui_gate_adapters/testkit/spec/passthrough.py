"""What goes through without a meaning of the protocol's own: CUSTOM and metadata."""

from collections.abc import Iterator

from agui_gate_adapters.testkit.spec.finding import Breach, Json, word

RESERVED = "ag-ui"
_PREFIX_ENDS = ":./"


def judge(event: Json) -> Iterator[Breach]:
    """Names that others may use, too."""
    name = word(event, "name")
    if event["type"] == "CUSTOM" and name and not any(mark in name for mark in _PREFIX_ENDS):
        yield Breach("PASS-1", f"CUSTOM `{name}` has no prefix, such as `vendor:{name}`")
    metadata = event.get("metadata")
    if isinstance(metadata, dict) and RESERVED in metadata:
        yield Breach("META-1", f"the key `{RESERVED}` of metadata is reserved for the protocol", "SHOULD")
