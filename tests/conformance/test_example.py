"""The adapter of the author's guide."""

from agui_gate.testing import AdapterConformance
from examples.adapter_in_an_afternoon import SmallChat
from tests.requirements import shows


@shows("B24")
class TestSmallChat(AdapterConformance):
    """It shows no reasoning; of what else the suite asks, nothing is left out."""

    reasons = False

    def make_adapter(self, base_url: str) -> SmallChat:
        return SmallChat("some-model", base_url=base_url, api_key="k")
