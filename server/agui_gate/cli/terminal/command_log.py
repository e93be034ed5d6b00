"""Writes the log of a command to stderr: ours, and what libraries warn of, in one form (`agui_gate/logs.py`)."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from agui_gate.core.secrets import PEERS, masked
from agui_gate.logs import LOGGERS, printable, tracebacks

_logfmt = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True)


class Stderr(logging.StreamHandler[TextIO]):
    """Writes all lines, ours and those of libraries, in one form to what stderr is at the time."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # as in the standard library's handler of last resort
        """The stream that lines go to."""
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        """Ours, and others' warnings. What speaks with a peer logs addresses, headers and answers."""
        package = record.name.partition(".")[0]
        ours = package in LOGGERS or isinstance(record.msg, dict)  # a dict: structlog's
        told = ours or (record.levelno >= logging.WARNING and package not in PEERS)
        return told and bool(super().filter(record))

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, without what looks like a secret."""
        return masked(super().format(record))


def to_stderr(level: int, form: str = "text") -> None:
    """Writes to stderr: for a terminal in colours and columns, for anything else in lines of keys and values; in the
    ``form`` ``json`` each line is an object.
    """
    terminal = sys.stderr.isatty() and form == "text"
    both: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
        tracebacks,
        printable,
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *both, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = Stderr()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *both],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.dev.ConsoleRenderer(colors=True) if terminal else _FORMS[form],
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [other for other in root.handlers if not isinstance(other, Stderr)] + [handler]
    root.setLevel(level)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)


def _lines(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """Returns one line, with a traceback below it as it is."""
    traceback = event.pop("exception", None)
    line = _logfmt(logger, method, event)
    return f"{line}\n{traceback}" if traceback else line


_FORMS: dict[str, Any] = {"text": _lines, "json": structlog.processors.JSONRenderer()}
