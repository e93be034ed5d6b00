"""Where logs go unless the application says otherwise: to the standard library's logging, as lines of keys and values.

structlog's own default prints to stdout, and with a traceback the values of every variable on the way, which may be a
tool's arguments or a secret. An application that has configured structlog keeps what it configured.
"""

import structlog


def ensure_configured() -> None:
    """Configure structlog if nobody has."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["event"]),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
