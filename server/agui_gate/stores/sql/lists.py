"""Lists of threads and of approvals in SQL, page by page."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.principals import tenant_of
from agui_gate.stores.base import ApprovalPage, Page, Which
from agui_gate.stores.cursor import Place, fitting, from_cursor, to_cursor
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.orphans import UNSETTLED
from agui_gate.stores.sql.threads import Heads
from agui_gate.stores.sql.variant import Variant

_LAST = 2**63 - 1


def _part(condition: str, direction: str) -> str:
    """Returns the places of some of a principal's approvals, along an index: of what waits, or of the rest."""
    return (
        "SELECT seq FROM (SELECT seq FROM approvals WHERE tenant = :tenant AND principal = :principal "  # noqa: S608 ours
        f"AND {condition} ORDER BY seq {direction} LIMIT :limit) AS part"
    )


def _unsettled(states: str) -> str:
    """Returns the places of some of a principal's unsettled approvals: all of them, as they are a few. Otherwise
    PostgreSQL goes along the rest, and looks for some of these there.
    """
    return (
        "SELECT seq FROM (WITH found AS MATERIALIZED (SELECT seq FROM approvals WHERE tenant = :tenant "  # noqa: S608 ours
        f"AND principal = :principal AND {UNSETTLED} AND {states} AND seq < :after) "
        "SELECT seq FROM found ORDER BY seq DESC LIMIT :limit) AS part"
    )


_WAITING_BEFORE = _part("state = 'pending' AND seq < :after", "DESC")
_DECIDED_BEFORE = _part("state <> 'pending' AND seq < :after", "DESC")
_PLACES: dict[Which, str] = {
    "pending": _part("state = 'pending' AND seq > :after", "ASC"),
    "decided": _DECIDED_BEFORE,
    "all": f"SELECT seq FROM ({_WAITING_BEFORE} UNION ALL {_DECIDED_BEFORE}) AS found ORDER BY seq DESC LIMIT :limit",  # noqa: S608 ours
    "claimed": _unsettled("state IN ('claimed', 'passed', 'given_back')"),
    "unknown": _unsettled("state = 'unknown'"),
}
_IDS = (
    "SELECT id FROM approvals WHERE tenant = :tenant AND principal = value AND state = 'pending' "
    "ORDER BY seq LIMIT :limit"
)
_WORKING = f"tenant = :tenant AND {UNSETTLED} AND state IN ('claimed', 'passed', 'given_back')"
_FIRST: dict[Which, int] = {which: 0 if which == "pending" else _LAST for which in _PLACES}
OVERDUE = (
    "SELECT 1 FROM approvals WHERE tenant = :tenant AND principal = :principal AND state = 'pending' "
    "AND expires_at <= :now LIMIT 1"
)

_OF_PEOPLE = (
    "SELECT seq FROM approvals WHERE tenant = :tenant AND state = 'pending' AND people IS NOT NULL AND seq > :after "
    "AND ({}) = :of ORDER BY seq LIMIT :limit"
)
_decode_places = msgspec.json.Decoder(list[tuple[int]]).decode
_decode_sizes = msgspec.json.Decoder(list[tuple[int, int]]).decode
_decode_ids = msgspec.json.Decoder(list[tuple[str, list[tuple[str]]]]).decode
_TERMS = (
    "SELECT id, people FROM approvals WHERE tenant = :tenant AND principal = value AND state = 'pending' "
    "AND people IS NOT NULL ORDER BY seq LIMIT :limit"
)
_EMERGENCIES = (
    "SELECT at, approval_id FROM approval_events WHERE tenant = :tenant AND kind = 'break_glass' AND at >= :since "
    "ORDER BY at LIMIT 1000"
)
_decode_people = msgspec.json.Decoder(list[tuple[str, list[tuple[str, str]]]]).decode
_decode_states = msgspec.json.Decoder(list[tuple[str, State]]).decode
_decode_mine = msgspec.json.Decoder(list[tuple[int, str, int]]).decode


_NEWEST = "ORDER BY updated_at DESC, key DESC LIMIT"
_OF_AGENT = (
    "SELECT {} FROM (SELECT updated_at, key FROM threads WHERE tenant = :tenant AND principal = :principal "  # noqa: S608 ours
    f"AND archived = {{}} AND agent = {{}} AND (updated_at, key) < (:updated_at, :key){{}} {_NEWEST} {{}}) AS part"
)
"""The newest of an agent's threads, archived or not: along the one index of lists, in its order."""
_AGENTS = (
    "WITH RECURSIVE agents(agent) AS (SELECT min(agent) FROM threads WHERE tenant = :tenant AND principal = :principal "
    "UNION ALL SELECT (SELECT min(agent) FROM threads WHERE tenant = :tenant AND principal = :principal "
    "AND agent > agents.agent) FROM agents WHERE agents.agent IS NOT NULL), "
    "newest(agent, at) AS (SELECT agent, (SELECT max(updated_at) FROM ({}) AS parts) FROM agents "
    "WHERE agent IS NOT NULL), "
    "oldest(at) AS (SELECT coalesce((SELECT at FROM newest WHERE at IS NOT NULL ORDER BY at DESC "
    "LIMIT 1 OFFSET :limit - 1), 0))"
)
"""The agents of a principal's threads, each found behind the one before it, with the time of its newest thread. As many
of these as a page has threads are at least as new as ``oldest``, so no older thread can be on it.
"""
_NEW = " AND updated_at >= (SELECT at FROM oldest)"
_WHOSE = "FROM newest, oldest WHERE newest.at >= oldest.at"
_decode_newest = msgspec.json.Decoder(list[tuple[list[tuple[int, int]]]]).decode
_START = Place(2**63 - 1, 2**63 - 1)


class Lists:
    """The statements and steps of lists."""

    def __init__(self, variant: Variant, ledger: Ledger) -> None:
        self._variant = variant
        self._ledger = ledger
        self._heads = Heads(variant)
        self.places: Mapping[Which, str] = {
            which: f"SELECT {variant.arrays(['seq'])} FROM ({places}) AS found"  # noqa: S608 our names
            for which, places in _PLACES.items()
        }
        self._shown = ledger.reading(variant.among("seq", "seqs"), listed=True)
        size = " + ".join(f"coalesce({variant.size(name)}, 0)" for name in ("arguments", "message", "decision"))
        rows = f"SELECT seq, id, {size} AS size FROM approvals WHERE tenant = :tenant AND {{}} ORDER BY seq"  # noqa: S608 ours
        sized, mine = (
            rows.format(condition)
            for condition in (variant.among("seq", "seqs"), f"principal = :principal AND {variant.among('id', 'ids')}")
        )
        self._sizes = f"SELECT {variant.arrays(['seq', 'size'])} FROM ({sized}) AS found"  # noqa: S608 our names
        self._mine = f"SELECT {variant.arrays(['seq', 'id', 'size'])} FROM ({mine}) AS found"  # noqa: S608 our names
        ids = f"(SELECT {variant.arrays(['id'])} FROM ({_IDS}) AS part)"  # noqa: S608 our names
        self._ids = f"SELECT {variant.arrays(['value', ids])} FROM {variant.each('principals')}"  # noqa: S608 our names
        seqs = variant.arrays(["seq"])
        of_people = _OF_PEOPLE.format(variant.owners_tenant)
        self._of_people = f"SELECT {seqs} FROM ({of_people}) AS found"  # noqa: S608 our names
        working = f"SELECT id, state FROM approvals WHERE {_WORKING} AND {variant.among('principal', 'principals')}"  # noqa: S608 ours
        self._working = f"SELECT {variant.arrays(['id', 'state'])} FROM ({working}) AS found"  # noqa: S608 our names
        people = f"(SELECT {variant.arrays(['id', 'people'])} FROM ({_TERMS}) AS part)"  # noqa: S608 our names
        self._people = f"SELECT {variant.arrays(['value', people])} FROM {variant.each('principals')}"  # noqa: S608 our names

    @staticmethod
    def after(cursor: str | None) -> Place | None:
        """Returns the place after which a list goes on. Raises `InvalidRequest`."""
        return None if cursor is None else from_cursor(cursor)

    def threads(self, wanted: Mapping[str, str | bool | None], after: Place | None, limit: int) -> Steps[Page]:
        """Returns one page of threads; it asks for one more than it shows, to know whether there is another page.

        ``wanted``: what must be equal, by column; None means any.
        """
        values = {**wanted, **msgspec.structs.asdict(after or _START), "limit": limit + 1}
        archived = ("0", "1") if wanted["archived"] is None else (":archived",)
        if wanted["agent"] is None:
            first, which = (
                " UNION ALL ".join(_OF_AGENT.format("updated_at, key", each, *more) for each in archived)
                for more in (("agents.agent", "", "1"), ("newest.agent", _NEW, ":limit"))
            )
            newest = f"(SELECT {self._variant.arrays(['updated_at', 'key'])} FROM ({which}) AS parts)"  # noqa: S608 ours
            text = f"{_AGENTS.format(first)} SELECT {self._variant.arrays([newest])} {_WHOSE}"
            (found,) = yield [Statement(text, values)]
            places = sorted(place for (of_agent,) in _decode_newest(found.rows[0][0]) for place in of_agent)
            values["keys"] = self._variant.listed([key for _, key in places[-limit - 1 :]])
            which = self._variant.among("key", "keys")
        else:
            which = " UNION ALL ".join(_OF_AGENT.format("key", each, ":agent", "", ":limit") for each in archived)
            which = f"key IN ({which})"
        text = self._heads.reading(f"WHERE tenant = :tenant AND {which} {_NEWEST} :limit")
        (found,) = yield Last([Statement(text, values)])
        rows, ticks = self._heads.rows(found)
        shown = rows[:limit]
        more = len(rows) > limit
        return Page(
            [row.head(ticks) for row in shown],
            to_cursor(Place(shown[-1].updated_at, shown[-1].key)) if more else None,
        )

    def approvals(self, principal: str, which: Which, after: Place | None, limit: int) -> Steps[ApprovalPage | None]:
        """Returns one page of approvals; None if some of this principal's are to be expired before a list is right.

        It asks for one more than it shows, to know whether there is.
        """
        start = _FIRST[which] if after is None else after.key
        values = {"principal": principal, "after": start, "limit": limit + 1}
        overdue, found = yield [Statement(OVERDUE, values), Statement(self.places[which], values)]
        if overdue.rows:
            return None
        places = [seq for (seq,) in _decode_places(found.rows[0][0])]
        (sizes,) = yield [Statement(self._sizes, {"seqs": self._variant.listed(places[:limit])})]
        size = dict(_decode_sizes(sizes.rows[0][0]))
        shown = places[: min(limit, fitting(size.get(seq, 0) for seq in places))]
        (read,) = yield Last([Statement(self._shown, {"seqs": self._variant.listed(shown)})])
        approvals = self._ledger.approvals(read)
        # What can't be read may say `pending` in its row, and is not (`core/stored_values.py`).
        ordered = [one for one in approvals if one.is_pending] if which == "pending" else approvals[::-1]
        return ApprovalPage(ordered, to_cursor(Place(0, shown[-1])) if len(places) > len(shown) else None)

    def waiting_ids(self, principals: Collection[str], limit: int) -> Steps[dict[str, list[str]]]:
        """See `InboxStore.waiting_ids`."""
        values = {"principals": self._variant.listed(principals), "limit": limit}
        (found,) = yield Last([Statement(self._ids, values)])
        return {principal: [name for (name,) in ids] for principal, ids in _decode_ids(found.rows[0][0])}

    def working_states(self, principals: Collection[str]) -> Steps[dict[str, State]]:
        """See `WorkingStore.working_states`."""
        (found,) = yield Last([Statement(self._working, {"principals": self._variant.listed(principals)})])
        return dict(_decode_states(found.rows[0][0]))

    def waiting_people(self, principals: Collection[str], limit: int) -> Steps[dict[str, str]]:
        """See `PeopleStore.waiting_people`."""
        values = {"principals": self._variant.listed(principals), "limit": limit}
        (found,) = yield Last([Statement(self._people, values)])
        return {name: text for _, some in _decode_people(found.rows[0][0]) for name, text in some}

    def emergencies(self, since: int) -> Steps[list[tuple[int, str]]]:
        """See `PeopleStore.emergencies`."""
        (found,) = yield Last([Statement(_EMERGENCIES, {"since": since})])
        return [(at, approval_id) for at, approval_id in found.rows]

    def read(self, principal: str, approval_ids: Sequence[str]) -> Steps[tuple[list[Approval], Sequence[str]]]:
        """See `ApprovalStore.read_approvals`."""
        values = {"principal": principal, "ids": self._variant.listed(approval_ids)}
        (places,) = yield [Statement(self._mine, values)]
        found = _decode_mine(places.rows[0][0])
        fit = fitting(size for _, _, size in found)
        seqs = self._variant.listed([seq for seq, _, _ in found[:fit]])
        (read,) = yield Last([Statement(self._shown, {"seqs": seqs})])
        return self._ledger.approvals(read), [approval_id for _, approval_id, _ in found[fit:]]

    def of_people(self, tenant: str, after: int, limit: int) -> Steps[list[tuple[int, Approval]]]:
        """See `PeopleStore.people_waiting`."""
        (found,) = yield [Statement(self._of_people, {"of": tenant, "after": after, "limit": limit})]
        seqs = [seq for (seq,) in _decode_places(found.rows[0][0])]
        (read,) = yield Last([Statement(self._shown, {"seqs": self._variant.listed(seqs)})])
        pairs = zip(seqs, self._ledger.approvals(read), strict=True)
        return [(seq, one) for seq, one in pairs if tenant_of(one.principal) == tenant]

    def one_of_people(self, approval_id: str) -> Steps[Approval | None]:
        """See `PeopleStore.people_approval`."""
        found = yield from self._ledger.fresh("id = :id", {"id": approval_id})
        return next((one for one in found if one.people is not None), None)

    def fresh_approvals(self, principal: str, which: Which, after: Place | None, limit: int) -> Steps[ApprovalPage]:
        """Returns one page, after overdue ones were expired."""
        while True:
            yield from self._ledger.expire("principal = :principal", {"principal": principal})
            page = yield from self.approvals(principal, which, after, limit)
            if page is not None:
                return page
