"""A thread's journal, and all that it says of itself.

Entries go in one by one, and each question about them has one answer, here:

* which calls are open, what waits and for whom, and which ids are taken;
* which cards are open (`cards`), and which messages are known (`messages`);
* what a branch drops, and what outlives it.

What became of gated calls is in the ledger alone; their records go in too, as they are now.

What is known is a function of the entries, the records and the reference. So a journal that is read again from the
store answers as the one that was added to. An entry costs the same however long the journal is, and so does a question,
but where its docstring says otherwise. A branch costs as much as reading what stays.

Calls can be open in the newest turn alone: of the conversation, and of each task that a call of such a turn delegated
(`standing_turns`). What is said in tasks is an entry like any other. But who answers the user, and what was answered,
is a matter of the conversation.
"""

from collections.abc import Container, Iterable, Sequence, Set
from typing import Any, NamedTuple

from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.approvals import NO, UNFINISHED, Approval, State
from agui_gate.core.message_index import NO_CALLS, NO_CARDS, NOTHING, CallIndex, CardIndex, MessageIndex
from agui_gate.core.transcript import (
    CARD_TOOL,
    ActionEntry,
    ActivityEntry,
    CallPart,
    CardClosedEntry,
    CardEntry,
    ConversationRef,
    Entry,
    HandedOffEntry,
    KeptEntry,
    LeftOutEntry,
    PreviewEntry,
    ReplacedEntry,
    ReportedEntry,
    ResultEntry,
    StateEntry,
    TextPart,
    Transcript,
    TurnEntry,
    UserEntry,
    UserTurn,
    WindowEntry,
)


class Dropped(NamedTuple):
    """The part of a journal that a branch took out.

    ``entries``: all that stood behind it. ``calls``: the ids of the calls in it. ``outlives``: what is to be added
    again at once. ``replaced``: what outlives it too, and belongs behind the message that is answered anew.
    """

    entries: list[Entry]
    calls: dict[str, None]
    outlives: list[Entry]
    replaced: list[ReplacedEntry]


def _with(known: dict[Any, Any], key: str | Viewpoint, value: Any) -> dict[Any, Any]:
    """Returns ``known`` with one more: itself, unless it is `NOTHING`."""
    known = known or {}
    known[key] = value
    return known


class Journal:
    """The entries of one thread, the records of its gated calls, and what a provider remembers of it (``ref``).

    Thousands are kept. So what most have none of is shared, and most of the rest is of kinds at which the garbage
    collector doesn't look: structs that are in no cycle, tuples, and dictionaries of these.
    """

    def __init__(
        self, entries: Iterable[Entry] = (), approvals: Iterable[Approval] = (), ref: ConversationRef | None = None
    ) -> None:
        self._read(entries)
        self.read_again(approvals, ref)

    def read_again(self, approvals: Iterable[Approval], ref: ConversationRef | None) -> None:
        """Takes over all records of the thread, and the reference, as the store has them now."""
        self.approvals: dict[str, Approval] = NOTHING
        """The records, by call id, oldest first."""
        self._unfinished: dict[str, Approval] = NOTHING
        self._reserved: dict[str, None] = NOTHING  # ids that calls got since, whatever became of them
        self.ref: ConversationRef | None = ref
        for approval in approvals:
            self.record(approval)

    def _read(self, entries: Iterable[Entry]) -> None:
        """Begins anew, with these entries."""
        self.entries: list[Entry] = []
        self.ref = None
        self.cards = NO_CARDS
        self.messages = MessageIndex()
        self.replaced: tuple[ReplacedEntry, ...] = ()
        self.windows: dict[Viewpoint, WindowEntry] = NOTHING
        """The windows that the models were sent last; nothing for those that were always sent all."""
        self.newest_turn: TurnEntry | None = None
        self.has_state_entries = False
        """True if tools have changed the shared state."""
        self.has_other_roles = False
        """True if clients have said something in another role than the user's."""
        self.newest_place = -1
        """The place of the newest turn of the conversation; -1 if there is none."""
        self._standing: dict[str, tuple[TurnEntry, ...]] = {}  # by task
        self.calls = NO_CALLS
        self.heirs: dict[str, str] = NOTHING
        """The agent that each task was handed off to last, as `TurnEntry` spells it. "" is the conversation."""
        self.alone = True
        """True if all of it was said by the entry agent to the user: there is no team to tell apart."""
        self.extend(entries)

    # --- what happens ---------------------------------------------------------------------------------------------
    def extend(self, entries: Iterable[Entry]) -> None:
        """Adds entries."""
        new, users = list(entries), self.messages.users
        for place, entry in enumerate(new, len(self.entries)):  # no `match`: all of a long history comes here
            if type(entry) is UserEntry:
                users[entry.id] = place
                if entry.minted:
                    self.messages.note_unnamed(entry)
                if entry.role != "user":
                    self.has_other_roles = True
            elif type(entry) is TurnEntry:
                self._note_turn(entry, place)
            elif type(entry) is ResultEntry:
                calls = self._own_calls() if self.calls is NO_CALLS else self.calls
                calls.results.setdefault(entry.call_id, entry)
            else:
                self._note_seldom(entry)
        self.entries += new

    def _note_seldom(self, entry: Entry) -> None:
        match entry:
            case KeptEntry():
                self.messages.shown[entry.id] = None
            case ReportedEntry():
                self._own_calls().reported[entry.call_id] = None
            case ActionEntry():
                self._own_calls().actions[entry.call_id] = None
            case CardEntry() | CardClosedEntry() | ReplacedEntry():
                if self.cards is NO_CARDS:
                    self.cards = CardIndex()
                self.cards.note(entry)
                self.replaced += (entry,) if type(entry) is ReplacedEntry else ()
            case HandedOffEntry():  # who answers from here on has a continuation of its own, or none (S22)
                self.heirs = _with(self.heirs, entry.task, entry.agent)
                self.ref = self.ref if entry.task else None
            case WindowEntry():
                self.windows = _with(self.windows, Viewpoint(entry.agent, entry.task), entry)
            case StateEntry():
                self.has_state_entries = True
            case PreviewEntry():
                self._own_calls().previews[entry.call_id] = entry.place
            case _:
                pass  # of use to the sanitizer or to pages alone, or to nobody here

    def _note_turn(self, turn: TurnEntry, place: int) -> None:
        task, shown, silent = turn.task, self.messages.shown, True  # of no use to a transcript
        for part in turn.parts:
            if type(part) is CallPart:
                self._note_call(part, turn)
                silent = silent and (part.name == CARD_TOOL or (turn.cut and part.kind != "hosted"))
            else:
                shown[part.id] = None
                silent = silent and (type(part) is not TextPart or not part.text or part.text.isspace())
        before = self._standing.get(task, ()) if silent else ()
        if turn.parts or not before:  # an empty one changes nothing; where others call nothing, the newest will do
            self._standing[task] = (*(before if before and before[-1].calls else before[:-1]), turn)
        if not task:
            self.newest_turn, self.newest_place = turn, place
        if task or turn.agent:
            self.alone = False

    def _note_call(self, call: CallPart, turn: TurnEntry) -> None:
        calls = self._own_calls() if self.calls is NO_CALLS else self.calls
        self.messages.shown[call.parent_id] = None
        calls.by_id[call.id] = call
        if turn.task:
            calls.tasks[call.id] = turn.task
        if call.kind == "task":
            calls.delegations[call.id] = turn
        elif turn.origin and call.kind != "client":
            calls.issued[call.name] = None

    def _own_calls(self) -> CallIndex:
        """Returns the thread's own index of calls, for one more entry."""
        if self.calls is NO_CALLS:
            self.calls = CallIndex()
        return self.calls

    def record(self, approval: Approval) -> None:
        """Takes over a record of the ledger: a new one, or one that was moved."""
        self.approvals = _with(self.approvals, approval.call_id, approval)
        if approval.state in UNFINISHED:
            self._unfinished = _with(self._unfinished, approval.call_id, approval)
        elif approval.call_id in self._unfinished:
            del self._unfinished[approval.call_id]

    def branch(self, keep: int) -> Dropped:
        """Goes back: only the first ``keep`` entries stay. The caller adds what outlives it.

        The provider's conversation is left (it has later items); a response that was committed before is gone on from.
        """
        gone, reported = self.entries[keep:], self.calls.reported
        calls = dict.fromkeys(call.id for entry in gone if isinstance(entry, TurnEntry) for call in entry.calls)
        self._read(self.entries[:keep])
        turn = self.newest_turn
        ref = turn.ref if turn is not None and turn.agent == self.heirs.get("", "") else None
        self.ref = ref if ref and ref.previous_response_id else None
        cards = {entry.id for entry in self.entries if isinstance(entry, CardEntry)}
        outlives = [entry for entry in gone if self._outlives(entry, cards)]
        # Their ids are not given again: idempotency keys are made of them.
        outlives += [ReportedEntry(call_id) for call_id in calls if call_id not in reported]
        return Dropped(gone, calls, outlives, [entry for entry in gone if isinstance(entry, ReplacedEntry)])

    def _outlives(self, entry: Entry, cards: Container[str]) -> bool:
        """Returns whether ``entry`` stays although a branch dropped it.

        It was given later to a call or a message that stays, or to one of these ``cards``.
        """
        match entry:
            case ResultEntry() | ActivityEntry():
                return entry.call_id in self.calls.by_id
            case CardClosedEntry():
                return entry.card_id in cards
            case LeftOutEntry():
                said = self.messages.place_of(entry.message_id) is not None or entry.message_id in self.calls.actions
                return said or entry.call_id in self.calls.by_id
            case _:
                return isinstance(entry, ReportedEntry)

    # --- what is open, and who is waited for ----------------------------------------------------------------------
    @property
    def has_calls(self) -> bool:
        """True if a model has called anything, or a record says that it has: else nothing is open, nor waits."""
        return bool(self.calls.by_id or self.approvals)

    @property
    def has_team(self) -> bool:
        """True if other agents than the entry agent took part, or are to: by a hand-off or by a task."""
        return not self.alone or bool(self.heirs or self.calls.delegations)

    def standing_turns(self) -> Sequence[TurnEntry]:
        """Returns the turns whose calls can still be open, and that a model's next answer follows: in the conversation,
        and in each open task, the newest one alone.

        (And of turns after it that were cut off before they said anything those that call something, and the newest.)
        """
        if not self.calls.delegations:
            return self._standing.get("", ())
        standing = list(self._standing.get("", ()))
        for turn in standing:  # grows while it is gone through
            for call in filter(self._is_open_task, turn.calls):
                standing += self._standing.get(call.id, ())
        return standing

    def open_calls(self) -> list[CallPart]:
        """Calls without a result for which nobody is asked: what the client is to run, and what a crash left.

        Those of open tasks, too; but not the calls that delegated these.
        """
        calls = (call for turn in self.standing_turns() for call in turn.calls if call.kind != "task")
        return [call for call in calls if call.id not in self.calls.results and call.id not in self.approvals]

    # --- tasks ------------------------------------------------------------------------------------------------------
    def open_tasks(self, task: str = "") -> list[CallPart]:
        """Returns the calls that delegated what is not done yet, by who works on ``task``."""
        return [call for turn in self._standing.get(task, ()) for call in turn.calls if self._is_open_task(call)]

    def all_open_tasks(self) -> list[CallPart]:
        """Returns all such calls, however deep, outer ones first."""
        return [call for turn in self.standing_turns() for call in turn.calls if self._is_open_task(call)]

    def _is_open_task(self, call: CallPart) -> bool:
        """Returns whether the call is a task at work. Where people were asked whether it may begin, they have
        agreed.
        """
        record = self.approvals.get(call.id)
        return call.kind == "task" and call.id not in self.calls.results and (record is None or record.is_begun)

    def waiting_tasks(self) -> set[str]:
        """Returns the ids of the tasks inside which something waits for a person or for the client."""
        if not self.calls.delegations:
            return set()
        waiting = [approval.call_id for approval in self.pending()] + [call.id for call in self.open_calls()]
        found: set[str] = set()
        for call_id in waiting:
            while call_id := self.calls.tasks.get(call_id, ""):
                found.add(call_id)
        return found

    def waits_in(self, task: str) -> bool:
        """Returns whether a call that was made in ``task`` itself has no outcome, so that its agent can't go on."""
        calls = (call for turn in self._standing.get(task, ()) for call in turn.told_calls)
        return any(call.kind != "hosted" and not self.has_outcome(call.id) for call in calls)

    def latest_in(self, task: str) -> TurnEntry | None:
        """Returns the latest turn of ``task`` that said anything."""
        turns = [turn for turn in self._standing.get(task, ()) if turn.parts]
        return turns[-1] if turns else None

    def task_of(self, call_id: str) -> str:
        """Returns the id of the task in which this call was made; "" for the conversation with the user."""
        return self.calls.tasks.get(call_id, "")

    def delegation(self, task: str) -> TurnEntry | None:
        """Returns the turn that holds the call that delegated ``task``."""
        return self.calls.delegations.get(task)

    def depth(self, task: str) -> int:
        """Returns how many tasks ``task`` is inside of, with itself."""
        return 1 + self.depth(self.calls.tasks.get(task, "")) if task else 0

    def pending(self) -> list[Approval]:
        """Returns the approvals that wait for a person, oldest first."""
        return [a for a in self._unfinished.values() if a.is_pending]

    def unfinished(self) -> Iterable[Approval]:
        """Returns the approvals that are decided neither way for good, or are at work."""
        return self._unfinished.values()

    def claimed(self) -> list[Approval]:
        """Returns the approvals that are run here, or were, by a process that died."""
        return [a for a in self._unfinished.values() if a.state is State.CLAIMED and not a.is_held]

    def agreed(self) -> list[Approval]:
        """Returns the approvals that wait for the provider: held calls that it is to be told to run."""
        return [a for a in self._unfinished.values() if a.is_agreed]

    def passed(self) -> list[Approval]:
        """Held calls that the provider may have been told to run, and of which nobody knows yet whether it was."""
        return [a for a in self._unfinished.values() if a.state is State.PASSED]

    def consents(self) -> dict[str, bool]:
        """Returns what the next request tells the provider about the calls that it holds, by call id.

        Nothing about those that it was told of before. What nobody was asked about, nobody agreed to.
        """
        if not self.has_calls:
            return {}
        held = [call.id for turn in self.standing_turns() for call in turn.told_calls if call.is_held]
        states = {call_id: self.approvals[call_id].state if call_id in self.approvals else None for call_id in held}
        told = (None, State.PENDING, State.PASSED, *NO)
        return {call_id: state is State.PASSED for call_id, state in states.items() if state in told}

    @property
    def waits(self) -> bool:
        """True if anything waits for a person or for the client."""
        return self.has_calls and bool(self.pending() or self.open_calls())

    def awaits_model(self, transcript: Transcript, task: str = "") -> bool:
        """Returns whether the model that works on ``task`` has something to answer at the end of ``transcript``.

        The transcript was made of this journal. To answer is a message of the user's, or outputs that it has not seen.
        """
        if not transcript or isinstance(transcript[-1], UserTurn):
            return bool(transcript)
        return any(call.kind != "hosted" for turn in self._standing.get(task, ()) for call in turn.told_calls)

    def is_answered(self, place: int) -> bool:
        """Returns whether the model's answer to the entry at ``place`` is there, or is waiting for somebody.

        Outputs that the model has not seen yet mean that the answer is still under way.
        """
        turn = self.newest_turn
        if turn is None or not self.has_turn_after(place):
            return False
        if turn.cut or not turn.awaited:
            return True
        return any(not self.has_outcome(c.id) and (c.kind != "task" or self.waits) for c in turn.awaited)

    def has_turn_after(self, place: int) -> bool:
        """Returns whether the model has said something after the entry at ``place``."""
        return self.newest_place > place

    def reference(self, agent: str = "") -> ConversationRef | None:
        """Returns what a provider remembers of this thread, for ``agent``: nothing, unless it said the newest turn
        (S22).

        There is one reference, whosever it is. Adapters leave another's alone.
        """
        return self.ref if self.newest_turn is None or self.newest_turn.agent == agent else None

    # --- calls ------------------------------------------------------------------------------------------------------
    def call(self, call_id: str) -> CallPart | None:
        """Returns the call that the client knows by this id, the latest one."""
        return self.calls.by_id.get(call_id)

    def knows_call(self, call_id: str) -> bool:
        """Returns whether the journal has a call of this id, a result for one, or what the user did under it."""
        return call_id in self.calls.by_id or call_id in self.calls.results or call_id in self.calls.actions

    def reserve_id(self, call_id: str) -> bool:
        """Reserves an id for a call. Returns False if clients have seen it here, or brought it: none is given twice."""
        known = self.knows_call(call_id) or call_id in self.calls.reported or call_id in self.approvals
        if known or call_id in self._reserved:
            return False
        self._reserved = _with(self._reserved, call_id, None)
        return True

    def has_result(self, call_id: str) -> bool:
        """Returns whether the journal has a result for this call."""
        return call_id in self.calls.results

    def result(self, call_id: str) -> ResultEntry | None:
        """Returns the result that the journal has for this call."""
        return self.calls.results.get(call_id)

    def returned_calls(self, among: Set[str | None]) -> Set[str | None]:
        """Returns those of some calls that have a result, and of which nobody was asked: nothing that is said of them
        is news.
        """
        calls = self.calls
        found = among & calls.by_id.keys() & calls.results.keys()  # as few steps as the smallest of them has calls
        return found - self.approvals.keys() - self.cards.approvals.keys()

    def has_outcome(self, call_id: str) -> bool:
        """Returns whether one knows what came of this call, or at least what was decided. Not so of a task at work."""
        approval = self.approvals.get(call_id)
        return call_id in self.calls.results or not (approval is None or approval.is_pending or approval.is_begun)

    def shows(self, call_id: str) -> bool:
        """Returns whether the client shows this gated call and has not been told its outcome."""
        return call_id not in self.calls.reported and call_id in self.calls.by_id

    def was_reported(self, call_id: str) -> bool:
        """Returns whether a stream has told the result of this call of ours."""
        return call_id in self.calls.by_id and (call_id in self.calls.results or call_id in self.calls.reported)

    def unreported(self) -> list[Approval]:
        """Outcomes that no stream has told the client yet, and of tasks that they begin. Looks at every record."""
        begun = [a for a in self.approvals.values() if a.is_begun and self.cards.open_of(a.id, a.was)]
        return begun + [a for a in self.approvals.values() if a.output and self.shows(a.call_id)]

    def is_action(self, call_id: str) -> bool:
        """Returns whether this call is what the user did in a component."""
        return call_id in self.calls.actions

    def has_issued(self, name: str) -> bool:
        """Returns whether a model of ours has called something of this name that is not the client's."""
        return name in self.calls.issued
