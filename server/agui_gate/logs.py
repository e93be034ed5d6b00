"""Configures where logs go, and how much is logged.

One line for each decision, refused answer, failed call of a provider, unknown outcome and 5xx; nothing for a run that
goes well. No line has arguments, results, keys or a provider's own words, at no level. `AGUI_GATE_LOG_LEVEL` says how
much is told. Three things hold a secret back that comes by another way (see `agui_gate/core/secrets.py`). Libraries
that speak with a peer log nothing, others only from warnings on. The messages of such libraries' exceptions are left
out. What looks like credentials is masked in any line.

Unless the application has configured structlog, lines of keys and values go to the standard library's logging. If
nobody has configured that either, they are written to stderr. structlog's own default prints to stdout. With a
traceback it prints the values of every variable on the way, which may be a tool's arguments or a secret.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from agui_gate import log_events
from agui_gate.core.secrets import masked, traceback_of

LOGGERS = ("agui_gate", "agui_gate_adapters")


def printable(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes what is no plain text: ids come from clients, and must neither begin a line nor steer a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable() and key != "exception":
            event[key] = value.encode("unicode_escape").decode()
    return event


def tracebacks(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Puts a traceback in the place of ``exc_info``."""
    info = event.pop("exc_info", None)
    error = info if isinstance(info, BaseException) else info[1] if isinstance(info, tuple) else None
    if error is None and info:
        error = sys.exc_info()[1]
    if error is not None:
        event["exception"] = traceback_of(error)
    return event


_PROCESSORS: list[Any] = [
    structlog.stdlib.filter_by_level,
    structlog.contextvars.merge_contextvars,
    printable,
    tracebacks,
    structlog.processors.LogfmtRenderer(key_order=["event"]),
    lambda _logger, _method, line: masked(line),
]


class _Masked(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))

    def formatException(self, ei: Any) -> str:
        return traceback_of(ei[1])


class Spare(logging.StreamHandler[TextIO]):
    """Writes to stderr as long as nobody has given the root logger a handler."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Writes it, unless the application's own handlers do."""
        if not logging.getLogger().handlers:
            super().emit(record)


def ensure_configured(level: str = "info", principals: str = "") -> None:
    """Configures structlog if nobody has, how much our loggers tell, and how they call ``principals``."""
    log_events.is_pseudonymous = principals == "pseudonyms"
    if not structlog.is_configured():
        structlog.configure(
            processors=_PROCESSORS,
            logger_factory=structlog.stdlib.LoggerFactory(),
            wrapper_class=structlog.stdlib.BoundLogger,
        )
    if structlog.get_config()["processors"] is not _PROCESSORS:
        return
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(level.upper())
        if not any(isinstance(handler, Spare) for handler in logger.handlers):
            logger.addHandler(Spare())
