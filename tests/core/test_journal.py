"""What a journal says of itself, held against a slow reading of it that is easy to check."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.approvals import MOVES, NO, Approval, Runner, State
from agui_gate.core.journal import Journal
from agui_gate.core.message_index import NO_CALLS, NOTHING, REPLACED
from agui_gate.core.sanitizer import sanitize
from agui_gate.core.transcript import (
    CARD_TOOL,
    ActionEntry,
    CallPart,
    CardClosedEntry,
    CardEntry,
    Content,
    ConversationRef,
    Entry,
    LeftOutEntry,
    Output,
    ReplacedEntry,
    ReportedEntry,
    ResultEntry,
    Text,
    TextPart,
    TurnEntry,
    UserEntry,
    UserTurn,
)
from tests.core.histories import CHECKED, PROVEN, Choices, history, turn_entry
from tests.requirements import shows
from tests.support.timing import grows_less

RUNNERS: tuple[Runner, ...] = ("here", "provider")
CARDS = ("card_1", "card_2", "card_3")
OUTPUT = Output("done")


class Read:
    """The same questions, each answered by reading all that is there. Nothing is remembered between two of them."""

    def __init__(self, entries: Sequence[Entry], approvals: Sequence[Approval]) -> None:
        self.entries, self.records = entries, list({a.call_id: a for a in approvals}.values())

    def turns(self) -> list[TurnEntry]:
        return [e for e in self.entries if isinstance(e, TurnEntry)]

    def calls(self) -> list[CallPart]:
        return [call for turn in self.turns() for call in turn.calls]

    def results(self) -> set[str]:
        return {e.call_id for e in self.entries if isinstance(e, ResultEntry)}

    def reported(self) -> set[str]:
        return {e.call_id for e in self.entries if isinstance(e, ReportedEntry)}

    def actions(self) -> set[str]:
        return {e.call_id for e in self.entries if isinstance(e, ActionEntry)}

    def standing(self) -> list[TurnEntry]:
        """The newest turn that is in a transcript, and what came after it."""
        said = [place for place, turn in enumerate(self.turns()) if sanitize([turn], {})]
        return self.turns()[said[-1] if said else 0 :]

    def open_calls(self) -> list[CallPart]:
        known = self.results() | {a.call_id for a in self.records}
        return [call for turn in self.standing() for call in turn.calls if call.id not in known]

    def consents(self) -> dict[str, bool]:
        """What is said of each held call of the turns that stand: yes where it is passed on, no where nobody agreed."""
        states = {a.call_id: a.state for a in self.records}
        calls = [call for turn in self.standing() for call in turn.calls if not turn.cut and call.name != CARD_TOOL]
        held = [call.id for call in calls if call.kind == "held"]
        said = {State.PASSED: True} | dict.fromkeys([None, State.PENDING, *NO], False)
        return {call_id: said[states.get(call_id)] for call_id in held if states.get(call_id) in said}

    def in_state(self, state: State) -> list[Approval]:
        return [a for a in self.records if a.state is state]

    def open_cards(self, approval_id: str) -> list[CardEntry]:
        closed = {e.card_id for e in self.entries if isinstance(e, CardClosedEntry)}
        cards = [e for e in self.entries if isinstance(e, CardEntry) and e.approval_id == approval_id]
        return [card for card in cards if card.id not in closed]

    def said(self, card_id: str) -> set[str | None]:
        closed = [e for e in self.entries if isinstance(e, CardClosedEntry) and e.card_id == card_id]
        return ({e.content for e in closed} | {e.said for e in closed}) - {None}

    def asks(self, card_id: str) -> set[str]:
        shown = {e.approval_id for e in self.entries if isinstance(e, CardEntry) and e.id == card_id}
        gone = [dict(e.cards) for e in self.entries if isinstance(e, ReplacedEntry)]
        return shown | {cards[card_id] for cards in gone if card_id in cards}

    def shows(self, call_id: str) -> bool:
        return call_id in {c.id for c in self.calls()} and call_id not in self.reported()

    def taken(self) -> set[str]:
        return {
            *(call.id for call in self.calls()),
            *self.results(),
            *self.reported(),
            *self.actions(),
            *(a.call_id for a in self.records),
        }

    def decided(self) -> set[str]:
        return {a.call_id for a in self.records if a.state is not State.PENDING}

    def is_answered(self, place: int) -> bool:
        turns = [e for e in self.entries[place + 1 :] if isinstance(e, TurnEntry)]
        if not turns or turns[-1].cut or all(call.kind == "hosted" for call in turns[-1].calls):
            return bool(turns)
        known = self.results() | self.decided()
        return any(call.kind != "hosted" and call.id not in known for call in turns[-1].calls)

    def awaits_model(self) -> bool:
        transcript = sanitize(self.entries, {})
        if not transcript or isinstance(transcript[-1], UserTurn):
            return bool(transcript)
        return any(call.part.kind != "hosted" for call in transcript[-1].calls)

    def messages(self) -> set[str]:
        parts = [part for turn in self.turns() for part in turn.parts]
        shown = {part.parent_id if isinstance(part, CallPart) else part.id for part in parts}
        return shown | {e.id for e in self.entries if isinstance(e, UserEntry)}

    def issued(self) -> set[str]:
        turns = [turn for turn in self.turns() if turn.origin]
        return {call.name for turn in turns for call in turn.calls if call.kind != "client"}

    def place_of(self, message_id: str) -> int | None:
        users = [i for i, e in enumerate(self.entries) if isinstance(e, UserEntry) and e.id == message_id]
        return users[-1] if users else None

    def unnamed(self) -> list[tuple[Content, ...]]:
        return [e.content for e in self.entries if isinstance(e, UserEntry) and e.minted]


def check(journal: Journal) -> None:
    """Every answer of ``journal`` is that of one who reads everything."""
    read = Read(journal.entries, list(journal.approvals.values()))
    assert [turn for turn in journal.standing_turns() if turn.calls] == [turn for turn in read.standing() if turn.calls]
    assert journal.latest_in("") == ([turn for turn in read.standing() if turn.parts] or [None])[-1]
    assert journal.newest_turn == (read.turns() or [None])[-1]
    assert journal.open_calls() == read.open_calls()
    assert journal.pending() == read.in_state(State.PENDING)
    assert journal.claimed() == [a for a in read.in_state(State.CLAIMED) if a.runner == "here"]
    assert journal.passed() == read.in_state(State.PASSED)
    agreed = [a for a in read.records if a.state in (State.CLAIMED, State.GIVEN_BACK)]
    assert journal.agreed() == [a for a in agreed if a.runner == "provider"]
    assert journal.consents() == read.consents()
    assert journal.waits == bool(read.open_calls() or read.in_state(State.PENDING))
    assert journal.unreported() == [a for a in read.records if a.output and read.shows(a.call_id)]
    assert not any(map(journal.reserve_id, read.taken()))
    assert list(journal.replaced) == [e for e in journal.entries if isinstance(e, ReplacedEntry)]
    for approval in read.records:
        assert journal.cards.open_of(approval.id) == read.open_cards(approval.id)
    for card_id in CARDS:
        assert set(journal.cards.said(card_id)) == read.said(card_id)
        assert (card_id in journal.cards) == bool(read.asks(card_id))
        assert card_id not in journal.cards or journal.cards.approvals[card_id] in read.asks(card_id)
    check_calls(journal, read)
    check_messages(journal, read)


def check_calls(journal: Journal, read: Read) -> None:
    results, reported, actions = read.results(), read.reported(), read.actions()
    calls = {call.id: call for call in read.calls()}
    for call_id in {*read.taken(), "nobody's"}:
        assert journal.call(call_id) == calls.get(call_id)
        assert journal.has_result(call_id) == (call_id in results)
        assert journal.has_outcome(call_id) == (call_id in results | read.decided())
        assert journal.knows_call(call_id) == (call_id in results | actions | calls.keys())
        assert journal.shows(call_id) == read.shows(call_id)
        assert journal.was_reported(call_id) == (call_id in calls and call_id in results | reported)
        assert journal.is_action(call_id) == (call_id in actions)


def check_messages(journal: Journal, read: Read) -> None:
    for message_id in {*read.messages(), "nobody's"}:
        assert (message_id in journal.messages) == (message_id in read.messages())
        assert journal.messages.place_of(message_id) == read.place_of(message_id)
    for name in ("search", "refund", "send_email", "nobody's"):
        assert journal.has_issued(name) == (name in read.issued())
    unnamed = read.unnamed()
    assert journal.messages.unnamed == len(unnamed)
    for content in [*unnamed, ()]:
        assert list(journal.messages.places_of(content)) == [i for i, one in enumerate(unnamed) if one == content]
    for place in range(len(journal.entries)):
        assert journal.is_answered(place) == read.is_answered(place)


# --- anything that can happen to a thread ---------------------------------------------------------------------------


def later(choose: Choices, journal: Journal) -> Iterator[Entry]:
    """One thing that a run adds to a thread."""
    ids = sorted(Read(journal.entries, list(journal.approvals.values())).taken()) or ["call_1"]
    kind = choose.of(["turn", "reported", "result", "user", "card", "closed", "action", "replaced", "left out"])
    if kind == "turn":
        yield turn_entry(choose)
    elif kind == "reported":
        yield ReportedEntry(choose.of(ids))
    elif kind == "result":
        yield ResultEntry(choose.of(ids), choose.new("x"), OUTPUT)
    elif kind == "user":
        yield UserEntry(choose.new("u"), (Text(choose.of(["yes", "no"])),), minted=choose.rarely(2))
    elif kind == "card":
        yield from [CardEntry(c, "m", choose.of(["apr_1", "apr_2"]), "{}") for c in CARDS if c not in journal.cards][:1]
    elif kind == "closed":
        yield CardClosedEntry(choose.of(CARDS), "m", choose.of([REPLACED, "done"]), choose.of([None, "clicked"]))
    elif kind == "action":
        yield ActionEntry("m", choose.new("act"), "log", "{}", "r", OUTPUT)
    elif kind == "replaced":
        yield ReplacedEntry(choose.new("gone"), cards=((choose.of(CARDS), "apr_1"),))
    else:
        yield LeftOutEntry("gone", choose.of(["u1", "act1"]), call_id=choose.of(["", *ids]))


def moved(choose: Choices, call: CallPart, known: Approval | None, number: int) -> Approval:
    """A new record for ``call``, or the one it has, moved."""
    if known is not None:
        states = sorted({known.state, *MOVES[known.state]})
        return msgspec.structs.replace(known, state=choose.of(states), output=choose.of([None, OUTPUT]))
    state = choose.of(list(State))
    return Approval(
        id=f"apr_{number}", principal="p", thread_id="t", agent="a", run_key="r", turn_id="t", call_id=call.id,
        tool=call.name, arguments="{}", state=state, output=choose.of([None, OUTPUT]), runner=choose.of(RUNNERS),
    )  # fmt: skip


def happened(entropy: bytes) -> Journal:
    """A thread to which all sorts of things happened: what was said, decided, shown, and gone back behind."""
    choose = Choices(entropy)
    records = [choose.rarely(2) for _ in range(4)]
    damaged = history(Choices(entropy[64:]))
    journal = Journal(damaged if choose.rarely(2) else ())
    for wanted in records:
        for entry in later(choose, journal):
            journal.extend([entry])
        calls = [call for turn in journal.standing_turns() for call in turn.calls]
        if wanted and calls:
            asked = choose.of(calls)
            journal.record(moved(choose, asked, journal.approvals.get(asked.id), len(journal.approvals)))
        if choose.rarely(4):
            dropped = journal.branch(choose.below(len(journal.entries) + 1))
            for entry in (*dropped.outlives, *dropped.replaced):
                journal.extend([entry])
    return journal


THREADS = st.binary(min_size=320, max_size=320)


@shows("B20", "B9")
@PROVEN
@given(THREADS)
def test_every_answer_is_that_of_one_who_reads_everything(entropy: bytes) -> None:
    check(happened(entropy))


@shows("B5")
@CHECKED
@given(THREADS)
def test_a_journal_that_is_read_again_answers_the_same(entropy: bytes) -> None:
    """It is what the next process has: nothing may be known only to the run that wrote it."""
    journal = happened(entropy)
    again = Journal(journal.entries, journal.approvals.values(), journal.ref)
    check(again)
    assert again.open_calls() == journal.open_calls()


def test_an_id_is_taken_once_until_the_thread_is_read_again() -> None:
    journal = Journal()
    assert [journal.reserve_id(one) for one in ("a", "b", "a")] == [True, True, False]
    journal.read_again((), None)
    assert journal.reserve_id("a")


def test_journals_share_nothing_that_can_be_added_to() -> None:
    with pytest.raises(TypeError):
        NOTHING["a"] = None
    assert all(value is NOTHING for value in msgspec.structs.astuple(NO_CALLS))
    for name, value in vars(Journal()).items():
        is_shared = value is getattr(Journal(), name)
        assert value is NOTHING or not (is_shared and isinstance(value, dict | list | set)), name


@CHECKED
@given(THREADS)
def test_whether_the_model_has_something_to_answer_is_what_its_transcript_says(entropy: bytes) -> None:
    entries = [e for e in happened(entropy).entries if not (isinstance(e, UserEntry | TurnEntry) and not e.id)]
    ids = [e.id for e in entries if isinstance(e, UserEntry | TurnEntry)]
    if len(set(ids)) == len(ids):  # a repeated id, which only clients have, moves a turn
        journal = Journal(entries)
        assert journal.awaits_model(sanitize(entries, {})) == Read(entries, ()).awaits_model()


@CHECKED
@given(THREADS, st.integers(0, 40))
def test_nothing_that_stays_loses_what_it_was_given_behind_a_branch(entropy: bytes, keep: int) -> None:
    journal = happened(entropy)
    before, taken = list(journal.entries), {c.id for c in Read(journal.entries, ()).calls()}
    results, reported = Read(before, ()).results(), Read(before, ()).reported()
    dropped = journal.branch(keep)
    assert (journal.entries, dropped.entries) == (before[:keep], before[keep:])
    for entry in (*dropped.outlives, *dropped.replaced):
        journal.extend([entry])
    read = Read(journal.entries, ())
    assert list(journal.replaced) == [e for e in before if isinstance(e, ReplacedEntry)], "what ran stays done"
    assert reported <= read.reported(), "nothing is told twice"
    assert not any(map(journal.reserve_id, taken)), "no id of a call is given again"
    assert results & {call.id for call in read.calls()} <= read.results(), "a call that stays keeps its result"
    cards = [entry.id for entry in before[:keep] if isinstance(entry, CardEntry)]
    assert all(read.said(card) == Read(before, ()).said(card) for card in cards), "a card that stays keeps its answer"


# --- some of it by hand ---------------------------------------------------------------------------------------------


def turn(turn_id: str, *parts: CallPart | TextPart, ref: ConversationRef | None = None, cut: bool = False) -> TurnEntry:
    return TurnEntry(turn_id, parts, "model", ref, cut)


def call(call_id: str) -> CallPart:
    return CallPart(call_id, call_id, "search", "{}", "m")


def test_only_the_newest_turns_calls_can_be_open() -> None:
    journal = Journal([turn("t1", call("a")), turn("t2", call("b"), call("c")), ResultEntry("b", "m", OUTPUT)])
    assert [open_call.id for open_call in journal.open_calls()] == ["c"]
    journal.extend([turn("t3", TextPart("m3", "Done."))])
    assert journal.open_calls() == []


def test_a_turn_that_broke_off_before_its_first_word_leaves_everything_as_it_was() -> None:
    journal = Journal([turn("t1", call("a")), turn("t2", call("b"), cut=True), ResultEntry("b", "m", OUTPUT)])
    assert [stands.id for stands in journal.standing_turns()] == ["t1", "t2"]
    assert [open_call.id for open_call in journal.open_calls()] == ["a"]
    assert journal.newest_turn is not None
    assert journal.newest_turn.cut


@pytest.mark.parametrize("parts", [(), (TextPart("m", " "),)], ids=["empty", "blank"])
def test_a_thousand_turns_that_say_nothing_are_not_kept_apart(parts: tuple[TextPart, ...]) -> None:
    """Else each of them copied all before it."""
    journal = Journal([turn("t1", call("a")), *[turn(f"s{number}", *parts) for number in range(1_000)]])
    assert [stands.id for stands in journal.standing_turns()] == ["t1", *(["s999"] if parts else [])]
    assert [open_call.id for open_call in journal.open_calls()] == ["a"]


@pytest.mark.parametrize(("keep", "response"), [(0, None), (1, None), (2, "resp_1"), (4, None)])
def test_a_branch_goes_on_from_the_response_before_it(keep: int, response: str | None) -> None:
    """A conversation of the provider's has later items already, so it is left."""
    chain = ConversationRef("t1", "model", previous_response_id="resp_1")
    conversation = ConversationRef("t2", "model", conversation_id="conv_1")
    said = UserEntry("u1", (Text("hi"),))
    hi, ho = turn("t1", TextPart("m1", "Hi."), ref=chain), turn("t2", TextPart("m2", "Ho."), ref=conversation)
    journal = Journal([said, hi, said, ho, said], ref=conversation)
    journal.branch(keep)
    assert (journal.reference() and journal.reference().previous_response_id) == response


@shows("B20")
def test_b20_thirty_thousand_calls_are_read_in_linear_time_and_asked_about_in_no_time() -> None:
    def thread(calls: int) -> list[Entry]:
        pairs = ((turn(f"t{i}", call(f"c{i}")), ResultEntry(f"c{i}", f"m{i}", OUTPUT)) for i in range(calls))
        return [entry for pair in pairs for entry in pair]

    small, large = thread(15_000), thread(30_000)
    assert grows_less(3, lambda: Journal(small), lambda: Journal(large))
    few, many = Journal(small[:100]), Journal(large)

    def asked(journal: Journal) -> None:
        for i in range(2_000):
            journal.extend([ReportedEntry(f"c{i}")])
            assert not journal.waits
            assert not journal.open_calls()

    assert grows_less(3, lambda: asked(few), lambda: asked(many))
