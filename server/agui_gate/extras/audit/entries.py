"""Entries of the audit trail as people read them: an event, with what the ledger knows of its call.

The trail has who, when, which way, how they had logged in, and digests of what was said. The ledger has the arguments
that were shown and that ran, and the roles that counted, as long as the thread is there.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from agui_gate.core.approvals import SEPARATOR, Approval, Decision
from agui_gate.core.audit import Event, digest
from agui_gate.core.audit_anchors import read_pruned
from agui_gate.core.audit_verification import KINDS
from agui_gate.core.json_text import parse, parse_object
from agui_gate.core.principals import tenant_of
from agui_gate.errors import InvalidRequest
from agui_gate.extras.audit.sentences import sentence
from agui_gate.protocol.cards import iso
from agui_gate.stores.audit import Link, Part, TrailEntry, TrailStore

STEP = 200
"""Events that are read at once."""
MOST_BYTES = 4 * 1024 * 1024
"""Characters of arguments that one page has, about; a single call may have more."""
MOST_READ = 5_000
"""Events that one page looks at. Where few of them are wanted, the page is shorter, and its cursor goes on."""
END = Link(2**63 - 1, 2**63 - 1, 2**31 - 1)

Entry = dict[str, Any]
Named = Callable[[Approval], Mapping[str, Any]]
"""Returns a record as JSON; see `http.views.approval_view`."""

ERASED = "(erased)"
"""What is shown for a reason of a person who was erased."""

OUTCOMES = ("done", "failed", "unknown")
"""The kinds of events that have a result: that of the last one is kept."""

DECISIONS = ("approved", "agreed", "rejected", "break_glass")
"""The kinds of events that are a person's decision."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are wanted. ``person``: a person or a principal who asked, or did it; ``by``: who did it. Times are
    ms since the epoch; ``until`` is the first one that is left out. ``decision``: a kind of event, of `DECISIONS` for
    decisions.
    """

    since: int = 0
    until: int | None = None
    tool: str = ""
    agent: str = ""
    person: str = ""
    by: str = ""
    thread: str = ""
    approval: str = ""
    decision: str = ""

    def fits(self, entry: Entry) -> bool:
        """Returns whether an entry is wanted."""
        return (
            self.tool in ("", entry["tool"])
            and self.agent in ("", entry["agent"])
            and self.thread in ("", entry["thread_id"])
            and self.decision in ("", entry["kind"])
            and self.approval in ("", entry["approval_id"])
            and self.by in ("", entry["by"], entry["person"])
            and (not self.person or self.person in (entry["by"], entry["person"], entry["asker"], entry["owner"]))
        )


NAMES = Wanted.__struct_fields__


def read_wanted(given: Mapping[str, str]) -> Wanted:
    """Returns what a query asks for. Raises `InvalidRequest`."""
    wanted: dict[str, Any] = {name: given[name] for name in NAMES if given.get(name)}
    wanted |= {name: _time(name, wanted[name]) for name in ("since", "until") if name in wanted}
    if wanted.get("decision", "asked") not in KINDS:
        raise InvalidRequest("decision must be a kind of event, such as approved or rejected.", well_formed=True)
    return Wanted(**wanted)


def _time(name: str, text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            f"{name} must be a time, such as 2026-11-01 or 2026-11-01T08:30:00Z.", well_formed=True
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


class Trail:
    """Reads entries of some parts, newest first. An event that is in several of them comes once. ``sees_all``: also the
    records of threads that were handed on since.
    """

    def __init__(
        self, store: TrailStore, parts: tuple[Part, ...], wanted: Wanted, named: Named, *, sees_all: bool = True
    ) -> None:
        self._store, self._parts, self._wanted, self._named = store, parts, wanted, named
        self._sees_all = sees_all

    async def page(self, limit: int, before: Link) -> tuple[list[Entry], Link | None]:
        """Returns up to ``limit`` entries from behind that place, and the place to go on from; None at the end."""
        found: list[Entry] = []
        read = size = 0
        before = self._latest(before)
        while read < MOST_READ:
            shown = await self._step(before)
            for one in shown:
                if one.event.at < self._wanted.since:
                    return found, None
                before = one.link
                entry = view(one, self._named, self._sees_all)
                if self._wanted.fits(entry):
                    found.append(entry)
                    size += 0 if one.record is None else len(one.record.arguments)
                    if len(found) == limit or size > MOST_BYTES:
                        return found, before
            if not shown:
                return found, None
            read += len(shown)
        return found, before

    async def all(self) -> AsyncIterator[Entry]:
        """Yields all of them."""
        before: Link | None = END
        while before is not None:
            entries, before = await self.page(STEP, before)
            for entry in entries:
                yield entry

    def _latest(self, before: Link) -> Link:
        until = self._wanted.until
        return before if until is None else min(before, Link(until, -1, 0))

    async def _step(self, before: Link) -> list[TrailEntry]:
        """Returns the next events of all parts together, `STEP` at most: as far back as each of them was read."""
        found_in = [await self._store.trail.read(one, before, STEP) for one in self._parts]
        back = max((some[-1].link for some in found_in if some), default=before)
        found = {one.link: one for some in found_in for one in some if one.link >= back}
        return [found[link] for link in sorted(found, reverse=True)][:STEP]


def view(shown: TrailEntry, named: Named, sees_all: bool) -> Entry:
    """Returns an entry. What isn't known is "", an empty list, or None."""
    event, record, left = shown.event, shown.record, shown.left
    if record is not None and record.principal != event.principal:
        is_theirs = sees_all and tenant_of(record.principal) == tenant_of(event.principal)
        record = record if is_theirs else None
    body = parse_object(event.body) or {}
    tenant, _, owner = event.principal.rpartition(SEPARATOR)
    decision = _decision(shown, record)
    call = {} if record is None else named(record)
    entry: Entry = {
        "at": iso(event.at),
        "kind": event.kind,
        "approval_id": event.approval_id,
        "thread_id": event.thread_id,
        "agent": body.get("agent") or (record.agent if record else left.agent if left else ""),
        "tool": body.get("tool") or (record.tool if record else left.tool if left else ""),
        "owner": owner,
        "tenant": tenant,
        "asker": record.asker.id if record and record.asker else "",
        "by": event.by,
        "person": body.get("person", ""),
        "roles": list(decision.roles if decision else body.get("roles", ())),
        "way": event.way,
        "grant": body.get("grant", "") or (decision.grant if decision else ""),
        "address": body.get("address", ""),
        "acr": body.get("acr", ""),
        "amr": body.get("amr", []),
        "auth_time": body.get("auth_time"),
        "jti": body.get("jti", ""),
        "reason": ERASED if shown.reason is None else shown.reason or (decision.reason if decision else None) or "",
        **_place(event.kind, body, decision),
        "from": str(body.get("from", "")).rpartition(SEPARATOR)[2],
        "edited": body.get("edited", []),
        "editor": record.people.editor if record and record.people else "",
        "why": body.get("why", ""),
        "about": _about(event, body),
        "arguments": call.get("arguments"),
        "effective_arguments": _effective(body, record, call),
        "schema": (record.schema_digest if record else None) or body.get("schema"),
        "source": body.get("source") or (record.source if record else left.source if left else ""),
        "message": call.get("message"),
        **_outcome(shown, record, call),
        "run_key": event.run_key,
        "thread_key": event.thread,
        "seq": event.seq,
        "hash": event.hash,
        "key_id": event.key_id,
    }
    return entry | {"text": sentence(entry)}


def _about(event: Event, body: Mapping[str, Any]) -> Entry:
    """Returns what an event is about that is about no call; and as what a call was settled."""
    if event.kind == "settled":
        return {"to": body.get("to", "")}
    if event.kind == "pruned":
        pruned = read_pruned(event)
        threads = {"threads": len(pruned.chains)} if pruned.chains else {"through": pruned.through}
        return threads | {"events": pruned.count or sum(cut.count for cut in pruned.chains.values())}
    return {name: body[name] for name in ("tool", "agent", "tenant") if body.get(name) and not event.approval_id}


def _place(kind: str, body: Mapping[str, Any], decision: Decision | None) -> Entry:
    """Returns in whose place somebody decided, and who may, by an event that names somebody."""
    to = body.get("to", ()) if kind in ("escalated", "handed_to", "deputy_named", "deputy_removed") else ()
    return {
        "absent": body.get("absent", ""),
        "break_glass": kind == "break_glass" or bool(decision and decision.break_glass),
        "to": [to] if isinstance(to, str) else list(to),
        "since": _iso(body.get("since")),
        "until": _iso(body.get("until")),
    }


def _iso(at: Any) -> str | None:
    return iso(at) if isinstance(at, int) else None


def _outcome(shown: TrailEntry, record: Approval | None, call: Mapping[str, Any]) -> Entry:
    """Returns what came of the call, and which response of the model it was in."""
    event, left, request = shown.event, shown.left, shown.request
    return {
        "state": str(record.state.public) if record else str(left.state) if left else "",
        "result": call.get("result") if record and event.kind == str(record.state.public) in OUTCOMES else None,
        "turn_id": record.turn_id if record else "",
        "response_id": (record.provider_ref if record else None) or "",
        "provider": "" if request is None else request.provider,
        "model": "" if request is None else request.model,
        "input_tokens": None if request is None else request.input,
        "output_tokens": None if request is None else request.output,
    }


def _decision(shown: TrailEntry, record: Approval | None) -> Decision | None:
    """Returns the decision that an event is about, with what the trail doesn't have of it."""
    event = shown.event
    if record is None or event.kind not in DECISIONS:
        return None
    said = [yes.decision for yes in record.people.said if yes.at == event.at] if record.people else []
    made = [*said, *([record.decision] if record.decision and record.decided_at == event.at else [])]
    return next((one for one in reversed(made) if one.by == event.by), None)


def _effective(body: Mapping[str, Any], record: Approval | None, call: Mapping[str, Any]) -> Any:
    """Returns the arguments that an event is about, by its digest: those that were agreed to then, or that ran."""
    if record is None:
        return None
    meant = body.get("arguments")
    if meant is None or meant == digest(record.effective_arguments):
        return call.get("effective_arguments")
    texts = [record.arguments]
    if record.people is not None:
        texts += [yes.decision.edited_arguments for yes in record.people.said if yes.decision.edited_arguments]
    return next((parse(text) for text in texts if digest(text) == meant), None)
