"""Whatever sub-agents say in whatever order, clients accept the stream, and it keeps the rules on sub-agents."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import events as ev
from agui_gate.core.sequencer import Lane, Sequencer
from agui_gate.core.stop_reasons import ASKED
from agui_gate.protocol.dialects.base import Shapes
from agui_gate_adapters.testkit.spec import judge
from tests.conforming import conforms
from tests.core.client_rules import decoded, verify
from tests.protocol.dialects.kinds import ALL, V1
from tests.support.chance import examples

pytestmark = conforms("SUB-1", "SUB-2", "SUB-3", "SUB-4", "EVT-6", "LIFE-3")

PARENTS = {"s1": "", "s2": "", "s11": "s1", "s111": "s11"}
WHO = st.sampled_from(["", *PARENTS])
IDS = st.sampled_from(["a", "b"])
SAID = st.sampled_from(["", "x"])
STEPS = st.one_of(
    st.tuples(st.just("text"), IDS, SAID),
    st.tuples(st.just("text_end"), IDS),
    st.tuples(st.just("reasoning"), IDS, SAID),
    st.tuples(st.just("reasoning_end"), IDS, st.sampled_from([None, "sealed"])),
    st.tuples(st.just("call"), IDS, st.just("search"), IDS),
    st.tuples(st.just("call_args"), IDS, SAID),
    st.tuples(st.just("call_end"), IDS),
    st.tuples(st.just("result"), IDS, IDS, SAID),
    st.tuples(st.just("other"), st.just(ev.Custom("agui-gate:x", 1))),
    st.tuples(st.just("done")),
    st.tuples(st.just("failed"), st.just("internal"), st.just("It broke.")),
    st.tuples(st.just("suspended")),
)
NAMED = {"text": 1, "text_end": 1, "reasoning": 1, "reasoning_end": 1, "call": 1, "call_args": 1, "call_end": 1}
ENDS = st.sampled_from(["finish", "stop", "fail"])


def lane_of(sequencer: Sequencer, who: str) -> Lane:
    if not who:
        return sequencer
    parent = PARENTS[who]
    about = ev.SubagentStarted(who, f"agent {who}", None, parent or None, who)
    return lane_of(sequencer, parent).subagent(about)


def say(sequencer: Sequencer, who: str, name: str, arguments: list[Any]) -> None:
    lane = lane_of(sequencer, who)
    if not hasattr(lane, name):
        return
    if name in NAMED or name == "result":  # ids are of the thread: no two agents have the same one
        kind = "r" if name.startswith("reasoning") else "m"
        arguments = [f"{who}-{kind}-{one}" if one in ("a", "b") else one for one in arguments]
    getattr(lane, name)(*arguments)


def ended(sequencer: Sequencer, end: str) -> None:
    match end:
        case "finish":
            sequencer.finish()
        case "stop":
            sequencer.stop(ASKED)
        case _:
            sequencer.fail("internal", "x")


@examples(150)
@given(st.lists(st.tuples(WHO, STEPS), max_size=30), ENDS, st.sampled_from(list(ALL.values())))
def test_any_sub_agents_in_any_order_make_a_legal_stream(
    steps: list[tuple[str, tuple[Any, ...]]], end: str, shapes: Shapes
) -> None:
    events: list[ev.Event] = []
    sequencer = Sequencer("t", "r", events.append, shapes)
    sequencer.started()
    for who, (name, *arguments) in steps:
        say(sequencer, who, name, arguments)
    ended(sequencer, end)
    wire = decoded(events)
    verify(wire)
    assert not [found for found in judge(wire) if found.strength != "note"]


def made() -> tuple[Sequencer, list[ev.Event]]:
    events: list[ev.Event] = []
    sequencer = Sequencer("t", "r", events.append, V1)
    sequencer.started()
    return sequencer, events


def test_a_parent_is_announced_first_and_each_ends_where_it_belongs() -> None:
    sequencer, events = made()
    inner = lane_of(sequencer, "s11")
    inner.text("m", "hi")
    inner.result("refund", "refund-result", "done")
    sequencer.text("outer", "meanwhile")
    interrupt = ev.Interrupt("i", "tool_call", "pay", subagent_run_id="s11")
    sequencer.finish(ev.InterruptOutcome((interrupt,)))
    told = [(event["type"], event.get("subagentRunId")) for event in decoded(events)]
    assert told == [
        ("RUN_STARTED", None),
        ("SUBAGENT_STARTED", "s1"),
        ("SUBAGENT_STARTED", "s11"),
        ("TEXT_MESSAGE_START", "s11"),
        ("TEXT_MESSAGE_CONTENT", "s11"),
        ("TOOL_CALL_RESULT", "s11"),
        ("TEXT_MESSAGE_START", None),
        ("TEXT_MESSAGE_CONTENT", None),
        ("TEXT_MESSAGE_END", None),
        ("TEXT_MESSAGE_END", "s11"),
        ("SUBAGENT_FINISHED", "s11"),
        ("SUBAGENT_FINISHED", "s1"),
        ("RUN_FINISHED", None),
    ]
    outcomes = [event["outcome"] for event in decoded(events) if event["type"] == "SUBAGENT_FINISHED"]
    assert outcomes == [{"type": "suspended", "interruptIds": ["i"]}, {"type": "suspended"}]


def test_one_that_said_nothing_is_shown_all_the_same() -> None:
    sequencer, events = made()
    lane = sequencer.subagent(ev.SubagentStarted("s1", "quiet"))
    lane.done()
    sequencer.finish()
    assert [event["type"] for event in decoded(events)][1:3] == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"]


def test_what_comes_after_its_end_is_the_runs() -> None:
    sequencer, events = made()
    lane = sequencer.subagent(ev.SubagentStarted("s1", "quick"))
    lane.done()
    lane.result("late", "late-result", "x")
    lane.text("m", "late")
    lane.done()
    sequencer.finish()
    late = [event for event in decoded(events) if event["type"] in ("TOOL_CALL_RESULT", "TEXT_MESSAGE_START")]
    assert len(late) == 2
    assert not [event for event in late if "subagentRunId" in event]


@pytest.mark.parametrize(("end", "told"), [("stop", "SUBAGENT_ERROR"), ("finish", "SUBAGENT_FINISHED"), ("fail", "")])
def test_how_a_run_ends_says_how_a_sub_agent_at_work_ends(end: str, told: str) -> None:
    sequencer, events = made()
    sequencer.subagent(ev.SubagentStarted("s1", "busy")).text("m", "hal")
    ended(sequencer, end)
    assert decoded(events)[-2]["type"] == (told or "TEXT_MESSAGE_END")


def test_the_result_of_a_delegating_call_ends_a_sub_agent_that_nobody_ended() -> None:
    sequencer, events = made()
    sequencer.call("s1", "helper", "p")
    sequencer.subagent(ev.SubagentStarted("s1", "helper", None, None, "s1")).text("m", "hal")
    sequencer.result("s1", "s1-result", "superseded")
    sequencer.finish()
    assert [event["type"] for event in decoded(events)][-3:] == ["SUBAGENT_ERROR", "TOOL_CALL_RESULT", "RUN_FINISHED"]
