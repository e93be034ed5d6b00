"""`Agent(history=…)`: what a model is sent outlives the declaration, but never what it is not sent."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_gate import Agent, LastRounds, create_app
from agui_gate.agents.context_window import History
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.inprocess import Answer, Json, request, run, run_body, started, user
from tests.product.kit import MODES
from tests.product.shop import say, users
from tests.requirements import shows
from tests.turns.extras import missing

pytestmark = [pytest.mark.anyio, shows("S28")]
FINE = [{"output": [say("Fine.")], "repeat": True}]


class Talk:
    """One conversation with an agent that is restarted: each time it has a ``history`` or none."""

    def __init__(self, emulator: Emulator, base_url: str, mode: str, folder: Path) -> None:
        self.emulator, self._base_url, self._mode, self._store = emulator, base_url, mode, f"sqlite:///{folder}/t.db"
        self._said: list[Json] = []

    async def say(self, *texts: str, history: History | None = None) -> list[str]:
        """Say it to a new process. Returns what the model was sent of the user's, with the last of it."""
        model = OpenAIResponses("gpt", mode=self._mode, base_url=self._base_url, api_key="k")
        agent = Agent(name="a", model=model, history=history)
        async with started(create_app(agent, store=self._store, settings=Settings())) as app:
            for text in texts:
                self._said.append(user(text, f"u{len(self._said)}"))
                answer = await run(app, run_body("t", *self._said))
                assert answer.events()[-1]["type"] == "RUN_FINISHED", answer.events()[-1]
            thread: Answer = await request(app, "GET", "/threads/t")
        shown = [message for message in thread.json()["messages"] if message["role"] == "user"]
        assert shown == self._said, "people see all of it"
        body = self.emulator.accepted[-1].body
        assert body is not None
        return users(body)


@pytest.fixture(params=MODES)
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Talk]:
    emulator = Emulator(script=FINE)
    async with serve(emulator) as url:
        yield Talk(emulator, url, request.param, tmp_path)
        assert not emulator.refusals


async def test_an_agent_that_lost_its_history_is_sent_everything(talk: Talk) -> None:
    assert await talk.say("one", "two", history=LastRounds(1)) == ["two"]
    assert await talk.say("three") == ["one", "two", "three"]


async def test_so_is_one_where_windows_are_not_installed(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread has their entries; nobody can move them, and nothing is lost."""
    await talk.say("one", "two", history=LastRounds(1))
    with monkeypatch.context() as patch:
        missing(patch, "context_windows")
        assert await talk.say("three") == ["one", "two", "three"]
    assert await talk.say("four", history=LastRounds(1)) == ["four"]
