"""How an operation in steps is run, one statement after the other."""

import pytest

from agui_gate.stores.sql.operations import Conflict, Last, Result, Statement, Steps, run


def counting(statement: Statement) -> Result:
    if statement.text == "conflict":
        raise Conflict
    return Result([(statement.text,)], 0)


def test_each_batch_is_answered_in_order_and_the_value_comes_back() -> None:
    seen: list[list[str]] = []

    def operation() -> Steps[str]:
        for batch in ([Statement("a"), Statement("b")], Last([Statement("c")])):
            results = yield batch
            seen.append([result.rows[0][0] for result in results])
        return "done"

    assert run(operation, counting) == "done"
    assert seen == [["a", "b"], ["c"]]


def test_a_conflict_is_raised_where_it_was_sent_and_an_error_comes_through() -> None:
    def operation() -> Steps[None]:
        try:
            yield [Statement("a"), Statement("conflict")]
        except Conflict:
            raise ValueError("twice") from None

    with pytest.raises(ValueError, match="twice"):
        run(operation, counting)

    def careless() -> Steps[None]:
        yield [Statement("conflict")]

    with pytest.raises(Conflict):
        run(careless, counting)
