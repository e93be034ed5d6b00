"""The store of many replicas: PostgreSQL. `store` has what it does, `link` and below how it speaks to the database."""

from agui_gate.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
