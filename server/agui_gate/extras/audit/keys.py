"""Keys of the audit trail: each event is signed by one that the database doesn't have.

Theory of operation
-------------------
A chain of hashes alone proves nothing against who can write all of it anew. With a key, each link is an HMAC-SHA-256 of
what is hashed otherwise (`core/audit.py`), so who owns the database, and not the key, can make none. The event names
the key by an id (`key_id`), which is a part of what is signed. Several keys are valid at once: the first one signs, and
all of them verify.

A signed event about a record also has a digest of that record as it was then (``record`` in its body; when a thread is
handed on, ``records``, of all of them by their ids). It is of every
column but those that `sealed` leaves out. So a record that anybody changed differs from its last event.

Events from before there was a key stay as they are. The first signed one goes on from the last of these, and takes its
hash along. After it, one that isn't signed is a finding.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from agui_gate.config.sources import read_regular
from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Happened, Head, chained, event_hash
from agui_gate.core.audit_anchors import sealed
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.errors import ConfigurationError
from agui_gate.stores.base import Store
from agui_gate.stores.sql.store_chain import begin_keys

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings

SHORTEST = 32
"""Characters of a key at least."""


class Keys:
    """The keys of a trail, the one that signs first. ``is_whole``: they can't be of a file that is half written. Raises
    ValueError for one that is too short, or comes twice.
    """

    def __init__(self, secrets: Sequence[bytes], *, is_whole: bool = True) -> None:
        if not secrets or any(len(secret) < SHORTEST for secret in secrets):
            raise ValueError(f"needs keys of {SHORTEST} characters or more")
        self._secrets = {key_id(secret): secret for secret in secrets}
        if len(self._secrets) < len(secrets):
            raise ValueError("has a key twice")
        self.current, self.is_whole = key_id(secrets[0]), is_whole

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all of them, the one that signs first."""
        return tuple(self._secrets)

    def chained(self, head: Head, at: int, happened: Iterable[Happened], records: Iterable[Approval]) -> list[Event]:
        """Returns the next events of the chain that ends at ``head``, signed. ``records``: those that were changed, as
        they are then.
        """
        seals = {record.id: sealed(record) for record in records}
        all_of_them = {"records": seals}
        events: list[Event] = []
        for one in happened:
            seal = {"record": seals[one.approval_id]} if one.approval_id in seals else {}
            (event,) = chained(head, at, [_with_seal(one, all_of_them if one.kind == "handed_on" else seal)])
            event = msgspec.structs.replace(event, key_id=self.current)
            event = msgspec.structs.replace(event, hash=event_hash(event, self._secrets[self.current]))
            events.append(event)
            head = event.head
        return events

    def hash_of(self, event: Event) -> str | None:
        """Returns the hash that an event has to have; None where its key isn't one of these."""
        if not event.key_id:
            return event_hash(event)
        secret = self._secrets.get(event.key_id)
        return None if secret is None else event_hash(event, secret)


def key_id(secret: bytes) -> str:
    """Returns the id of a key, which says nothing of it."""
    return sha256(b"agui-gate audit key\n" + secret).hexdigest()[:12]


def _with_seal(one: Happened, seal: dict[str, Any]) -> Happened:
    if not seal:
        return one
    return msgspec.structs.replace(one, body=canonical((parse_object(one.body) or {}) | seal))


# --- where they come from -------------------------------------------------------------------------------------------


def read_keys(settings: "Settings") -> Keys | None:
    """Returns the keys that settings name, or the file that they name; None if they name none. Raises
    `ConfigurationError`.
    """
    if settings.audit_key and settings.audit_key_file:
        raise ConfigurationError("Set AGUI_GATE_AUDIT_KEY or AGUI_GATE_AUDIT_KEY_FILE, not both.")
    named, secrets, is_whole = "AGUI_GATE_AUDIT_KEY", settings.audit_key, True
    if settings.audit_key_file:
        text = _text_of(settings.audit_key_file)
        lines = (line.strip() for line in text.splitlines())
        secrets = tuple(line for line in lines if line and not line.startswith("#"))
        named, is_whole = "AGUI_GATE_AUDIT_KEY_FILE", text.endswith("\n")
    elif not secrets:
        return None
    try:
        return Keys([secret.encode() for secret in secrets], is_whole=is_whole)
    except ValueError as problem:
        raise ConfigurationError(f"{named} {problem}.") from None


def _text_of(path: str) -> str:
    try:
        return read_regular(Path(path)).decode()
    except OSError as error:
        raise ConfigurationError(
            f"The file with the keys of the audit trail, {path}, can't be read: {error.strerror}. Nothing starts "
            "without it, since it could sign nothing."
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"The file with the keys of the audit trail, {path}, is not UTF-8 text.") from None


async def replace_keys(store: Store, keys: Keys) -> None:
    """Signs by other keys from now on, of which the trail says so first. Nothing that is at work ends. Raises
    `Unavailable`, and `ConfigurationError` if the key is missing that signs now and the file may be half written; then
    it is signed as before.
    """
    whole = cast(Any, store)
    if whole.trail.keys.current not in keys.ids and not keys.is_whole:
        raise ConfigurationError(
            f"The key {whole.trail.keys.current}, by which the audit trail is signed, is missing, and the file may be "
            "half written: its last line has no end."
        )
    trail = copy(whole._sql.trail)
    trail.keys = keys
    await whole._do("write", lambda: begin_keys(whole._sql.ledger.variant, trail))
    whole.trail.keys = keys


def keyed(store: Store, settings: "Settings") -> Store:
    """Returns ``store``, whose trail is signed by the keys that settings name. Raises `ConfigurationError`."""
    keys = read_keys(settings)
    if keys is None:
        return store
    trail: Any = getattr(store, "trail", None)
    if trail is None:
        raise ConfigurationError("This store can't sign its audit trail. Leave AGUI_GATE_AUDIT_KEY out.")
    trail.keys, start, whole = keys, store.start, cast(Any, store)

    async def started() -> None:
        await start()
        await trail.begin_keys()

    whole.start = started
    return store
