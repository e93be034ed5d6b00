"""The audit trail of gated calls, a chain of events that can be checked.

Theory of operation
-------------------
Whatever happens to an approval is a `Happened`. The store makes an `Event` of it in the same transaction. Events are
only added. Those of one thread are a chain: each has the hash of the one before it (`prev`), and its own `hash`:

    hash = SHA-256 of prev, followed by the event without prev and hash as canonical JSON (`core.json_text`)

With keys, it is an HMAC by one of them (`extras/audit/keys.py`), and the event names it: ``key_id``.

So an event that is changed, left out, added in between or put elsewhere is found (`core/audit_verification.py`), and
everybody can check an exported line by three lines of code. A chain alone proves nothing against who can write all of
it anew, or cut off its end. Against that its `Head` is kept elsewhere, and held against the chain later.

An event outlives its thread, and so it holds nothing of what was said. Of arguments and results it has a digest
(SHA-256). Of an edit it has the places that it changed, as JSON pointers. A reason that a person gave is in it
encrypted, by a key of that person (`stores/sql/reasons.py`).

Where a person was erased, an event has a pseudonym for the name, and keeps its hash: see `Event.erased`.

`body` is the text that was hashed: a store keeps it as text, byte by byte. A reader takes any ``kind`` and any body: a
newer version may have written them.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, cast

import msgspec

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.json_text import parse_object
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError

Told = Literal["asked", "shown", "approved", "agreed", "refused", "replaced", "deleted", "restored", "revoked"]
Moved = Literal["claimed", "passed", "given_back", "done", "failed", "unknown", "rejected", "superseded", "cancelled"]
Done = Literal["settled", "stopped", "handed_on", "frozen", "lifted", "erased", "pruned"]
Named = Literal["break_glass", "handed_to", "deputy_named", "deputy_removed"]
Kind = Literal[Told, Moved, Done, Named, "expired", "escalated", "keyed"]
"""``approved``: a person said yes; in the same step it is ``claimed``. ``agreed``: one said yes, and more have to.
``refused``: an answer that was not taken.

``replaced``: the answer that it belongs to is gone. ``deleted``: so is its thread. ``restored``: a backup was restored
in which it was not settled. ``revoked``: the grant that came with its yes was revoked. ``escalated``: more people may
decide it from then on. ``keyed``: from there on events are signed by another key. ``erased``: a name in it, or in the
whole store, was replaced by a pseudonym. ``pruned``: older events went (`core/audit_anchors.py`). Each of the others is
the move to that state.

``break_glass``: somebody decided it in an emergency, which the next event says. ``handed_to``: a colleague was named
who is to decide it. ``deputy_named``, ``deputy_removed``: somebody decides, or no longer, in the place of who is away;
there is no thread, and no approval.

Of operators, with their reason: ``settled``: what came of it was found out, which the next event says; ``stopped`` and
``handed_on``: its thread was, and there may be no approval; ``frozen`` and ``lifted``: calls are, and there is no
thread.
"""

STORE_CHAIN = 0
"""The key of the chain that belongs to no thread. Threads have larger keys."""

MAX_WHY = 200
"""Characters of why an answer was refused."""
MAX_PATHS = 50
"""Places of an edit that are named."""

Body = Mapping[str, str | int | bool | tuple[str, ...] | None]


def digest(text: str) -> str:
    """SHA-256 of ``text`` as UTF-8, in hexadecimal digits. What could be guessed can be found by trying."""
    return sha256(text.encode()).hexdigest()


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to one approval, before it has its place in a chain.

    ``principal`` and ``thread_id`` (the client's) are the approval's. ``run_key``: the run, or decision, that did it;
    "" for nobody's, such as the clock's. ``by`` is the principal who did it, and ``way`` how that came: one of
    `answers.Way`, or where it was shown. Both are "" for what no person did. ``reason``: why ``person`` did it; a store
    encrypts it before it becomes a part of the body, or leaves it out.
    """

    kind: Kind
    principal: str
    thread_id: str
    approval_id: str
    run_key: str = ""
    by: str = ""
    way: str = ""
    body: str = "{}"
    reason: str = ""
    person: str = ""


class Head(msgspec.Struct, frozen=True):
    """The end of a thread's chain: the number and the hash of its last event. 0 and "" where there is none.

    ``thread`` is the store's key of the thread: another thread of the same name has another one.
    """

    thread: str
    seq: int = 0
    hash: str = ""
    tenant: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link of a chain: what a store keeps, and an export says. ``at``: ms since the epoch, by the store's clock.

    ``seq`` counts the events of the thread from 1. ``key_id``: the key by which ``hash`` was made; "" for none. The
    other members: see `Happened` and `Head`.

    ``erased``: "" for most. Where names were replaced since, ``hash`` is of what it said before, and this vouches for
    what it says now: the key's id, ":", and the hash that it would have behind itself (`as_erased`).
    """

    tenant: str
    thread: str
    seq: int
    at: int
    kind: str
    principal: str
    thread_id: str
    approval_id: str
    run_key: str
    by: str
    way: str
    body: str
    prev: str
    hash: str
    key_id: str = ""
    erased: str = ""

    @property
    def head(self) -> Head:
        """The end of the chain, if this is the last event."""
        return Head(self.thread, self.seq, self.hash, self.tenant)


# --- what happened --------------------------------------------------------------------------------------------------


def asked(approval: Approval) -> Happened:
    """Returns the event that a record was made."""
    return about(
        approval,
        "asked",
        run_key=approval.run_key,
        body={
            "agent": approval.agent,
            "arguments": digest(approval.arguments),
            "call_id": approval.call_id,
            "expires_at": approval.expires_at,
            "runner": approval.runner,
            "schema": approval.schema_digest,
            "source": approval.source,
            "tool": approval.tool,
        },
    )


def moved(
    approval: Approval, to: State, decision: Decision | None = None, output: Output | None = None, run_key: str = ""
) -> tuple[Happened, ...]:
    """Returns the event that the record was moved to ``to``, with what the move said. ``approval`` may be as before or
    as after it.
    """
    if to is State.PENDING:
        raise ValueError("nothing is moved to pending: it is asked")
    body: dict[str, str] = {} if output is None else {"output": digest(output.content)}
    if decision is None:
        return (about(approval, to.value, run_key=run_key, body=body),)
    login = _login(decision)
    alarm = (about(approval, "break_glass", decision, run_key, login),) if decision.break_glass else ()
    if to is not State.CLAIMED:
        return (*alarm, about(approval, to.value, decision, run_key, {**body, **login}))
    yes = about(approval, "approved", decision, run_key, {**_agreed(approval, decision), **login})
    return (*alarm, yes, about(approval, "claimed", run_key=run_key, body=body))


def agreed(approval: Approval, decision: Decision, run_key: str = "") -> Happened:
    """Returns the event that a person said yes where more have to."""
    return about(approval, "agreed", decision, run_key, {**_agreed(approval, decision), **_login(decision)})


def shown(approval: Approval, by: str, way: str, run_key: str) -> Happened:
    """Returns the event that a person was asked about it (again). ``way``: where, such as ``card`` or ``interrupt``."""
    return msgspec.structs.replace(about(approval, "shown", run_key=run_key), by=by, way=way)


def refused(approval: Approval, by: str, way: str, error: AguiGateError, run_key: str) -> Happened:
    """Returns the event that an answer was not taken. Of the sentence that says why only what stands before a colon:
    values may follow it.
    """
    why = error.message.partition(":")[0][:MAX_WHY]
    event = about(approval, "refused", run_key=run_key, body={"code": error.code, "why": why})
    return msgspec.structs.replace(event, by=by, way=way)


def replaced(approval: Approval, run_key: str) -> Happened:
    """Returns the event that the answer to which the call belongs was regenerated, or edited away."""
    return about(approval, "replaced", run_key=run_key)


def _agreed(approval: Approval, decision: Decision) -> Body:
    effective = approval.arguments if decision.edited_arguments is None else decision.edited_arguments
    paths = _changed(approval.arguments, effective)
    by = {"grant": decision.grant} if decision.grant else {}
    return {"arguments": digest(effective), **({"edited": paths} if paths else {}), **by}


def _login(decision: Decision) -> Body:
    """Returns the person behind a decision, how they logged in, and in whose place they decided, where that is so."""
    told: dict[str, Any] = {} if decision.login is None else msgspec.to_builtins(decision.login)
    told |= {"absent": decision.absent.id, "deputy": decision.deputy} if decision.absent else {}
    return {"person": decision.person, **told} if decision.person else told


def _changed(before: str, after: str) -> tuple[str, ...]:
    """Returns the arguments that differ, as JSON pointers."""
    if before == after:
        return ()
    old, new = parse_object(before) or {}, parse_object(after) or {}
    names = [name for name in sorted({*old, *new}) if (name in old, old.get(name)) != (name in new, new.get(name))]
    return tuple("/" + name.replace("~", "~0").replace("/", "~1") for name in names[:MAX_PATHS])


_NOTHING: Body = {}


def about(
    approval: Approval, kind: str, decision: Decision | None = None, run_key: str = "", body: Body = _NOTHING
) -> Happened:
    """Returns an event about an approval, which ``decision`` brought about."""
    return Happened(
        kind=cast(Kind, kind),  # a state's name, where it isn't spelled out
        principal=approval.principal,
        thread_id=approval.thread_id,
        approval_id=approval.id,
        run_key=run_key,
        by=decision.by if decision else "",
        way=(decision.way if decision else None) or "",
        body=_encode(body).decode() if body else "{}",
        reason=(decision.reason if decision else None) or "",
        person=(decision.person or decision.by) if decision else "",
    )


def is_as_agreed(approval: Approval, events: Sequence[tuple[str, str]], *, told: bool = True) -> bool:
    """Returns whether its arguments are those that were asked about, and agreed to if it was.

    ``events``: kinds and bodies of its events of these kinds. Without a question in the trail there was none, unless it
    was not ``told`` there. Where several persons have to agree, each yes in the record has to be in the trail, too.
    """
    said = {kind: parse_object(body) or {} for kind, body in events}
    asked, agreed = said.get("asked"), said.get("approved")
    if approval.people is not None and approval.is_pending:
        from agui_gate.core.agreement import has_each_yes

        if not has_each_yes(approval, approval.people, events):
            return False
    return (not told if asked is None else asked.get("arguments") == digest(approval.arguments)) and (
        agreed is None or agreed.get("arguments") == digest(approval.effective_arguments)
    )


# --- the chain ------------------------------------------------------------------------------------------------------


_TOLD = tuple(name for name in Happened.__struct_fields__ if name not in ("reason", "person"))


def chained(head: Head, at: int, happened: Iterable[Happened]) -> list[Event]:
    """Returns the next events of the chain that ends at ``head``."""
    events: list[Event] = []
    for one in happened:
        head = events[-1].head if events else head
        members: dict[str, Any] = {name: getattr(one, name) for name in _TOLD}
        members |= {"tenant": head.tenant, "thread": head.thread, "seq": head.seq + 1, "at": at}
        events.append(Event(prev=head.hash, hash=sha256(_linked(head.hash, members)).hexdigest(), **members))
    return events


_encode = msgspec.json.Encoder(order="sorted").encode
_HASHED = tuple(name for name in Event.__struct_fields__ if name not in ("prev", "hash", "key_id", "erased"))


def _linked(prev: str, members: dict[str, Any]) -> bytes:
    """Returns what is hashed of an event with these members, behind the one with the hash ``prev``."""
    return prev.encode() + _encode(members | {"body": msgspec.Raw(members["body"].encode())})


def event_hash(event: Event, key: bytes = b"") -> str:
    """Returns the hash of an event behind the one whose hash is its `prev`: an HMAC, if there is a ``key``."""
    members: dict[str, Any] = {name: getattr(event, name) for name in _HASHED}
    members |= {"key_id": event.key_id} if event.key_id else {}
    text = _linked(event.prev, members)
    return (hmac.new(key, text, "sha256") if key else sha256(text)).hexdigest()


def as_erased(event: Event) -> Event:
    """Returns the event that vouches for what one says whose names were replaced: what it says now, behind itself."""
    key_id, _, vouched = event.erased.partition(":")
    return msgspec.structs.replace(event, prev=event.hash, key_id=key_id, hash=vouched, erased="")
