"""The SQL of SQLite where PostgreSQL's differs."""

from collections.abc import Collection, Mapping

import msgspec

COPY = "backup_of_a_store"
"""The table by which a copy says that it is one: only copies have it, until their epoch has begun."""


class SQLiteVariant:
    """See `Variant`. Rows come as one value: each step of a cursor releases the GIL, and taking it back from a busy
    event loop costs up to 5 ms.
    """

    lock = ""
    """A transaction that writes is alone from its beginning."""

    owners_tenant = (
        "CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END"
    )

    alone = "SELECT :name"

    beside = ""

    goes_on = f"DROP TABLE IF EXISTS {COPY}"

    def among(self, column: str, name: str) -> str:
        """See `Variant`."""
        return f"{column} IN (SELECT value FROM json_each(:{name}))"  # noqa: S608 our names

    def listed(self, values: Collection[str] | Collection[int]) -> object:
        """See `Variant`."""
        return msgspec.json.encode(list(values)).decode()

    def each(self, name: str) -> str:
        """See `Variant`."""
        return f"json_each(:{name})"

    def size(self, column: str) -> str:
        """See `Variant`. SQLite knows the length of a BLOB without reading it."""
        return f"length(CAST({column} AS BLOB))" if column != "body" else "length(body)"

    def body(self, json: bytes) -> object:
        """See `Variant`."""
        return json

    def joined(self, column: str) -> str:
        """See `Variant`."""
        return f"CAST(group_concat(substr({column}, 2, length({column}) - 2)) AS BLOB)"

    def objects(self, columns: Mapping[str, str]) -> str:
        """See `Variant`."""
        pairs = ", ".join(f"'{name}', {value}" for name, value in columns.items())
        return f"'[' || coalesce(group_concat(json_object({pairs})), '') || ']'"

    def arrays(self, columns: Collection[str]) -> str:
        """See `Variant`."""
        return f"json_group_array(json_array({', '.join(columns)}))"

    def json(self, column: str) -> str:
        """See `Variant`."""
        return f"json({column})"

    def flag(self, column: str) -> str:
        """See `Variant`."""
        return f"json(iif({column}, 'true', 'false'))"

    def beginning(self, column: str, member: str, characters: int) -> str:
        """See `Variant`."""
        path = f"'$.{member}'"
        short = f"json_set({column}, {path}, substr(json_extract({column}, {path}), 1, {characters}))"
        cut = f"length({column}) > {characters} AND instr({column}, '\\u0000') = 0"  # SQLite ends texts at NUL here
        return f"json(iif({cut}, {short}, {column}))"
