"""Reads what a store has kept, also what a newer version, or a fork, has written.

A store may hold more than this version knows, and that must not make a thread unreadable:

* An entry of an unknown *kind* becomes an `UnreadEntry`. It is kept as it was written, and is shown as nothing. A
  branch drops it with the answer that it stands in.
* An unknown *member* of an entry or a record is passed over, and stays where it is: nothing that stands in the store is
  decoded and encoded again. (But for results that outlive a branch: these are added anew.)
* A *record* of which something can't be read, its state above all, is ``unknown``. That is a state that nothing leaves:
  it is never pending, and its call is never run. What the ledger itself says of it is left as it is.

An entry of a known kind that can't be read is another matter: calls may hang on it. Such a thread is refused, alone and
with a sentence that says so.
"""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from agui_gate.core.approvals import MOVES, Approval, Decision, State
from agui_gate.core.transcript import Entry, KnownEntry, Output, UnreadEntry
from agui_gate.errors import Unreadable

NOT_READ = Output(
    '{"status":"unknown","message":"Another version of this server wrote what became of this call, and this one '
    "can't read it. It does not run here. Check before trying again.\"}",
    is_error=True,
)

_encode = msgspec.json.encode
_entries = msgspec.json.Decoder(list[KnownEntry])
_entry = msgspec.json.Decoder(KnownEntry)
_pieces = msgspec.json.Decoder(list[msgspec.Raw])
_approvals = msgspec.json.Decoder(list[Approval])
_objects = msgspec.json.Decoder(list[dict[str, Any]])
_KINDS = {kind.__struct_config__.tag for kind in get_args(KnownEntry)}


class _Kind(msgspec.Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind)


def encode_entries(entries: Sequence[Entry]) -> bytes:
    """Entries as a JSON array, those that nobody here can read as they were written."""
    if UnreadEntry not in map(type, entries):
        return _encode(entries)
    return _encode([msgspec.Raw(e.body) if type(e) is UnreadEntry else e for e in entries])


def decode_entries(body: bytes) -> list[Entry]:
    """Entries from a JSON array. Raises `Unreadable` if one of them can't be read safely."""
    try:
        return list(_entries.decode(body))
    except msgspec.ValidationError:
        pass  # one of them is of another version
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unreadable from None
    try:
        return [_one_entry(piece) for piece in _pieces.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError):  # cut off, after that one
        raise Unreadable from None


def first_entries(body: bytes, number: int) -> bytes | None:
    """Returns the first entries of a JSON array as they are written; None if there are no more than ``number`` in
    it.
    """
    pieces = _pieces.decode(body)
    return _encode(pieces[:number]) if len(pieces) > number else None


def _one_entry(piece: msgspec.Raw) -> Entry:
    try:
        kind = _kind.decode(piece).type
        entry: Entry = _entry.decode(piece) if kind in _KINDS else UnreadEntry(bytes(piece))
    except msgspec.ValidationError:
        raise Unreadable from None
    return entry


def decode_approvals(body: bytes) -> list[Approval]:
    """Records from a JSON array."""
    try:
        return _approvals.decode(body)
    except msgspec.ValidationError:
        return [_one_approval(record) for record in _objects.decode(body)]


def _one_approval(record: dict[str, Any]) -> Approval:
    """Returns a record as far as it can be read."""
    if isinstance(decision := record.get("decision"), dict) and not _is_readable(decision, Decision):
        record["decision"] = {name: value for name, value in decision.items() if name != "way"}
    try:
        return msgspec.convert(record, Approval)
    except msgspec.ValidationError:
        fields = msgspec.structs.fields(Approval)
        read = {f.name: record[f.name] for f in fields if f.name in record and _is_readable(record[f.name], f.type)}
        read["state"] = _settled(read.get("state"))
        approval = msgspec.convert(read, Approval)
        if approval.output is not None or (approval.state is not State.UNKNOWN and "output" in read):
            return approval
        return msgspec.structs.replace(approval, output=NOT_READ)


def _settled(state: Any) -> str:
    """Returns the state of a record that can't be read whole: as it is if nothing leaves it, else ``unknown``."""
    return state if isinstance(state, str) and not MOVES[State(state)] else State.UNKNOWN.value


def _is_readable(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
