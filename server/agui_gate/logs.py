"""Where logs go, and how much.

One line for each decision, refused answer, failed call of a provider, unknown outcome and 5xx; nothing for a run that
goes well. No line has arguments, results, keys or a provider's own words. `AGUI_GATE_LOG_LEVEL` says how much is told.

Unless the application has configured structlog, lines of keys and values go to the standard library's logging. If
nobody has configured that either, they are written to stderr. structlog's own default prints to stdout. With a
traceback it prints the values of every variable on the way, which may be a tool's arguments or a secret.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

LOGGERS = ("agui_gate", "agui_gate_adapters")

_logfmt = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True)


def _printable(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape what is no plain text: ids come from clients, and must neither begin a line nor steer a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable() and key != "exception":
            event[key] = value.encode("unicode_escape").decode()
    return event


_PROCESSORS: list[Any] = [
    structlog.stdlib.filter_by_level,
    structlog.contextvars.merge_contextvars,
    _printable,
    structlog.processors.format_exc_info,
    structlog.processors.LogfmtRenderer(key_order=["event"]),
]


class Spare(logging.StreamHandler[TextIO]):
    """Writes to stderr as long as nobody has given the root logger a handler."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, unless the application's own handlers do."""
        if not logging.getLogger().handlers:
            super().emit(record)


def ensure_configured(level: str = "info") -> None:
    """Configure structlog if nobody has, and how much our loggers tell."""
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


def to_stderr(level: int) -> None:
    """Write to stderr: for a terminal in colours and columns, for anything else in lines of keys and values."""
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _printable,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
            *(_for_terminals() if terminal else (structlog.processors.format_exc_info, _lines)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _for_terminals() -> tuple[Any, ...]:
    plain = structlog.dev.plain_traceback  # the other one prints variables, secrets too
    return (structlog.dev.ConsoleRenderer(colors=True, exception_formatter=plain),)


def _lines(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """One line, with a traceback below it as it is."""
    traceback = event.pop("exception", None)
    line = _logfmt(logger, method, event)
    return f"{line}\n{traceback}" if traceback else line
