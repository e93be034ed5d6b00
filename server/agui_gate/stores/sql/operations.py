"""An operation of a store in SQL, as steps: what is to be sent, and what comes of the answers. No driver in it.

An operation is a generator. It yields batches of statements, is sent one `Result` for each, and returns what came of
it. A driver runs it in one transaction: a batch is one round trip where there is a network. What an operation raises
rolls the transaction back.

* `Last` ends the transaction: it is committed together with that batch. What an operation yields after it is another
  transaction. Without it, the end of the generator commits.
* A driver gives the values of `GIVEN` to each statement by itself, so no operation names them among its ``values``:
  ``:now`` and ``:ticks`` are the store's clock (`stores.clock`; one clock where the database's is the store's),
  in ms, read inside the transaction. ``:tenant`` is whose rows these are; "" until there are several.
* A statement that breaks a unique key raises `Conflict` from the ``yield``. Nothing can be sent after that.
* Each statement of a batch may see what others have committed since the one before. So what must not change is locked
  first (`Variant.lock`), and read or written by a later statement. A batch of a ``read`` sees one state.
* A batch is written so that its later statements find nothing where an earlier one was refused: nobody can look at
  the answers in between.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

T = TypeVar("T")

NOTHING: Mapping[str, object] = {}

GIVEN = ("now", "ticks", "tenant")

NAME = re.compile(r"(?<!:):([a-z_]+\d*)")
"""The pattern of a value's place in a text, with its name."""

Kind = Literal["read", "write", "durable"]
"""``read``: changes nothing, and sees one state. ``durable``: on the disk before it returns, even if power fails."""


class Statement(msgspec.Struct, frozen=True):
    """A statement. ``:name`` in ``text`` stands for the value of that name; the text is one of ours, never input.

    ``after``, ``unless``: the place in its batch of an earlier statement. Where that found and changed nothing (with
    ``unless``: where it did), this one finds nothing either, and a driver that has the answer may leave it out.
    """

    text: str
    values: Mapping[str, object] = NOTHING
    after: int | None = None
    unless: int | None = None


class Result(msgspec.Struct, frozen=True):
    """The rows of a statement, where it reads or says RETURNING. ``changed``: how many rows it changed, or gave.
    ``now``: the time it was given, where the driver gives it.
    """

    rows: list[tuple[Any, ...]]
    changed: int
    now: int = 0


NONE = Result([], 0)


class Last(list[Statement]):
    """A batch with which the transaction ends."""


class Conflict(Exception):
    """A statement was refused, since what it adds is there already."""


Steps = Generator[Sequence[Statement], Sequence[Result], T]
Operation = Callable[[], Steps[T]]
"""Makes the steps; again for another try, where a driver tries again."""


def run(operation: Operation[T], execute: Callable[[Statement], Result]) -> T:
    """Does all steps by ``execute``, one statement at a time, inside a transaction that others begin and end."""
    steps = operation()
    try:
        batch = next(steps)
        while True:
            results: list[Result] = []
            try:
                for statement in batch:
                    after, unless = statement.after, statement.unless
                    needless = (after is not None and not results[after].changed) or (
                        unless is not None and results[unless].changed
                    )
                    results.append(NONE if needless else execute(statement))
            except Conflict as error:
                batch = steps.throw(error)
            else:
                batch = steps.send(results)
    except StopIteration as done:
        value: T = done.value
        return value
