"""The model keeps its promises in every state; and each guard is needed, as without it a promise is broken."""

from typing import get_args

import msgspec
import pytest

from tests.ledger_model.calls import Calls
from tests.ledger_model.commits import CommitGuards, Journal
from tests.ledger_model.mutants import MUTANTS
from tests.ledger_model.search import Found, S, search
from tests.ledger_model.world import Guards, Variant
from tests.support.chance import some

BUDGET = some(1, 2)
"""Things that may break in one history: two in the night, and where the lack of a guard is seen only then."""


def told(found: Found[S]) -> str:
    """What was found, for a failed assertion."""
    assert found.broken is not None
    problem, trace = found.broken
    return f"{problem}:\n{trace}"


@pytest.mark.parametrize("variant", get_args(Variant))
def test_no_history_breaks_a_promise(variant: Variant) -> None:
    found = search(Calls(variant, budget=BUDGET))
    print(f"{variant}: {found.states:,} states, {found.taken.total():,} steps")
    assert found.broken is None, told(found)
    assert found.states > some(6_000, 20_000)


@pytest.mark.parametrize("guard", Guards.__struct_fields__)
def test_without_a_guard_a_promise_is_broken(guard: str) -> None:
    variant, budget, words = MUTANTS[guard]
    found = search(Calls(variant, msgspec.structs.replace(Guards(), **{guard: False}), budget=budget))
    assert found.broken is not None, f"{found.states} states, and none in which {guard} matters"
    print(f"{guard}: {told(found)}")
    assert words in found.broken[0], told(found)


def test_the_journal_has_each_entry_once() -> None:
    found = search(Journal())
    print(f"commits: {found.states:,} states")
    assert found.broken is None, told(found)


@pytest.mark.parametrize("guard", CommitGuards.__struct_fields__)
def test_without_its_guard_the_journal_has_one_twice(guard: str) -> None:
    found = search(Journal(msgspec.structs.replace(CommitGuards(), **{guard: False})))
    assert found.broken is not None, f"{found.states} states"
    print(f"{guard}: {told(found)}")
