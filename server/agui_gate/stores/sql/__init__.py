"""The parts that stores in SQL databases share: how rows become ours and back, and the ledger's statements.

Nothing here knows a driver. Statements take their values as ``:name``, and use what SQLite and PostgreSQL have both.
The schema is in `stores/migrations`.
"""
