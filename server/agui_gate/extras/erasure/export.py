"""Exports what a store keeps about a person: all of what is theirs, and of what is others' the parts that name them."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, cast

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import parse_object
from agui_gate.errors import AguiGateError, Unavailable
from agui_gate.extras.audit.entries import ERASED
from agui_gate.extras.audit.verification import all_events
from agui_gate.extras.erasure.names import LOGIN, Name, erased_event, erased_record
from agui_gate.extras.erasure.tables import TABLES, rows_page
from agui_gate.extras.erasure.trail import records_of
from agui_gate.protocol.cards import iso
from agui_gate.protocol.cards import record as view
from agui_gate.stores.base import Thread, ThreadHead
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sql.reasons import MEMBER
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sql.usage import ledger_of

Json = dict[str, Any]

_KINDS = {
    "grants": "grant",
    "deputies": "deputy",
    "counted_calls": "counted_call",
    "outbox": "notice",
    "deliveries": "delivery",
    "tombstones": "deleted_call",
    "budgets": "budget",
}
"""The tables whose rows are exported as they are, and what a line of each is called."""
_OF_OTHERS = frozenset({*LOGIN, MEMBER, "login", "reason"})


class Export:
    """The lines of one export, each a JSON object with its ``kind``."""

    def __init__(self, store: FullStore, who: Name) -> None:
        if not isinstance(store, SQLStore):
            raise Unavailable("Nothing can be exported from this store.")
        self._store, self._who = store, who
        self._full = cast(FullStore, store)

    async def lines(self) -> AsyncIterator[Json]:
        """Yields all of them: threads, calls of others, the trail, grants and the like, usage."""
        who = self._who
        yield {"kind": "export", "principal": who.name, "tenant": who.tenant, "at": iso(self._store.now())}
        async for head in self._heads():
            yield {"kind": "thread", **await self._thread(head)}
        async for record in records_of(self._store._do, self._store._sql, who):
            yield {"kind": "call_of_others", **self._part(record)}
        async for event in all_events(self._full):
            if erased_event(who, event, keeps_thread=True) != event:
                body = parse_object(event.body) or {}
                is_theirs = event.principal == who.key or who.name in (event.by, body.get("person"))
                reason = await self._store.trail.reason(event) if is_theirs else ""
                said = msgspec.to_builtins(event) | {"body": _own(body, is_theirs), "at": iso(event.at)}
                told = {"kind": "event", "event": event.kind, "reason": ERASED if reason is None else reason}
                yield said | told
        for table in TABLES:
            if table.name in _KINDS:
                async for row in self._rows(table):
                    yield {"kind": _KINDS[table.name], **row}
        async for line in self._usage():
            yield line

    async def _heads(self) -> AsyncIterator[ThreadHead]:
        cursor: str | None = None
        while True:
            page = await self._store.list_threads(self._who.key, limit=200, cursor=cursor, archived=None)
            for head in page.threads:
                yield head
            if (cursor := page.next_cursor) is None:
                return

    async def _thread(self, head: ThreadHead) -> Json:
        told: Json = {"id": head.id, "agent": head.agent, "title": head.title, "archived": head.archived}
        told |= {"created_at": iso(head.created_at), "updated_at": iso(head.updated_at)}
        try:
            thread: Thread | None = await self._store.read_thread(self._who.key, head.id)
        except AguiGateError as error:
            return told | {"error": error.message}
        if thread is None:
            return told | {"error": "It was deleted meanwhile."}
        entries: Sequence[Any] = msgspec.to_builtins(thread.entries)
        return told | {"state": thread.state, "entries": entries, "calls": [view(call) for call in thread.approvals]}

    def _part(self, record: Approval) -> Json:
        """Returns what a record of somebody else's call says of the person, and which call it is."""
        without = msgspec.to_builtins(erased_record(self._who, record))
        theirs = {name: value for name, value in msgspec.to_builtins(record).items() if without.get(name) != value}
        told = {"id": record.id, "agent": record.agent, "tool": record.tool, "asked_at": iso(record.asked_at)}
        if made := theirs.get("decision"):
            theirs["decision"] = _own(made, self._is_by(made))
        if theirs.get("people"):
            said = [yes for yes in theirs["people"].get("said", ()) if self._is_by(yes["decision"])]
            theirs["people"] = {**theirs["people"], "said": said}
        return told | {name: value for name, value in theirs.items() if name != "output"}

    def _is_by(self, made: Json) -> bool:
        return self._who.name in (made.get("by"), made.get("person"))

    async def _rows(self, table: Any) -> AsyncIterator[Json]:
        place: Sequence[Any] | None = tuple(table.key.values())
        while place is not None:
            rows, place = await self._store._do("read", partial(rows_page, table, self._who, place))
            for row in rows:
                yield row if "body" not in row else {**row, "body": parse_object(row["body"])}

    async def _usage(self) -> AsyncIterator[Json]:
        ledger = ledger_of(self._store)
        if ledger is None:
            return
        requests, is_all = await ledger.requests("owner", self._who.key)
        for one in requests:
            told = {
                name: value for name, value in msgspec.structs.asdict(one).items() if name not in ("spent", "owner")
            }
            yield {"kind": "model_request", **told, "at": iso(one.at)}
        if not is_all:
            yield {"kind": "more", "what": "model_request", "since": iso(requests[-1].at)}


def _own(said: Json, is_theirs: bool) -> Json:
    """Returns what an event or a decision says: of somebody else's neither the reason, nor how they logged in."""
    return said if is_theirs else {name: value for name, value in said.items() if name not in _OF_OTHERS}
