"""S3 to S8 and B20: the registry of pending approvals."""

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.registry import PendingApprovalRegistry
from tests.support.timing import grows_less

KEYS = ("thread-1:call-1", "conv-1:call-1")
ARGUMENTS = {"order": "o1", "amount": 50}


@pytest.fixture
def registry() -> PendingApprovalRegistry:
    return PendingApprovalRegistry()


# --- keys and entries


@pytest.mark.parametrize("key", KEYS)
def test_s4_either_key_uses_the_entry_up_with_all_of_them(registry: PendingApprovalRegistry, key: str) -> None:
    registry.register(KEYS, "refund", ARGUMENTS)
    status, entry = registry.consume(key, "refund", ARGUMENTS)
    assert status == "ok"
    assert entry is not None
    assert (entry.keys, entry.name, entry.arguments) == (KEYS, "refund", '{"amount":50,"order":"o1"}')
    for again in KEYS:
        assert registry.consume(again, "refund", ARGUMENTS) == ("missing", None)
        assert again not in registry
    assert (len(registry), list(registry)) == (0, [])


def test_s3_equal_keys_collapse(registry: PendingApprovalRegistry) -> None:
    registry.register(["t:c", "t:c"], "refund", ARGUMENTS)
    assert (len(registry), list(registry)) == (1, ["t:c"])
    assert registry["t:c"].keys == ("t:c",)


def test_one_key_may_come_bare_or_from_any_iterable(registry: PendingApprovalRegistry) -> None:
    registry.register("t:c", "refund", ARGUMENTS)
    registry.register((key for key in KEYS), "refund", ARGUMENTS)
    assert list(registry) == ["t:c", *KEYS]
    assert len(registry) == 2, "entries are counted, not keys"


def test_s5_the_four_statuses(registry: PendingApprovalRegistry) -> None:
    entry = registry.register(KEYS, "refund", ARGUMENTS)
    assert registry.consume("t:other", "refund", ARGUMENTS) == ("missing", None)
    assert registry.consume(KEYS[0], "delete", ARGUMENTS) == ("name_mismatch", entry)
    assert registry.consume(KEYS[0], "refund", {"order": "o1", "amount": 51}) == ("arguments_mismatch", entry)
    assert registry.consume(KEYS[0], "delete", {}) == ("name_mismatch", entry), "the name comes first"
    assert all(key in registry for key in KEYS), "a mismatch leaves the entry"
    assert registry.consume(KEYS[1], "refund", ARGUMENTS) == ("ok", entry)


def test_a_key_that_is_registered_again_replaces_the_whole_older_entry(registry: PendingApprovalRegistry) -> None:
    registry.register(["a", "b"], "old", {})
    registry.register(["c", "d"], "old too", {})
    registry.register(["b", "c", "e"], "new", {})
    assert set(registry) == {"b", "c", "e"}
    assert len(registry) == 1
    assert registry.consume("a", "old", {}).status == "missing"
    assert registry.consume("e", "new", {}).status == "ok"
    assert len(registry) == 0


def test_s7_over_the_limit_the_oldest_goes_with_all_its_keys() -> None:
    registry = PendingApprovalRegistry(max_size=3)
    for number in range(5):
        registry.register([f"t{number}", f"c{number}"], "refund", None)
    assert list(registry) == ["t2", "c2", "t3", "c3", "t4", "c4"]
    assert len(registry) == 3
    registry.register(["t2", "c2"], "refund", None)
    registry.register("t5", "refund", None)
    assert list(registry) == ["t4", "c4", "t2", "c2", "t5"], "registering again makes it young; looking doesn't"


def test_what_can_not_be_registered(registry: PendingApprovalRegistry) -> None:
    with pytest.raises(ValueError, match="at least one key"):
        registry.register([], "refund", {})
    with pytest.raises(ValueError, match="not JSON"):
        registry.register("k", "refund", {"when": object()})
    with pytest.raises(ValueError, match="max_size"):
        PendingApprovalRegistry(max_size=0)
    assert len(registry) == 0


@given(st.lists(st.tuples(st.sampled_from("rrrc"), st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3))))
def test_no_key_is_ever_orphaned(steps: list[tuple[str, list[str]]]) -> None:
    registry = PendingApprovalRegistry(max_size=3)
    for step, keys in steps:
        if step == "r":
            registry.register(keys, "refund", None)
        else:
            registry.consume(keys[0], "refund", None)
        entries = {id(registry[key]): registry[key] for key in registry}
        assert sorted(registry) == sorted(key for entry in entries.values() for key in entry.keys)
        assert len(registry) == len(entries) <= 3


# --- for older callers (S8)


def test_s8_a_bare_name_is_stored_and_read_like_in_a_dict(registry: PendingApprovalRegistry) -> None:
    registry["t:c"] = "refund"
    assert registry["t:c"] == "refund"
    assert registry["t:c"] != "delete"
    assert str(registry["t:c"]) == f"{registry['t:c']}" == "refund"
    assert {"refund": 1}[registry["t:c"]] == 1  # type: ignore[index]  # hashes like its name
    assert "t:c" in registry
    assert "t:d" not in registry
    assert 5 not in registry
    assert list(registry) == ["t:c"]
    assert len(registry) == 1
    with pytest.raises(KeyError):
        registry["t:d"]
    assert registry.consume("t:c", "delete", {}).status == "name_mismatch"
    assert registry.consume("t:c", "refund", {"anything": 1}).status == "ok"
    assert not list(registry)


def test_an_entry_reads_like_its_name_too(registry: PendingApprovalRegistry) -> None:
    entry = registry.register(KEYS, "refund", ARGUMENTS)
    assert registry[KEYS[0]] == registry[KEYS[1]] == "refund"
    registry["copy"] = entry
    assert registry["copy"] == "refund"
    assert registry["copy"] != entry, "it has other keys"
    assert entry != 5
    assert registry.consume("copy", "refund", {}).status == "arguments_mismatch"
    assert "refund" in repr(entry)


def test_iterating_is_not_disturbed_by_consuming(registry: PendingApprovalRegistry) -> None:
    for number in range(10):
        registry[str(number)] = "refund"
    for key in registry:
        assert registry.consume(key, "refund", None).status == "ok"
    assert len(registry) == 0


# --- arguments

SAME = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, ' {\n"a" : 1 } '),
    ('{"b": {"y": 1, "x": [1, 2]}, "a": null}', {"a": None, "b": {"x": [1, 2], "y": 1}}),
    ({"city": "Łódź"}, '{"city": "\\u0141\\u00f3d\\u017a"}'),
    ({"amount": 50}, {"amount": 50.0}),
    ('{"amount": 50.0}', '{"amount":50}'),
    ('{"amount": 5e1}', {"amount": 50}),
    ({"amount": [{"x": 0.10}]}, '{"amount":[{"x":0.1}]}'),
    ({"amount": -0.0}, {"amount": 0}),
    ({"amount": 1e300}, '{"amount": 1E300}'),
    ({"text": "1.0"}, {"text": "1.0"}),
    ({}, "{}"),
    ("not json", "not json"),
    ('{"a": 1', '{"a": 1'),
]
OTHER = [
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"a": True}),
    ({"a": 0}, {"a": False}),
    ({"a": 1}, {"a": "1"}),
    ({"a": None}, {}),
    ({"a": [1, 2]}, {"a": [2, 1]}),
    ({"a": 1}, {"a": 1, "b": 1}),
    ({"a": 9007199254740993}, {"a": 9007199254740992}),
    ({"a": 0.1}, {"a": 0.10000000000000002}),
    ({"text": "1.0"}, {"text": "1"}),
    ({}, ""),
    ({}, None),
    ({}, "null"),
    ({"a": 1}, '{"a": 1'),
    ({"a": 1}, {"a": object()}),
    ("not json", "not  json"),
    ("not json", {"a": 1}),
    ('{"a": NaN}', '{"a":NaN}'),
    ('{"a": 1e999}', {"a": 1}),
]


@pytest.mark.parametrize(("registered", "given"), SAME)
def test_arguments_that_are_the_same(registry: PendingApprovalRegistry, registered: Any, given: Any) -> None:
    for one, other in ((registered, given), (given, registered)):
        registry.register("k", "refund", one)
        assert registry.consume("k", "refund", other).status == "ok"


@pytest.mark.parametrize(("registered", "given"), OTHER)
def test_arguments_that_are_not(registry: PendingApprovalRegistry, registered: Any, given: Any) -> None:
    registry.register("k", "refund", registered)
    assert registry.consume("k", "refund", given).status == "arguments_mismatch"
    assert "k" in registry


def test_none_is_for_arguments_that_do_not_matter(registry: PendingApprovalRegistry) -> None:
    registry.register("k", "refund", None)
    assert registry["k"].arguments is None
    assert registry.consume("k", "refund", "{]").status == "ok"


def test_absurd_depth_is_no_json_rather_than_a_crash(registry: PendingApprovalRegistry) -> None:
    deep = "[" * 200_000
    registry.register("k", "refund", deep)
    assert registry.consume("k", "refund", "[" * 100_000).status == "arguments_mismatch"
    assert registry.consume("k", "refund", deep).status == "ok"
    nested: dict[str, Any] = {}
    nested["again"] = nested
    with pytest.raises(ValueError, match="nested deeper"):
        registry.register("k", "refund", nested)


# --- concurrency and cost


def test_s6_of_many_threads_exactly_one_gets_each_entry() -> None:
    registry = PendingApprovalRegistry()
    rounds, workers = 300, 8
    for number in range(rounds):
        registry.register([f"t{number}", f"c{number}"], "refund", ARGUMENTS)
    start = threading.Barrier(workers)
    won: list[int] = []

    def consume(worker: int) -> None:
        start.wait(10)
        for number in range(rounds):
            key = f"{'tc'[worker % 2]}{number}"
            if registry.consume(key, "refund", ARGUMENTS).status == "ok":
                won.append(number)

    threads = [threading.Thread(target=consume, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(won) == list(range(rounds))
    assert len(registry) == 0


def test_threads_that_register_and_look_do_not_disturb_each_other() -> None:
    registry = PendingApprovalRegistry(max_size=50)
    errors: list[BaseException] = []

    def act(worker: int) -> None:
        try:
            for number in range(300):
                registry.register([f"{number % 70}", f"{worker}-{number}"], "refund", None)
                for key in registry:
                    key in registry  # noqa: B015 the looking is the point
                registry.consume(f"{(number + worker) % 70}", "refund", None)
                assert len(registry) <= 50
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=act, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert all(key in registry[key].keys for key in registry)


def test_b20_ten_thousand_pending_cost_no_more_each_than_a_hundred() -> None:
    def used(pending: int) -> None:
        registry = PendingApprovalRegistry()
        for number in range(pending):
            registry.register((f"thread:{number}", f"conv:{number}"), "refund", ARGUMENTS)
        for number in range(pending):
            assert registry.consume(f"conv:{number}", "refund", '{"amount": 50, "order": "o1"}').status == "ok"

    def few() -> None:
        for _ in range(100):
            used(100)

    assert grows_less(4, few, lambda: used(10_000))
