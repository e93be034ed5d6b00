"""Nothing that comes in can end a thread (T10, T11, T12, T18): random histories against every adapter."""

from random import Random

import pytest

from agui_gate import Agent, create_app
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import connecting
from tests.product import poison
from tests.product.inprocess import run, run_body, started
from tests.product.shop import Shop, call, say
from tests.requirements import shows
from tests.support.chance import seeds

pytestmark = pytest.mark.anyio

THREADS = len(seeds(8))
ADAPTERS = {
    "chain": lambda url: OpenAIResponses("m", mode="chain", base_url=url, api_key="k"),
    "conversation": lambda url: OpenAIResponses("m", mode="conversation", base_url=url, api_key="k"),
    "stateless": lambda url: OpenAIResponses("m", mode="stateless", base_url=url, api_key="k"),
    "chat": lambda url: OpenAIChat("m", base_url=url, api_key="k"),
    "vllm": lambda url: OpenAIChat("m", base_url=url, api_key="k", profile="vllm"),
    "mistral": lambda url: OpenAIChat("m", base_url=url, api_key="k", profile="mistral"),
    "anthropic": lambda url: AnthropicMessages("m", base_url=url, api_key="k"),
}
CHAT = {"vllm": "vllm", "mistral": "mistral"}


@shows("T10", "T11", "B7")
@pytest.mark.parametrize("roles", ["context", "as_sent"])
@pytest.mark.parametrize("name", ADAPTERS)
async def test_no_history_makes_a_thread_unusable(name: str, roles: str) -> None:
    """Each thread has a history of odd things, is answered, gets more of them, and is answered again.

    What is refused is refused for a picture alone, which nobody can see before; and the thread goes on all the same.
    """
    rng = Random(f"{name}{roles}")
    shop = Shop()
    turns = [
        {"output": [call(rng.choice(poison.NAMES) or "x.y")]},
        {"output": [say("Done.")]},
        {"output": [say("Fine.")]},
    ]
    emulator = Emulator(turns * THREADS * 4, chat=CHAT.get(name, "openai"))
    async with serve(emulator) as url:
        app = create_app(
            Agent(name="a", model=ADAPTERS[name](url), tools=shop.tools, client_roles=roles), store="memory://"
        )
        async with started(app), connecting():
            for number in range(THREADS):
                history = [poison.message(rng, place) for place in range(rng.randrange(1, 6))]
                for said in ("go on", "and on", "still there?"):
                    history += [poison.message(rng, 10 + len(history)) for _ in range(rng.randrange(2))]
                    history = [*history, {"role": "user", "content": said, "id": f"{number}{said}"}]
                    answer = await run(app, run_body(f"t{number}", *history, tools=poison.tools(rng)))
                    assert answer.status == 200, answer.body
                    assert answer.events()[-1]["type"] == "RUN_FINISHED", (answer.events()[-1], history)
    assert {entry.rule for entry in emulator.refusals} <= {"media"}
    assert shop.searches == shop.refunds == shop.shipped == []
