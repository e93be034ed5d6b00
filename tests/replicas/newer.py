"""The server, one version ahead: a process of this tree that has what a next version would bring.

It has a migration of its own (a column, a table), and writes what this tree doesn't know:

* with each user's message an entry of another kind (`mood`), which any version may leave alone;
* in a turn that calls `look` a part of another kind (`aside`): a thread with it can't be read safely by this tree;
* a state of approvals (`snoozed`: "later" is an answer, and may still become a yes), with its event and its notice.

The version after that one (2) has a migration that this tree can't live with. `python -m tests.replicas.newer 1 MODULE`
runs a module in such a process. What is put in the place of ours is put there before others import it.
"""

import runpy
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import wraps
from types import ModuleType
from typing import Any, Literal

import msgspec

ADDED = """
ALTER TABLE approvals ADD COLUMN weight text NOT NULL DEFAULT 'light';
CREATE TABLE weights (tenant text NOT NULL DEFAULT '', name text NOT NULL, PRIMARY KEY (tenant, name));
INSERT INTO weights (name) VALUES ('light'), ('heavy')
"""

CHANGED = "ALTER TABLE approvals ALTER COLUMN weight DROP DEFAULT"
"""Who doesn't know the column can ask nobody any more."""


def python(ahead: int) -> tuple[str, ...]:
    """A command that runs the module that follows it in a process that is so many versions ahead; 0: of this tree."""
    return (sys.executable, "-m", *(("tests.replicas.newer", str(ahead)) if ahead else ()))


def become(ahead: int) -> None:
    """Make this process one of the next version, or of the one after it. It has imported nothing of ours yet."""
    assert "agui_gate.core.transcript" not in sys.modules
    _entries()
    _states()
    _notices()
    _tables(ahead)
    _snoozing()
    _writing()


def _put(module: ModuleType | type, **names: Any) -> None:
    for name, value in names.items():
        assert hasattr(module, name), f"{module.__name__} has no {name} any more; say here what a next version changes"
        setattr(module, name, value)


def _entries() -> None:
    """Another kind of entry, and another kind of part."""
    from agui_gate.core import transcript

    class MoodEntry(transcript.Struct, tag="mood", tag_field="type"):
        mood: str

    class AsidePart(transcript.ReasoningPart, tag="aside", tag_field="type"):
        note: str = ""

    class TurnEntry(transcript.TurnEntry, tag="turn", tag_field="type"):
        parts: tuple[transcript.TextPart | transcript.ReasoningPart | transcript.CallPart | AsidePart, ...]

    known: Any = MoodEntry | TurnEntry
    for kind in transcript.KnownEntry.__args__:
        known = known if kind is transcript.TurnEntry else known | kind
    transcript.MoodEntry, transcript.AsidePart = MoodEntry, AsidePart  # type: ignore[attr-defined]  # they are new
    _put(transcript, TurnEntry=TurnEntry, KnownEntry=known)


def _states() -> None:
    """Another state, and another member of the record."""
    from agui_gate.core import approvals
    from agui_gate.core.approvals import MOVES, State

    snoozed = _grown(State, "SNOOZED", "snoozed")

    class Approval(approvals.Approval, frozen=True, omit_defaults=True, kw_only=True):
        weight: str = "heavy"

        @property
        def is_pending(self) -> bool:
            return self.state in (State.PENDING, snoozed)

    MOVES[State.PENDING] |= {snoozed}
    MOVES[snoozed] = frozenset({State.CLAIMED, State.REJECTED, State.SUPERSEDED, State.CANCELLED})
    _put(approvals, Approval=Approval, UNFINISHED=frozenset(state for state, reached in MOVES.items() if reached))


def _grown(kind: type[StrEnum], name: str, value: str) -> Any:
    """A new member of an enumeration that nobody has compiled a decoder for yet."""
    member: Any = str.__new__(kind, value)
    member._name_, member._value_, member._sort_order_ = name, value, len(kind)
    kind._member_names_.append(name)
    kind._member_map_[name] = kind._value2member_map_[value] = member
    type.__setattr__(kind, name, member)
    return member


def _notices() -> None:
    """Another kind of notice."""
    from agui_gate.stores import outbox

    _put(outbox, NoticeKind=Literal["snooze", "approval_pending", "approval_decided", "run_ended"])
    _put(outbox, KINDS=("snooze", *outbox.KINDS), _BY_EVENT={**outbox._BY_EVENT, "snoozed": "snooze"})


def _tables(ahead: int) -> None:
    """Other migrations, of which the second is one too many for this tree."""
    from agui_gate.stores.postgres import schema

    ours = schema._migrations()
    new = [ADDED.split(";\n"), [CHANGED]][:ahead]
    _put(schema, _migrations=lambda: [*ours, *new])
    if ahead > 1:
        _put(schema, OLDEST_READER=len(ours) + 1)


def _snoozing() -> None:
    """Who says "later" is asked on."""
    from agui_gate.approvals import answer_validation, execution
    from agui_gate.core.approvals import Approval, State

    snoozed, validate, decide = State("snoozed"), answer_validation._verdict, execution.GatedCalls.decide

    class Snoozed(Approval, frozen=True, omit_defaults=True, kw_only=True):
        """The answer's own effect: it is no record that still waits for it."""

        is_pending = False

    @wraps(validate)
    def verdict(*about: Any) -> answer_validation.Verdict:
        found = validate(*about)
        return msgspec.structs.replace(found, to=snoozed) if found.decision.reason == "later" else found

    @wraps(decide)
    async def decided(self: execution.GatedCalls, verdict: answer_validation.Verdict) -> Approval:
        if verdict.to is not snoozed:
            return await decide(self, verdict)
        moved = await self._lease.move(verdict.approval.id, verdict.to, decision=verdict.decision)
        return Snoozed(**{name: getattr(moved, name) for name in moved.__struct_fields__})

    _put(answer_validation, _verdict=verdict)
    _put(execution.GatedCalls, decide=decided)


def _writing() -> None:
    """What it writes with each message, and in some turns."""
    from agui_gate.core import transcript
    from agui_gate.threads import reconciliation
    from agui_gate.threads.reconciliation import admitted
    from agui_gate.turns.turn_recorder import TurnRecorder

    entry, new = TurnRecorder.entry, vars(transcript)

    @wraps(admitted)
    def with_mood(said: transcript.UserEntry) -> Iterator[Any]:
        yield new["MoodEntry"]("curious")
        yield from admitted(said)

    @wraps(entry)
    def with_aside(self: TurnRecorder) -> transcript.TurnEntry:
        turn = entry(self)
        if all(call.name != "look" for call in turn.calls):
            return turn
        aside = new["AsidePart"](self._new_id(), note="between us")
        return msgspec.structs.replace(turn, parts=(*turn.parts, aside))

    _put(reconciliation, admitted=with_mood)
    _put(TurnRecorder, entry=with_aside)


if __name__ == "__main__":
    module = sys.argv[2]
    become(int(sys.argv[1]))
    del sys.argv[1:3]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
