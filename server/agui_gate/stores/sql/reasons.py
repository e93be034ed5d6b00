"""Reasons in the audit trail, encrypted by a key of the person who gave them.

Theory of operation
-------------------
A reason may say anything, and the trail is kept for years. So it is in the body of its event as
``"encrypted_reason": "ID.TEXT"``: ID names the key, and says nothing of the person; TEXT is base64 of a nonce of 12
bytes and the reason under AES-256-GCM, bound to the kind of the event and the approval. The hash of the event is over
that. Keys are in a table of their own, `person_keys`. Once the row of a person is gone, nobody can read what they
wrote, and every chain is as whole as before.

A key is made at a person's first reason, in the transaction of its event. A reason that no person gave (a rule's) is
not kept here.
"""

import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from agui_gate.core.audit import Event, Happened
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.principals import tenant_of
from agui_gate.stores.sql.operations import Statement, Steps
from agui_gate.stores.sql.variant import Variant

MEMBER = "encrypted_reason"
"""The member of an event's body."""
NONCE = 12
"""Bytes of a nonce."""

_MAKE = (
    "INSERT INTO person_keys (tenant, id, of_tenant, person, key) VALUES (:tenant, :id, :of_tenant, :person, :key) "
    "ON CONFLICT (tenant, of_tenant, person) DO NOTHING"
)
_KEY = "SELECT id, key FROM person_keys WHERE tenant = :tenant AND of_tenant = :of_tenant AND person = :person"


class PersonKey(msgspec.Struct, frozen=True):
    """The key of one person. ``key``: 256 bits, as hexadecimal digits."""

    id: str
    key: str


def key_of(of_tenant: str, person: str) -> Steps[PersonKey]:
    """Returns the key of a person, which is made where there is none."""
    new = {"id": secrets.token_hex(8), "key": secrets.token_hex(32)}
    whose = {"of_tenant": of_tenant, "person": person}
    _, found = yield [Statement(_MAKE, {**whose, **new}), Statement(_KEY, whose)]
    return PersonKey(*found.rows[0])


def encrypted(happened: Iterable[Happened]) -> Steps[list[Happened]]:
    """Returns what happened, its reasons encrypted and in the bodies."""
    found: list[Happened] = []
    for one in happened:
        if one.reason and one.person:
            key = yield from key_of(tenant_of(one.principal), one.person)
            body = (parse_object(one.body) or {}) | {MEMBER: _encrypt(key, one)}
            found.append(msgspec.structs.replace(one, body=canonical(body), reason=""))
        else:
            found.append(one)
    return found


def _encrypt(key: PersonKey, one: Happened) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE)
    text = AESGCM(bytes.fromhex(key.key)).encrypt(nonce, one.reason.encode(), _bound(one.kind, one.approval_id))
    return f"{key.id}.{b64encode(nonce + text).decode()}"


def _bound(kind: str, approval_id: str) -> bytes:
    return f"{kind}\n{approval_id}".encode()


def _parts(event: Event) -> tuple[str, str] | None:
    """Returns the id of the key and the text of an encrypted reason; None if there is none."""
    if MEMBER not in event.body:
        return None
    said = (parse_object(event.body) or {}).get(MEMBER)
    key_id, _, text = said.partition(".") if isinstance(said, str) else ("", "", "")
    return (key_id, text) if key_id else None


def keys_named(events: Iterable[Event]) -> list[str]:
    """Returns the ids of the keys that events name."""
    return sorted({parts[0] for event in events if (parts := _parts(event))})


def reading(variant: Variant, ids: Sequence[str]) -> Statement:
    """Returns the statement that reads the keys of these ids."""
    text = f"SELECT id, key FROM person_keys WHERE tenant = :tenant AND {variant.among('id', 'ids')}"  # noqa: S608 ours
    return Statement(text, {"ids": variant.listed(ids)})


def reason_of(event: Event, keys: Mapping[str, str]) -> str | None:
    """Returns the reason in an event, "" if there is none; None where its key is gone. ``keys``: by their ids."""
    parts = _parts(event)
    if parts is None:
        said = (parse_object(event.body) or {}).get("reason")
        return said if isinstance(said, str) else ""
    key = keys.get(parts[0])
    return None if key is None else _decrypted(key, parts[1], event)


def _decrypted(key: str, text: str, event: Event) -> str | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        whole = b64decode(text, validate=True)
        cipher = AESGCM(bytes.fromhex(key))
        return cipher.decrypt(whole[:NONCE], whole[NONCE:], _bound(event.kind, event.approval_id)).decode()
    except (ValueError, InvalidTag):
        return None
