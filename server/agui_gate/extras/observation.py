"""The meter of an engine, of what the settings ask for: metrics, traces, usage, lines of the log, or some of these; and
what they call a model.
"""

import re
from typing import TYPE_CHECKING, Any

from agui_gate.errors import ConfigurationError

if TYPE_CHECKING:
    from agui_gate.adapter import Adapter
    from agui_gate.config.settings import Settings
    from agui_gate.turns.steps import Speaker


def meter_of(settings: "Settings") -> Any:
    """Returns it. Raises `ConfigurationError` where a package is missing."""
    meter: Any = None
    if settings.metrics:
        from agui_gate.extras.metrics.meter import Meter

        meter = Meter(settings.metrics)
    if settings.traces:
        try:
            from agui_gate.extras.telemetry.tracer import Tracer
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "opentelemetry":
                raise
            raise ConfigurationError('AGUI_GATE_TRACES needs a package: pip install "agui-gate[telemetry]".') from None
        meter = Tracer(meter)
    if settings.usage or settings.budgets:
        from agui_gate.extras.usage.meter import UsageMeter

        meter = UsageMeter(settings, meter)
    if settings.log_principals:
        from agui_gate.extras.operations.run_log import RunLog

        meter = RunLog.around_meter(meter)
    return meter


def names_of(adapter: "Adapter") -> tuple[str, str]:
    """Returns the provider and the model that ``adapter`` asks, as it names them: a provider's answer may name a
    version of the model, and a failure names none. The provider is "" where it isn't known.
    """
    vendor, model = getattr(adapter, "vendor", ""), getattr(adapter, "model", "")
    return vendor, model or re.split("[:/]", adapter.origin)[-1]


def summary_adapter(speaker: "Speaker") -> "Adapter":
    """Returns the adapter that is asked for summaries of a long conversation: a meter isn't told of another one."""
    agent = speaker.member.agent
    adapter: Adapter = getattr(agent.history, "adapter", None) or agent.adapter
    return adapter
