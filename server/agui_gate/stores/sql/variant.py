"""Where SQLite and PostgreSQL differ in what we ask of them: the one place that says so."""

from collections.abc import Collection, Mapping
from typing import Protocol


class Dialect(Protocol):
    """How a database says what the others say otherwise. Each method gives a piece of SQL, of names of ours."""

    @property
    def lock(self) -> str:
        """After a SELECT: nobody else changes these rows until the transaction ends. "" where writers are alone."""
        ...

    @property
    def goes_on(self) -> str:
        """The statement that takes the database for the one in which the epoch goes on, whatever its past is."""
        ...

    def among(self, column: str, name: str) -> str:
        """The condition that ``column`` is one of the list ``:name``, which is a `listed` value."""
        ...

    def listed(self, values: Collection[str] | Collection[int]) -> object:
        """What the database takes for a list."""
        ...

    def size(self, column: str) -> str:
        """The bytes of a text, or of a `body`; NULL for NULL."""
        ...

    def body(self, json: bytes) -> object:
        """What the column `journal.body` takes: a BLOB, or a text."""
        ...

    def joined(self, column: str) -> str:
        """The aggregate of JSON arrays in ``column``: what is between their brackets, joined by commas, in their order.

        NULL where there is none. It is one value, since each row costs a driver something.
        """
        ...

    def objects(self, columns: Mapping[str, str]) -> str:
        """The aggregate of rows as the text of one JSON array of objects, in their order; ``[]`` where there is none.

        ``columns``: the members' names, and what each is. It is one value for the same reason.
        """
        ...

    def arrays(self, columns: Collection[str]) -> str:
        """The same, each row as an array."""
        ...

    def json(self, column: str) -> str:
        """A text that is JSON, as a part of `objects`; NULL stays null."""
        ...

    def flag(self, column: str) -> str:
        """A boolean as a part of `objects`: true or false."""
        ...

    def beginning(self, column: str, member: str, characters: int) -> str:
        """As `json`, of an object whose ``member`` is a text: of that no more than so many characters."""
        ...
