"""Adapters by name: `adapter:model`, from whatever is installed."""

from importlib.metadata import EntryPoint

import pytest

from agui_gate import Agent
from agui_gate.agents.model_names import GROUP, adapter_for
from agui_gate.errors import ConfigurationError
from tests.product.inprocess import Parrot


def installed(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """As if a distribution had named an adapter called ``mine``."""
    points = (EntryPoint("mine", value, GROUP),)
    monkeypatch.setattr("agui_gate.agents.model_names.entry_points", lambda group: points if group == GROUP else ())


@pytest.mark.parametrize("name", ["openai", "openai-chat", "anthropic"])
def test_ours_are_installed(name: str) -> None:
    adapter = adapter_for(f"{name}:some-model")
    assert adapter.origin.endswith("some-model")


def test_an_agent_takes_the_name_of_a_model() -> None:
    agent = Agent(name="a", model="openai:gpt-5.4-mini")
    assert agent.adapter.origin == "openai-responses:chain:api.openai.com:gpt-5.4-mini"
    assert agent.adapter is agent.model


def test_somebody_elses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.product.inprocess.mine", lambda model: Parrot(), raising=False)
    installed(monkeypatch, "tests.product.inprocess:mine")
    assert isinstance(adapter_for("mine:x:y"), Parrot)


@pytest.mark.parametrize("name", ["gpt-5", ":x", "openai:", ""])
def test_a_name_is_adapter_and_model(name: str) -> None:
    with pytest.raises(ConfigurationError, match="adapter:model"):
        adapter_for(name)


def test_what_is_installed_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"No adapter called 'gemini'.*openai-chat"):
        adapter_for("gemini:pro")


@pytest.mark.parametrize(("value", "says"), [("no_such_module:X", "can't be used"), ("builtins:str", "not an adapter")])
def test_what_is_no_adapter_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, says: str) -> None:
    installed(monkeypatch, value)
    with pytest.raises(ConfigurationError, match=says):
        adapter_for("mine:x")
