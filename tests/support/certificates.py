"""Certificates that are read once: a client that a test makes reads those of the system, though it speaks plain HTTP.

That takes longer than many a test. Where the environment names other ones, those are read.
"""

import os
import ssl
from typing import Any

import httpcore2


def keep() -> None:
    """From now on, clients of httpx2 that ask for nothing special share one context."""
    make = httpcore2.default_ssl_context
    kept: dict[Any, ssl.SSLContext] = {}

    def context(**options: Any) -> ssl.SSLContext:
        key = (*options.items(), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in kept:
            kept[key] = make(**options)
        return kept[key]

    httpcore2.default_ssl_context = context
