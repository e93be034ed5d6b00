"""A person's name in what a store keeps, and what it says without that name.

A name counts in one tenant: as the owner of threads, as the principal who did something, as the person behind one, and
in lists of people. Roles are no names. Text that people wrote is not searched, but for the reasons of operators that an
older version kept in plain.
"""

import re
from typing import Any, Literal, TypeVar

import msgspec

from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.audit import Event, digest
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.principals import checked_name, owner_key, tenant_of
from agui_gate.errors import ConfigurationError
from agui_gate.stores.sql.reasons import MEMBER

Json = dict[str, Any]
Row = dict[str, Any]
T = TypeVar("T")
Changed = Row | Literal["delete"] | None
"""What becomes of a row: new values of some columns, nothing of it, or (None) it stays as it is."""

_OF_RECORDS = ("by", "person", "id", "editor", "approvers", "added", "absent", "from", "to", "handed_to", "handed_by")
_OF_ROWS = ("owner", "giver", "asker", "deputy", "acts_for", "deputy_of")
_NAMES = frozenset((*_OF_RECORDS, *_OF_ROWS))
"""Members of a record's parts, of events, of rows' bodies and of frames that have names of people; also in lists."""
LOGIN = ("person", "acr", "amr", "auth_time", "jti", "address")
GONE = "erased"
"""The encrypted reason of an event whose reason is gone, as if its key were."""


class Name(msgspec.Struct, frozen=True):
    """The name of a principal, in a tenant, and the ``pseudonym`` that it becomes."""

    tenant: str
    name: str
    pseudonym: str = "\0"
    """Until there is one: what nobody is called."""

    @property
    def key(self) -> str:
        """The key of the owner."""
        return owner_key(self.tenant, self.name)

    @property
    def new_key(self) -> str:
        """The key of the owner under the pseudonym."""
        return owner_key(self.tenant, self.pseudonym)

    def thread(self, thread_id: str) -> str:
        """Returns the pseudonym of one of their threads: a client may have put anything into its id."""
        return f"{self.pseudonym}/{digest(f'{self.pseudonym} {thread_id}')[:12]}"

    def one(self, value: str) -> str:
        """Returns a name, or the pseudonym for this one."""
        return self.pseudonym if value == self.name else value

    def owner(self, value: str) -> str:
        """Returns an owner's key, or the one of the pseudonym for this one."""
        return self.new_key if value == self.key else value

    def is_in(self, text: str, whose: str) -> bool:
        """Returns whether JSON about an owner ``whose`` has the name where names of people are."""
        return tenant_of(whose) == self.tenant and self.is_named(text)

    def is_named(self, text: str) -> bool:
        """Returns whether JSON has the name where names of people are."""
        if self.quoted[1:-1] not in text:
            return False
        value = msgspec.json.decode(text)
        return bool(_replaced(self, value) != value)

    def renamed(self, text: str) -> str:
        """Returns JSON with the pseudonym instead of the name, where names of people are."""
        return canonical(_replaced(self, msgspec.json.decode(text)))

    @property
    def quoted(self) -> str:
        """The name as JSON has it."""
        return msgspec.json.encode(self.name).decode()


def checked(tenant: str, name: str) -> Name:
    """Returns a name that somebody may have. Raises `ConfigurationError`."""
    try:
        return Name(checked_name(tenant, "tenant") if tenant else "", checked_name(name, "id"))
    except ValueError as error:
        raise ConfigurationError(f"Nobody has such a name: {error}.") from None


# --- the trail


def erased_event(who: Name, event: Event, *, keeps_thread: bool) -> Event:
    """Returns an event without the name. ``keeps_thread``: its thread is there, as it was handed on."""
    if tenant_of(event.principal) != who.tenant:
        return event
    owned = event.principal == who.key and not keeps_thread
    changed = msgspec.structs.replace(
        event,
        principal=who.owner(event.principal),
        thread_id=who.thread(event.thread_id) if owned and event.thread_id else event.thread_id,
        by=who.one(event.by),
    )
    body = _erased_body(who, event)
    return changed if body is None else msgspec.structs.replace(changed, body=canonical(body))


def _erased_body(who: Name, event: Event) -> Json | None:
    """Returns the body of an event without the name; None where it has none."""
    is_named = event.by == who.name or who.quoted[1:-1] in event.body
    body = parse_object(event.body) if is_named else None
    if body is None:
        return None
    new = _replaced(who, body)
    if str(body.get("why", "")).startswith(f"{who.name} agreed and "):  # an older version said it like that
        new["why"] = new["why"].replace(who.name, who.pseudonym, 1)
    if event.kind == "settled":  # to a state
        new |= {"to": body["to"]} if "to" in body else {}
    is_theirs = who.name in (event.by, body.get("person"))
    if is_theirs:
        new = {name: value for name, value in new.items() if name not in LOGIN}
    said = str(body.get("reason", ""))
    is_told = re.search(rf"(?<!\w){re.escape(who.name)}(?!\w)", said)
    if (is_theirs and (said or MEMBER in body)) or is_told:
        new.pop("reason", None)
        new[MEMBER] = GONE
    return None if new == body else new


# --- records


def erased_record(who: Name, record: Approval) -> Approval:
    """Returns a record of somebody else's call without the name. What the person had edited stays: it is what ran."""
    if tenant_of(record.principal) != who.tenant:
        return record
    decision = _erased_decision(who, record.decision)
    output = record.output
    if decision != record.decision and record.decision is not None and record.state is State.REJECTED:
        told = result_texts.closed(State.REJECTED, record.decision.reason)
        output = result_texts.closed(State.REJECTED) if output == told else output
    asker, people = _erased(who, record.asker), record.people
    if people is not None:
        said = [msgspec.structs.replace(yes, decision=_erased_decision(who, yes.decision)) for yes in people.said]
        people = _erased(who, msgspec.structs.replace(people, said=tuple(said)))
    return msgspec.structs.replace(record, asker=asker, decision=decision, people=people, output=output)


def _erased_decision(who: Name, made: Decision | None) -> Decision | None:
    if made is None or who.name not in (made.by, made.person):
        return _erased(who, made)
    person = "" if made.by == who.name else made.person
    return _erased(who, msgspec.structs.replace(made, person=person, reason=None, login=None))


def _erased(who: Name, part: T) -> T:
    """Returns a part of a record without the name."""
    return part if part is None else msgspec.convert(_replaced(who, msgspec.to_builtins(part)), type(part))


def _replaced(who: Name, value: Any, *, is_name: bool = False) -> Any:
    """Returns JSON without the name, where it is the value of a member that has one. ``is_name``: of such a member."""
    if isinstance(value, dict):
        return {name: _member(who, name, one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(who, one, is_name=is_name) for one in value]
    return who.owner(who.one(value)) if is_name and isinstance(value, str) else value


def _member(who: Name, name: str, value: Any) -> Any:
    if name in ("added", "escalated") and isinstance(value, list | tuple):
        return [_member(who, "approvers", one) for one in value]
    is_role = name == "approvers" and isinstance(value, str)  # ids are in a list
    return _replaced(who, value, is_name=name in _NAMES and not is_role)
