"""The adapter of the author's guide, which has nothing of ours but the port."""

import pytest

from agui_gate_adapters.testkit.conformance import AdapterConformance
from examples import adapter_in_an_afternoon
from examples.adapter_in_an_afternoon import SmallChat


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_in_an_afternoon, "PAUSE", 0.0)


class TestSmallChat(AdapterConformance):
    """It shows no reasoning; of what else the suite asks, nothing is left out."""

    reasons = False

    def make_adapter(self, base_url: str) -> SmallChat:
        return SmallChat("some-model", base_url=base_url, api_key="k")
