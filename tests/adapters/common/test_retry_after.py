"""How long a provider asks us to wait, in the ways that servers and the gateways before them say it."""

import math
from email.utils import formatdate

import pytest

from agui_gate_adapters.common import transport

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "60"}, 60.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "1e999"}, math.inf),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": "Sun, 99 Nov 2026 99:00:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 99999 00:00:00 GMT"}, None),
        ({"retry-after": "later"}, None),
    ],
)
def test_all_forms(headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport.time, "time", lambda: NOW)
    assert transport._retry_after(headers) == seconds
