"""Retries without their pause: what is tested is how often, not how long."""

import pytest

from agui_gate_adapters.common import retries


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", (0.0, 0.0))
