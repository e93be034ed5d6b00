"""What a sub-agent says costs what the same costs where it is said directly, but for the tag of each event.

Both are taken in one process: calls are counted, and what writes a delta is timed in turn, for the least of many
rounds.
"""

import time
from pathlib import Path

import pytest

from agui_gate import Agent, create_app, pipeline
from agui_gate.core import events as ev
from agui_gate.core.sequencer import Lane, Sequencer
from agui_gate.core.sse import FrameEncoder
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bench.counting import Counted, answered, counting, least
from tests.product.inprocess import run, run_body, started, user

MOST = 1.3
"""How much a sub-agent's delta may cost, of a direct one."""
DELTAS = 500
ROUNDS = 100


def agent(*, inside: bool) -> Agent:
    model = OpenAIResponses("bench", mode="stateless", base_url="http://127.0.0.1/v1", api_key="bench")
    clerk = Agent(name="clerk", model=model, instructions="You help.")
    return pipeline("work", clerk) if inside else clerk


async def counted(folder: Path, deltas: int, *, inside: bool) -> Counted:
    """What a run takes with an answer of so many deltas."""
    counts = []
    with answered(deltas):
        async with started(create_app(agent(inside=inside), store=f"sqlite:///{folder}/{inside}-{deltas}.db")) as app:
            for number in range(3):
                with counting() as count:
                    answer = await run(app, run_body(f"thread-{number}", user("hello", "m1")))
                kinds = [event["type"] for event in answer.events()]
                assert (kinds.count("TEXT_MESSAGE_CONTENT"), kinds[-1]) == (deltas, "RUN_FINISHED")
                assert ("SUBAGENT_STARTED" in kinds) == inside
                counts.append(count)
    return least(counts)


def seconds(lane: Lane, message_id: str) -> float:
    """What it takes to write many deltas."""
    begin = time.thread_time()
    for _ in range(DELTAS):
        lane.text(message_id, "a word ")
    return time.thread_time() - begin


@pytest.mark.anyio
async def test_the_same_calls(tmp_path: Path) -> None:
    took = {}
    for inside in (False, True):
        few, many = [await counted(tmp_path, deltas, inside=inside) for deltas in (2, 2 + DELTAS)]
        took[inside] = many.ours - few.ours, many.calls - few.calls
    direct, told = took[False], took[True]
    assert direct[0] > DELTAS
    assert told[0] <= MOST * direct[0], took
    assert told[1] <= MOST * direct[1], took


def test_the_same_time() -> None:
    """Of all that a delta takes, the only part that is not the same: its lane, and the tag that is written."""
    encoder = FrameEncoder("run_0123456789abcdef")
    stream = Sequencer("thread", "run", lambda event: written.append(encoder.frame(event)), V0Shapes())
    written: list[bytes] = []
    stream.started()
    lanes = {"direct": stream, "told": stream.subagent(ev.SubagentStarted("0123456789abcdef0123456789abcdef", "clerk"))}
    took: dict[str, list[float]] = {"direct": [], "told": []}
    for _ in range(ROUNDS):
        for name, lane in lanes.items():
            took[name].append(seconds(lane, name))
            written.clear()
    assert min(took["told"]) <= MOST * min(took["direct"])
