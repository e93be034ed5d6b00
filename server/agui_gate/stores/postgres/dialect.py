"""How PostgreSQL says what SQLite says otherwise."""

from collections.abc import Collection, Mapping

from agui_gate.stores.postgres.quoting import MARK


class PostgresDialect:
    """See `Dialect`. Rows come as one JSON value, since each value of a row costs the driver something."""

    lock = " FOR UPDATE"

    def among(self, column: str, name: str) -> str:
        """See `Dialect`."""
        return f"{column} = ANY(:{name})"

    def listed(self, values: Collection[str] | Collection[int]) -> object:
        """See `Dialect`."""
        return list(values)

    def size(self, column: str) -> str:
        """See `Dialect`."""
        return f"octet_length({column})"

    def body(self, json: bytes) -> object:
        """See `Dialect`. `quoting` takes bytes as text."""
        return json

    def joined(self, column: str) -> str:
        """See `Dialect`."""
        return f"string_agg(substr({column}, 2, length({column}) - 2), ',')"

    def objects(self, columns: Mapping[str, str]) -> str:
        """See `Dialect`."""
        pairs = ", ".join(f"'{name}', {value}" for name, value in columns.items())
        return f"coalesce(json_agg(json_build_object({pairs})), '[]')"

    def arrays(self, columns: Collection[str]) -> str:
        """See `Dialect`."""
        return f"coalesce(json_agg(json_build_array({', '.join(columns)})), '[]')"

    def json(self, column: str) -> str:
        """See `Dialect`."""
        return f"CAST({column} AS json)"

    def flag(self, column: str) -> str:
        """See `Dialect`."""
        return f"({column} <> 0)"

    def beginning(self, column: str, member: str, characters: int) -> str:
        """See `Dialect`. What PostgreSQL can't count stays whole: NUL (``\\u0000``), and what stands for a pair."""
        whole = f"CAST({column} AS jsonb)"
        short = f"jsonb_set({whole}, '{{{member}}}', to_jsonb(left({whole} ->> '{member}', {characters})))"
        odd = f"position('\\u0000' IN {column}) + position('{MARK}' IN {column})"
        return (
            f"CASE WHEN length({column}) > {characters} AND {odd} = 0 "
            f"THEN CAST({short} AS json) ELSE CAST({column} AS json) END"
        )
