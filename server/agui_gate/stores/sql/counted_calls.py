"""Counted calls in SQL: which were claimed lately, by whom, with which numbers. See `core/terms.py`.

Claims of one tenant that depend on sums are made one after the other (`Variant.alone`): each reads what the one before
has written.
"""

from collections.abc import Sequence

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.terms import MAX_COUNTED, MAX_HOURS, WHOSE, Numbers, Sum, Terms, check_logins, numbers, place, total
from agui_gate.errors import TermsChanged
from agui_gate.stores.sql.operations import Statement, Steps
from agui_gate.stores.sql.variant import Variant

FORGET_MS = MAX_HOURS * 3_600_000

_FOUND = (
    "SELECT numbers FROM counted_calls WHERE tenant = :tenant AND whose = :whose AND place = :of AND tool = :tool "
    "AND at >= :since ORDER BY at LIMIT :most"
)
_COUNT = (
    "INSERT INTO counted_calls (tenant, whose, place, tool, at, approval_id, numbers) "
    "VALUES (:tenant, :whose, :of, :tool, :at, :approval_id, :numbers)"
)
_FORGET = "DELETE FROM counted_calls WHERE tenant = :tenant AND at < :before"

_decode = msgspec.json.Decoder(list[tuple[dict[str, str]]]).decode


class CountedCalls:
    """The statements and steps of counted calls."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._read = f"SELECT {variant.arrays([variant.json('numbers')])} FROM ({_FOUND}) AS found"  # noqa: S608 ours

    def numbers(self, wanted: Sum) -> Steps[Sequence[Numbers]]:
        """Returns the numbers of the calls of a sum, oldest first: one more than may be counted, at most."""
        (found,) = yield [Statement(self._read, {**_named(wanted), "most": MAX_COUNTED + 1})]
        return [numbers for (numbers,) in _decode(found.rows[0][0])]

    def checked(self, terms: Terms, claimed: Approval, at: int) -> Steps[list[Statement]]:
        """Returns the statements that count a call which is claimed at that time, after a look at the ``terms``. A yes
        that isn't the last one leaves it pending: of that, deputies and logins alone are looked at. Raises
        `TermsChanged`, `ApprovalRefused` where it is claimed by a grant that doesn't allow it, and `MayNotDecide` where
        a deputy agreed who doesn't stand, or somebody whose login counts no more.
        """
        if terms.deputies:
            from agui_gate.stores.sql.deputies import check_standing

            yield from check_standing(self._variant, terms, at)
        check_logins(terms, claimed)
        if not terms.is_counted or claimed.is_pending:
            return []
        yield [Statement(self._variant.alone, {"name": f"claims of {place('tenant', claimed)}"})]
        for seen in terms.seen:
            try:
                now = total((yield from self.numbers(seen.sum)), seen.sum.field)
            except ValueError:
                raise TermsChanged from None
            if now != seen.total:
                raise TermsChanged
        values = {"tool": claimed.tool, "at": at, "approval_id": claimed.id}
        values["numbers"] = numbers(claimed.effective_arguments)
        counts = [Statement(_COUNT, {**values, "whose": whose, "of": place(whose, claimed)}) for whose in WHOSE]
        counts.append(Statement(_FORGET, {"before": at - FORGET_MS}))
        if terms.by_grant is None and terms.given is None:
            return counts
        from agui_gate.stores.sql import grants

        if terms.by_grant is not None:
            counts += yield from grants.use(self._variant, terms.by_grant, terms.counts, claimed, at)
        return counts if terms.given is None else [*counts, *grants.give(terms.given, at)]


def _named(wanted: Sum) -> dict[str, object]:
    return {"whose": wanted.whose, "of": wanted.of, "tool": wanted.tool, "since": wanted.since}
