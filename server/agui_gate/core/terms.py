"""What a claim depends on besides its record: sums of calls before it, which a store counts in the claim's transaction.

A rule (`extras/people/rules.py`) may say yes because of what was spent so far. Whoever claims says which sums the rule
has seen (`Terms`). The store reads them again, where nobody else can claim at the same time, and refuses the claim if
one is another by now (`TermsChanged`). Then the rule is asked again. So of two claims at once the second one sees the
first, whatever the rule is.

A yes counts no more once the login by which it was made does (`Counts`), and neither does a grant or a deputy. That
is asked in the transaction as well, when it has its locks.

What counts is a *claim*: a call that a person, a rule or a grant let go, whatever came of it. A tool that has failed
may have spent all the same. Numbers outlive the thread of their call, so that deleting it gives nothing back.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from agui_gate.core.approvals import SEPARATOR, Approval, State
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.errors import MayNotDecide

if TYPE_CHECKING:
    from agui_gate.core.grants import Grant, Use

Whose = Literal["owner", "principal", "tenant"]
"""Whose calls a sum has: those on threads of one owner; those that one person asked for; those of a whole tenant."""

WHOSE: tuple[Whose, ...] = get_args(Whose)

MAX_HOURS = 24 * 31
"""Hours that a sum may reach back. Older calls are forgotten."""
MAX_COUNTED = 10_000
"""Calls that a sum may have."""

Numbers = Mapping[str, str]
"""The arguments of one call that are numbers, by their names."""


class Sum(msgspec.Struct, frozen=True):
    """A sum: of ``field`` in the calls of ``tool`` since ``since`` (ms, by the store's clock). ``of``: see `place`."""

    whose: Whose
    of: str
    tool: str
    field: str
    since: int


class Seen(msgspec.Struct, frozen=True):
    """A sum as a rule has seen it."""

    sum: Sum
    total: float


Counts = Callable[[str, str], bool]
"""Returns whether a login still counts: of the principal of that id, by the token of that id ("": it has none)."""


def every_login_counts(name: str, jti: str) -> bool:
    """Says so of all, where nothing is known of tokens."""
    return True


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim depends on: ``seen`` are the sums because of which it is made. The call is counted with it.

    ``by_grant``: the grant by which it is made, instead of a person's yes. ``given``: the grant that comes with that
    yes (its time is set by the store). ``deputies``: ids of those who agreed as deputies and have to stand still.
    ``is_counted``: whether it counts in the sums of rules. ``counts``: which logins do.
    """

    seen: tuple[Seen, ...] = ()
    by_grant: "Use | None" = None
    given: "Grant | None" = None
    deputies: tuple[str, ...] = ()
    is_counted: bool = True
    counts: Counts = every_login_counts


def check_logins(terms: Terms, decided: Approval) -> None:
    """Raises `MayNotDecide` if a call was decided, or agreed to, by a token that counts no more. Of who decides in the
    server's own process, or by a fixed token, there is no id to go by.
    """
    said = () if decided.people is None or decided.state is State.REJECTED else decided.people.said
    made = [yes.decision for yes in said if yes.of == decided.id]
    for one in (*made, *(() if decided.decision is None else (decided.decision,))):
        if one.login is not None and one.login.jti and not terms.counts(one.by, one.login.jti):
            raise MayNotDecide(f"The token by which {one.by} decided is no longer valid. Reject it and ask again.")


def place(whose: Whose, approval: Approval) -> str:
    """Returns whose call it is: an owner's key, a tenant and a person in it, or a tenant."""
    tenant, _, owner = approval.principal.rpartition(SEPARATOR)
    if whose == "owner":
        return approval.principal
    person = approval.asker.person if approval.asker is not None else owner
    return f"{tenant}{SEPARATOR}{person}" if whose == "principal" else tenant


def numbers(arguments: str) -> str:
    """Returns the arguments that are numbers, or texts of one, as a JSON object of texts."""
    given = parse_object(arguments) or {}
    return canonical({name: text for name, value in given.items() if (text := _number(value)) is not None})


decode_numbers = msgspec.json.Decoder(dict[str, str]).decode
"""Reads what `numbers` returns."""


def _number(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 100:
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return str(number) if number.is_finite() else None


def total(calls: Iterable[Numbers], field: str) -> float:
    """Returns the sum of a field. Raises ValueError where it can't be known: a call without that number, or too many
    calls.
    """
    found = list(calls)
    if len(found) > MAX_COUNTED:
        raise ValueError(f"there are more than {MAX_COUNTED:,} calls")
    if any(field not in call for call in found):
        raise ValueError(f"there is a call without a number {field}")
    return float(sum((Decimal(call[field]) for call in found), Decimal()))
