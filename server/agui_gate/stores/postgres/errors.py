"""Tells what goes wrong with PostgreSQL, in one sentence each, without the driver's words: they may hold data or a
password.

PostgreSQL names an error by its SQLSTATE, in five characters of which the first two are its class.
"""

import re
from collections.abc import Mapping

from agui_gate.errors import Unavailable

UNKNOWN = (
    "The connection to the store broke while something was being saved, so it is not known whether it was saved. "
    "Load the thread to see what was saved."
)
AWAY = "the database can't be reached"
CLOSED = "it is closed"
BUSY = "all of its connections are busy"
NOT_OURS = "its tables are not those of this version of agui-gate; agui-gate migrate makes them"

_REASONS: Mapping[str, str] = {
    "08": AWAY,
    "25006": "the database is read-only (a standby?)",
    "55000": "the database is read-only (a standby?)",
    "42501": "its role lacks rights on the tables of agui-gate (SELECT, INSERT, UPDATE and DELETE)",
    "42P01": NOT_OURS,
    "42703": NOT_OURS,
    "42883": NOT_OURS,
    "53100": "the disk of the database is full",
    "53200": "the database is out of memory",
    "53300": "the database has no connection left",
    "57014": "the database took too long",
    "55P03": "the database took too long",
    "57P": "the database is stopping or starting",
    "58": "the disk of the database fails",
    "XX": "the database is damaged",
}

_AGAIN = ("40001", "40P01", "57P01", "57P02", "57P03")
"""Two transactions were in each other's way, or the server ended: nothing was done, and it may go well next time."""

_CONFLICT = "23505"

_DOUBTFUL = ("08", "40003", "57P", "58000")
"""SQLSTATEs, by their beginnings, with which PostgreSQL is lost, or goes: none says what became of a COMMIT."""

_SAID: Mapping[str, str] = {
    r"password authentication failed|no password supplied|authentication failed": "the role or its password is wrong",
    r"no pg_hba\.conf entry": "PostgreSQL doesn't let this role in from this machine",
    r'role ".*" does not exist': "there is no such role",
    r'role ".*" is not permitted to log in': "the role may not log in",
    r'database ".*" does not exist': "there is no such database",
    r"permission denied for database": "the role may not use this database",
    r"could not translate host name|resolve|Name or service": "there is no such host",
    r"Connection refused|No such file or directory": "nothing listens there",
    r"timeout expired": "it doesn't answer",
    r"too many clients|remaining connection slots|too many connections": "it has no connection left",
    r"starting up|shutting down|not yet accepting|recovery mode": "it is stopping or starting",
    r"SSL|certificate|TLS": "the two can't agree on TLS (sslmode)",
}
"""The words of libpq and PostgreSQL (in English) when nobody gets in; there is no SQLSTATE of it."""


def reason(state: str) -> str:
    """Returns why PostgreSQL refuses, for people."""
    for length in (5, 3, 2):
        if found := _REASONS.get(state[:length]):
            return found
    return "the database can't be read or written"


class Trouble(Unavailable):
    """PostgreSQL refuses, for people ``why``. ``state``: its SQLSTATE, or "" if it can't be asked. ``committed``: a
    part of the operation was saved before.
    """

    def __init__(self, why: str, state: str = "", *, committed: bool = False) -> None:
        super().__init__(f"The store is not available: {why}.")
        self.why, self.state, self.committed = why, state, committed


class OutcomeUnknown(Unavailable):
    """A change may have been saved or not: the connection broke in between."""

    def __init__(self) -> None:
        super().__init__(UNKNOWN)


def is_conflict(state: str) -> bool:
    """Returns whether a statement broke a unique key."""
    return state == _CONFLICT


def may_go_well(state: str) -> bool:
    """Returns whether the same transaction may go well if it is begun again."""
    return state in _AGAIN


def is_doubtful(state: str) -> bool:
    """Returns whether a commit that is refused like that may have been done all the same."""
    return state.startswith(_DOUBTFUL)


def not_let_in(said: str) -> str:
    """Returns why a connection could not be made, by what the driver says."""
    return next((why for words, why in _SAID.items() if re.search(words, said)), AWAY)
