"""Which requirements are shown over replicas is known, and none is left out without a reason."""

from tests.replicas import scenarios
from tools.marks import marked


def test_every_scenario_is_shown_over_replicas_or_has_a_reason() -> None:
    missing = [i for i in scenarios.WANTED if i not in scenarios.shown()]
    assert missing == list(scenarios.NOT_SHOWN)


def test_what_is_left_out_exists() -> None:
    known = {test.test for test in marked("shows", scenarios.files())}
    assert [name for name in scenarios.LEFT_OUT if name not in known | {one.partition("::")[0] for one in known}] == []


def test_most_tests_of_the_product_run_over_replicas() -> None:
    """The names that tell what is none would otherwise tell it of everything, and nobody would notice."""
    tests = [test.test for test in marked("shows", scenarios.files()) if "::test_" in test.test]
    assert sum(scenarios.why_not(test) is None for test in tests) > 0.7 * len(tests)


def test_what_looks_into_the_process_is_none() -> None:
    assert scenarios.why_not("product/test_reconnect.py::test_cut_at_every_event_while_the_run_is_live") is not None
    assert scenarios.why_not("core/test_registry.py::test_anything") is not None
    assert scenarios.why_not("product/test_approvals.py::test_a_card_is_approved") is None
