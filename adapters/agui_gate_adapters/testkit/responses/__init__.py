"""The Responses API, as strict as one of the hosts that speak it.

The rules R1 to R25 are in `checks`, `body_checks` and `item_checks`, the hosts' differences in `profiles`, what the
provider remembers in `state`. `events` and `exchange` tell an answer.
"""

from agui_gate_adapters.testkit.responses.api import Responses
from agui_gate_adapters.testkit.responses.checks import check_request
from agui_gate_adapters.testkit.responses.profiles import PROFILES, Profile, ProfileName
from agui_gate_adapters.testkit.responses.state import ProviderState

__all__ = ["PROFILES", "Profile", "ProfileName", "ProviderState", "Responses", "check_request"]
