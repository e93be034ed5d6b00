"""Notices: what is told of an approval, to a function of the application and to webhooks.

A notice is made from a row of the outbox, with the record as it is then. It has no arguments: they are added when it is
delivered, where whoever gets it is to have them. So arguments of a deleted thread are in no delivery that waits.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, get_args

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import parse_object
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.protocol.cards import iso
from agui_gate.stores.deliveries import Waiting
from agui_gate.stores.outbox import Notice as Row

NoticeKind = Literal[
    "asked",
    "reminder",
    "decided",
    "expired",
    "escalated",
    "handed_to",
    "break_glass",
    "unknown",
    "orphaned",
    "deputy_named",
    "deputy_removed",
]
KINDS: tuple[str, ...] = get_args(NoticeKind)

_BY_STATE: Mapping[str, NoticeKind] = {
    "pending": "asked",
    "claimed": "decided",
    "rejected": "decided",
    "superseded": "decided",
    "cancelled": "decided",
    "deleted": "decided",
    "expired": "expired",
    "unknown": "unknown",
    "reminder": "reminder",
    "escalated": "escalated",
    "orphaned": "orphaned",
    "handed_to": "handed_to",
    "break_glass": "break_glass",
    "deputy_named": "deputy_named",
    "deputy_removed": "deputy_removed",
}
DEPUTIES: frozenset[str] = frozenset(("deputy_named", "deputy_removed"))
"""The kinds that are about no approval: of these, ``approval_id``, ``thread_id`` and ``state`` are ""."""


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A notice about one approval, or about a deputy. Times are ms since the epoch, by the store's clock.

    ``id`` is the same for each attempt to deliver it. ``kind``: ``asked``, a call waits for a person; ``reminder``, it
    still does; ``escalated``, the people in ``to`` may decide it from now on; ``handed_to``, ``by`` wants the colleague
    in ``to`` to decide it; ``break_glass``, ``by`` decided it in an emergency; ``decided``, it waits no more;
    ``expired``, nobody answered in time; ``orphaned``, nobody is at work on a call that was let go; ``unknown``, nobody
    knows what came of it; ``deputy_named`` and ``deputy_removed``, the principal in ``to`` may decide in the place of
    the ``owner`` from ``since`` until ``until``, or not any more.

    ``state`` is that of the approval when this happened: ``pending``, ``claimed`` (somebody approved it), ``rejected``,
    ``superseded`` (the user went on), ``cancelled`` (the run was stopped), ``deleted`` (with its thread), ``expired``
    or ``unknown``. ``owner`` is whose thread it is, and ``asker`` who asked, where that is known. ``approvers``: a
    role, or ids. ``by`` decided; it is "" where nobody did. ``after``: seconds since it was asked, of reminders and
    escalations. ``link`` leads to the call in the inbox, where `AGUI_GATE_PUBLIC_URL` is set.

    ``arguments`` (those that run), ``message`` (the question that the gate asks) and ``reason`` (of who decided) are
    None for webhooks, unless ``with_arguments`` is set; and where the thread is gone.
    """

    id: str
    kind: NoticeKind
    at: int
    approval_id: str
    thread_id: str
    owner: str
    state: str
    tenant: str = ""
    agent: str = ""
    tool: str = ""
    asker: str = ""
    approvers: str | tuple[str, ...] | None = None
    needs: int = 1
    asked_at: int | None = None
    expires_at: int | None = None
    by: str = ""
    to: tuple[str, ...] = ()
    after: float | None = None
    since: int | None = None
    until: int | None = None
    link: str = ""
    arguments: dict[str, Any] | None = None
    message: str | None = None
    reason: str | None = None

    @property
    def owner_key(self) -> str:
        """The owner's key, by which the store finds the approval."""
        return owner_key(self.tenant, self.owner)


class Fact(msgspec.Struct, frozen=True):
    """What a row of the outbox says: the kind, the state, and to whom and after how many ms."""

    kind: NoticeKind
    state: str
    to: tuple[str, ...] = ()
    after: int | None = None
    by: str = ""
    since: int | None = None
    until: int | None = None


def read_row(row: Row) -> Fact | None:
    """Returns what a row says; None if it is no notice: a run's end, or what came of a call in the end."""
    body = {} if row.kind == "run_ended" else parse_object(row.body) or {}
    said = str(body.get("state"))
    if (kind := _BY_STATE.get(said)) is None:
        return None
    known = {"reminder": "pending", "escalated": "pending", "handed_to": "pending", "orphaned": "claimed"}
    state = "" if kind in DEPUTIES else known.get(said, said)
    to, by = tuple(body.get("to", ())), str(body.get("by", ""))
    return Fact(kind, state, to, body.get("after"), by, body.get("since"), body.get("until"))


def make_notice(row: Row, said: Fact, approval: Approval | None, public_url: str) -> Notice:
    """Returns the notice of a row. ``approval``: its record; None if it is gone."""
    tenant = tenant_of(row.principal)
    detail = f"{said.after or ''}{'' if said.kind != 'decided' else said.state}"
    if said.kind == "handed_to":  # it may be once more
        detail = str(row.id)
    notice = Notice(
        id="msg_" + sha256(f"{row.about}\n{said.kind}\n{detail}".encode()).hexdigest()[:32],
        kind=said.kind,
        at=row.created_at,
        approval_id="" if said.kind in DEPUTIES else row.about,
        thread_id=row.thread_id,
        tenant=tenant,
        owner=row.principal.removeprefix(owner_key(tenant, "")) if tenant else row.principal,
        state=said.state,
        to=said.to,
        by=said.by,
        after=None if said.after is None else said.after / 1000,
        since=said.since,
        until=said.until,
        link=f"{public_url.rstrip('/')}/inbox#{'deputies' if said.kind in DEPUTIES else row.about}"
        if public_url
        else "",
    )
    if approval is None:
        return notice
    people, decision = approval.people, approval.decision
    if said.kind == "break_glass" and decision is not None:
        notice = msgspec.structs.replace(notice, state=str(approval.state.public))
    decided_by = decision.by if decision and said.kind in ("decided", "break_glass") else said.by
    return msgspec.structs.replace(
        notice,
        agent=approval.agent,
        tool=approval.tool,
        asker=approval.asker.id if approval.asker else "",
        approvers=people.approvers if people else None,
        needs=people.needs if people else 1,
        asked_at=approval.asked_at,
        expires_at=approval.expires_at,
        by=decided_by,
    )


def with_arguments(notice: Notice, approval: Approval | None) -> Notice:
    """Returns the notice with what it leaves out otherwise."""
    if approval is None:
        return notice
    decision = approval.decision if notice.kind in ("decided", "break_glass") else None
    return msgspec.structs.replace(
        notice,
        arguments=parse_object(approval.effective_arguments) or {},
        message=approval.message,
        reason=decision.reason if decision else None,
    )


def notice_of(delivery: Waiting) -> Notice:
    """Returns the notice of a delivery."""
    return msgspec.json.decode(delivery.body, type=Notice)


def payload(notice: Notice) -> bytes:
    """Returns the body of a webhook: see docs/notifications.md#the-body. Times in it are ISO 8601."""
    data: dict[str, Any] = msgspec.structs.asdict(notice)
    at, kind = data.pop("at"), data.pop("kind")
    del data["id"]
    for name in ("asked_at", "expires_at", "since", "until"):
        data[name] = None if data[name] is None else iso(data[name])
    if kind in DEPUTIES:
        data = {name: data[name] for name in ("owner", "tenant", "by", "to", "since", "until", "link")}
    for name in ("arguments", "message", "reason", "after", "since", "until"):
        if data.get(name) is None:
            data.pop(name, None)
    data = {name: value for name, value in data.items() if value not in ("", ())}
    named = kind.replace("_", ".") if kind in DEPUTIES else f"approval.{kind}"
    return msgspec.json.encode({"type": named, "timestamp": iso(at), "data": data})
