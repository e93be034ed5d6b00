"""The SQL of PostgreSQL where SQLite's differs."""

from collections.abc import Collection, Mapping

from agui_gate.stores.postgres.literals import MARK
from agui_gate.stores.sql.variant import FREEZE

PAST = (
    "((SELECT system_identifier FROM pg_control_system()) || '/' "
    "|| substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) || '/' "
    "|| (SELECT oid FROM pg_database WHERE datname = current_database()))"
)
"""Names this database and its past: the cluster, its timeline, and the database in it. A restart, also after a crash,
changes none of them. A standby that is promoted, and a restore to a point in time, begin a timeline. (It is asked of
the log as it is written: the control file has it only after the next checkpoint.)
"""


class PostgresVariant:
    """See `Variant`. Rows come as one JSON value, since each value of a row costs the driver something."""

    lock = " FOR UPDATE"

    owners_tenant = "CASE WHEN strpos(principal, chr(31)) > 0 THEN split_part(principal, chr(31), 1) ELSE '' END"

    alone = "SELECT pg_advisory_xact_lock(hashtextextended(:name, 4707201841102))"

    beside = f"SELECT pg_advisory_xact_lock_shared(hashtextextended('{FREEZE}', 4707201841102))"

    goes_on = f"UPDATE epoch SET goes_on_in = {PAST}"  # noqa: S608 ours

    def among(self, column: str, name: str) -> str:
        """See `Variant`."""
        return f"{column} = ANY(:{name})"

    def listed(self, values: Collection[str] | Collection[int]) -> object:
        """See `Variant`."""
        return list(values)

    def each(self, name: str) -> str:
        """See `Variant`."""
        return f"unnest(CAST(:{name} AS text[])) AS listed (value)"

    def size(self, column: str) -> str:
        """See `Variant`."""
        return f"octet_length({column})"

    def body(self, json: bytes) -> object:
        """See `Variant`. `literals` writes bytes as text."""
        return json

    def joined(self, column: str) -> str:
        """See `Variant`."""
        return f"string_agg(substr({column}, 2, length({column}) - 2), ',')"

    def objects(self, columns: Mapping[str, str]) -> str:
        """See `Variant`."""
        pairs = ", ".join(f"'{name}', {value}" for name, value in columns.items())
        return f"coalesce(json_agg(json_build_object({pairs})), '[]')"

    def arrays(self, columns: Collection[str]) -> str:
        """See `Variant`."""
        return f"coalesce(json_agg(json_build_array({', '.join(columns)})), '[]')"

    def json(self, column: str) -> str:
        """See `Variant`."""
        return f"CAST({column} AS json)"

    def flag(self, column: str) -> str:
        """See `Variant`."""
        return f"({column} <> 0)"

    def beginning(self, column: str, member: str, characters: int) -> str:
        """See `Variant`. What PostgreSQL can't count stays whole: NUL (``\\u0000``), and what stands for a pair."""
        whole = f"CAST({column} AS jsonb)"
        short = f"jsonb_set({whole}, '{{{member}}}', to_jsonb(left({whole} ->> '{member}', {characters})))"
        odd = f"position('\\u0000' IN {column}) + position('{MARK}' IN {column})"
        return (
            f"CASE WHEN length({column}) > {characters} AND {odd} = 0 "
            f"THEN CAST({short} AS json) ELSE CAST({column} AS json) END"
        )
