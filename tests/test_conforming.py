"""Every rule of the specification that binds a server is kept and shown, or it is said why not."""

import pytest

from agui_gate_adapters.testkit.spec import JUDGED, RULES
from tests.conforming import DEPARTURES, NOT_BUILT, conforms
from tools.marks import marked

SHOWN = {i for test in marked("conforms") for i in test.ids}
BINDING = [i for i, rule in RULES.items() if rule.strength in ("MUST", "SHOULD")]


def test_every_rule_has_a_test_or_a_reason() -> None:
    accounted = SHOWN | JUDGED | set(DEPARTURES) | set(NOT_BUILT)
    assert [i for i in BINDING if i not in accounted] == []


def test_a_rule_has_one_standing() -> None:
    assert set(DEPARTURES) & set(NOT_BUILT) == set()


def test_what_is_not_kept_names_rules_and_reasons() -> None:
    assert (DEPARTURES.keys() | NOT_BUILT.keys()) - RULES.keys() == set()
    assert all(reason.endswith(".") for reason in (*DEPARTURES.values(), *NOT_BUILT.values()))


@pytest.mark.parametrize("ids", [(), ("INT-0",), ("INT-5", "int-6")])
def test_an_unknown_id_is_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no such rule"):
        conforms(*ids)
