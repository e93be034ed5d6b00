"""The differences between SQLite and PostgreSQL in what we ask of them: the one place that says so."""

from collections.abc import Collection, Mapping
from typing import Protocol

FREEZE = "freeze"
"""The name under which claims and freezes wait for each other (`Variant.alone`)."""


class Variant(Protocol):
    """A database's way to say what the others say otherwise. Each method gives a piece of SQL, of names of ours."""

    @property
    def lock(self) -> str:
        """The end of a SELECT after which nobody else changes these rows until the transaction ends.

        "" where writers are alone.
        """
        ...

    @property
    def alone(self) -> str:
        """The statement after which nobody else comes past the same one with this ``:name`` until the transaction ends.

        It does nothing where writers are alone.
        """
        ...

    @property
    def beside(self) -> str:
        """The statement by which many come past `FREEZE` at once, and nobody who is to be alone there; "" where writers
        are alone.
        """
        ...

    @property
    def goes_on(self) -> str:
        """The statement that takes the database for the one in which the epoch goes on, whatever its past is."""
        ...

    @property
    def owners_tenant(self) -> str:
        """The tenant in the column ``principal``, an owner's key; "" where it has none. An index has just this."""
        ...

    def among(self, column: str, name: str) -> str:
        """Returns the condition that ``column`` is one of the list ``:name``, which is a `listed` value."""
        ...

    def listed(self, values: Collection[str] | Collection[int]) -> object:
        """Returns what the database takes for a list."""
        ...

    def each(self, name: str) -> str:
        """Returns the texts of the list ``:name``, a `listed` value, as a table with one column, ``value``."""
        ...

    def size(self, column: str) -> str:
        """Returns the bytes of a text, or of a `body`; NULL for NULL."""
        ...

    def body(self, json: bytes) -> object:
        """Returns what the column `journal.body` takes: a BLOB, or a text."""
        ...

    def joined(self, column: str) -> str:
        """Returns the aggregate of JSON arrays in ``column``: what is between their brackets, joined by commas, in
        their order.

        NULL where there is none. It is one value, since each row costs a driver something.
        """
        ...

    def objects(self, columns: Mapping[str, str]) -> str:
        """Returns the aggregate of rows as the text of one JSON array of objects, in their order; ``[]`` where there is
        none.

        ``columns``: the members' names, and what each is. It is one value for the same reason.
        """
        ...

    def arrays(self, columns: Collection[str]) -> str:
        """Returns the same aggregate, each row as an array."""
        ...

    def json(self, column: str) -> str:
        """Returns a text that is JSON, as a part of `objects`; NULL stays null."""
        ...

    def flag(self, column: str) -> str:
        """Returns a boolean as a part of `objects`: true or false."""
        ...

    def beginning(self, column: str, member: str, characters: int) -> str:
        """Returns what `json` does, of an object whose ``member`` is a text: of that no more than so many
        characters.
        """
        ...
