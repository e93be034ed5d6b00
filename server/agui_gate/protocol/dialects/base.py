"""A dialect: the rules by which one client is told of a thread.

The journal and the ledger are the same for everybody, and so is what the engine does. How it looks to a client differs
by the version of AG-UI that the client reads. A dialect is two classes:

* `Dialect` is one run's client. The engine asks it before it does something that clients must be able to take (is this
  call held back? may the run end with an interrupt?) and tells it facts after that (a gated call has its outcome, a
  card has ended). What the stream says of a fact is the dialect's to decide.
* `Shapes` is what needs no run: the last event of a stream, messages in a snapshot, what of a thread is shown at all.
  Readers that come back to a thread have only these.

`Choice` selects the shapes for each request, by what its ``protocolVersion`` says. A client that declares nothing is
one from before versions, and gets the shapes of 0.x. Whoever declares 1.0 or newer gets the rules of the specification.
So does a declaration that can't be read, which counts as newer (VER-4). The deployment has a word in it (`Deployment`,
docs/adr/0015-dialect-per-request.md). Nothing else asks which dialect a client has: code outside
`protocol/` knows the names of this module alone. The functions at its end are about the last event of a run, decoded,
of whichever dialect and server. `v0.py` and `v1.py` are the two dialects that there are.
"""

import re
from collections.abc import Collection, Mapping, Sequence, Set
from enum import Enum, StrEnum, auto
from typing import Any, NamedTuple, Protocol

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, Style
from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.core.sequencer import Lane, LastEvents, RunName, Sequencer
from agui_gate.core.stop_reasons import ASKED, Stop, cut_off
from agui_gate.core.transcript import CallPart, CardClosedEntry, Entry, ResultEntry
from agui_gate.errors import LimitReached
from agui_gate.protocol.run_input import RunInput

Message = dict[str, Any]
"""A message as AG-UI's JSON."""

ALLOW = "the client can read it: set AGUI_GATE_DIALECT to auto"

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_OURS = (1, 0)


class Told(NamedTuple):
    """Messages as a JSON list, as one reader is shown them; and in words, what its dialect has no shape for."""

    messages: msgspec.Raw
    lost: Set[str] = frozenset()


class Result(NamedTuple):
    """The result of a call, as a stream says it. ``metadata``: what the ledger says of it (`cards.metadata`)."""

    call_id: str
    message_id: str
    content: str
    metadata: dict[str, Any] | None = None


class Place(Enum):
    """The place where a reader is shown a call."""

    HERE = auto()
    """The place where the model said it."""
    AFTER = auto()
    """Behind what its turn showed at once."""
    DECIDED = auto()
    """The place where its outcome was told."""
    NOWHERE = auto()


class View(Protocol):
    """The view that a reader has of a thread's calls and cards: which, where, and in which shapes. Pure."""

    def place(self, call: CallPart, result: ResultEntry | None, record: Approval | None) -> Place:
        """Returns where ``call`` is shown, whose journalled result is ``result`` and whose record is ``record``."""

    def cards(self, entries: Sequence[Entry]) -> Set[str]:
        """Returns the ids of the cards among ``entries`` that are shown."""

    def shows_end(self, closed: CardClosedEntry) -> bool:
        """Returns whether a card that is shown is shown with this end."""

    def fit(self, messages: Sequence[Message]) -> Set[str]:
        """Brings ``messages`` into the reader's shapes, in place. Returns in words what there is no shape for."""


class RunClient(Protocol):
    """The run as its dialect knows it: the request, the stream, and where on it something of a call is said."""

    @property
    def input(self) -> RunInput:
        """The request."""

    @property
    def seq(self) -> Sequencer:
        """The stream."""

    def lane_of(self, call_id: str) -> Lane:
        """Returns where what is said of a call goes: the stream itself, or a sub-agent's part of it."""

    def show(self, call: CallPart, arguments: str | None = None) -> None:
        """Streams a call that was held back, at one go; ``arguments`` where they are not as the model wrote them."""


class Dialect(Protocol):
    """Tells one run's client by its rules. Nothing here awaits or raises; one thread uses it.

    ``style``: how people are asked in this run. ``snapshot_due``: the client may show something that is not so, and
    MESSAGES_SNAPSHOT is to say what is; whoever sends it sets it back. ``snapshot_due_at_end``: it has to be sent
    before the run's last event, too.
    """

    shapes: "Shapes"
    style: Style
    snapshot_due: bool

    @property
    def snapshot_due_at_end(self) -> bool:
        """See the class."""

    # --- asked before ---------------------------------------------------------------------------------------------
    def held_back(self, gated: Set[str], tasks: Set[str]) -> Set[str] | None:
        """Returns the tools whose calls are not streamed as the model makes them, but later: see `Lane` and
        `CallPart.shown`.

        ``gated`` are the names of the tools with a gate, ``tasks`` those that delegate to a sub-agent. None: all calls
        are streamed at once.
        """

    def interrupts(self, *, waits_for_page: bool) -> bool:
        """Returns whether a run that waits for a person ends with the outcome `interrupt`.

        ``waits_for_page``: the page owes results too.
        """

    def retires_cards(self) -> bool:
        """Returns whether the open cards of a call end where the call is asked about again."""

    def has_outcome(self, call_id: str) -> bool:
        """Returns whether the client has the outcome of this gated call from `connect`: then it stays where it was
        told.
        """

    def saw_end(self, said: Collection[str]) -> bool:
        """Returns whether a client that shows a card, to which that was ``said``, was told the card's end by a
        stream.
        """

    # --- told after -----------------------------------------------------------------------------------------------
    def behind(self) -> None:
        """Takes the fact that the client has dropped the beginning of an answer that goes on in this run."""

    def decided(self, call: CallPart | None, record: Approval) -> None:
        """Takes the fact that a gated call will not wait any longer. ``call``: as the journal has it, if it does."""

    def outcome(self, call: CallPart | None, record: Approval, result: Result) -> None:
        """Takes the result of a gated call that was decided."""

    def task_result(self, call: CallPart, record: Approval | None, result: Result) -> None:
        """Takes the result of the task of a sub-agent that has ended."""

    def gave_up(self, result: Result) -> None:
        """Takes the fact that nobody waits any longer for the result of a call of the page's.

        ``result``: what the model is told.
        """

    def card_ended(self, result: Result) -> None:
        """Takes the fact that nobody can answer this card any more. ``result``: why, for whoever shows it."""


class Shapes(LastEvents, Protocol):
    """A dialect as readers of a thread see it, and its `Dialect` for those that begin a run. Without state.

    ``version`` is kept in records: by which version of AG-UI a run is told that goes on by itself once the record is
    decided. None: as clients are told that declare none. ``remedy``: what developers can do so that nothing is lost.
    """

    version: str | None
    remedy: str

    def style(self, hitl: str, run: RunInput) -> Style:
        """Returns how a run asks people, by card or by interrupt, whose agent has that ``hitl``."""

    def view(self, style: Style) -> View:
        """Returns the view of a reader who is asked in that style."""

    def dialect(self, client: RunClient, style: Style) -> Dialect:
        """Returns the client of a run that asks in that style."""

    def asked(self, style: Style, pending: Sequence[Approval], bare: Sequence[Approval]) -> Sequence[Approval]:
        """Returns what a client that connects is asked about by interrupt, of what is ``pending``; ``bare`` has no
        card.
        """

    def messages(self, made: msgspec.Raw) -> Told:
        """Messages of the view of somebody else, in these shapes."""

    def frames(self, data: bytes) -> tuple[bytes, Set[str]]:
        """Whole frames of a run that was begun by somebody else, with its snapshots in these shapes; and in words,
        what there is no shape for.
        """

    def last_event(self, event: dict[str, Any], run: RunName) -> tuple[Any, Set[str]]:
        """Returns the last event of a run that was begun by somebody else, decoded, in these shapes and under that
        name, to be encoded again; and in words, what it can't say. May change ``event``.
        """


class Choice(Protocol):
    """Chooses the dialect of each request."""

    def choose(self, run: RunInput, *, reads_stops: bool = False) -> Shapes:
        """Returns the shapes for what ``run`` says of its version.

        ``reads_stops``: the client tells a stop from a failure by its code, so that nothing is lost where that is an
        error for
        others.
        """


class Deployment(StrEnum):
    """The operator's word about the clients (`AGUI_GATE_DIALECT`). A `Choice`.

    * ``auto`` leaves out the two optional members that a 0.0.59 parser chokes on, `pendingToolCallIds` and `expiresAt`.
      A Node runtime with client 1.0.0 declares 1.0, while the browser behind it parses with 0.0.59. Nothing in the
      request tells. Consumers derive both by themselves.
    * ``1.0`` sends these two as well: the operator knows that every browser is new enough.
    * ``compat`` gives everybody the shapes of 0.x: the operator knows that some browser is not.
    """

    AUTO = "auto"
    COMPAT = "compat"
    V1 = "1.0"

    def choose(self, run: RunInput, *, reads_stops: bool = False) -> Shapes:
        """See `Choice`. The dialects stand on this module, and most deployments have clients of one."""
        from agui_gate.protocol.dialects.v0 import UNDECLARED, V0Shapes

        if not declares_v1(run.protocol_version):
            return UNDECLARED[reads_stops]
        if self is Deployment.COMPAT:
            return V0Shapes(PROTOCOL_VERSION, ALLOW, reads_stops=reads_stops)
        from agui_gate.protocol.dialects.v1 import V1Shapes

        return V1Shapes(extras=self is Deployment.V1)


def is_newer(asked: str | None) -> bool:
    """Returns whether the sender declares more than this server speaks. What can't be read counts as that (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or (int(match[1]), int(match[2])) > _OURS


def declares_v1(asked: str | None) -> bool:
    """Returns whether the sender declares 1.0 or newer. What can't be read counts as newer (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or int(match[1]) >= 1


def stopped(event: Mapping[str, Any]) -> Stop | None:
    """Returns why the run was stopped whose last event this is; None if it was not.

    It may be one of any server's: a ``result`` can be anything, and so can what stands under our name in the metadata.
    """
    match event:
        case {"type": "RUN_ERROR", "code": ASKED.code | LimitReached.code as code, "message": str(message)}:
            return Stop(code, message)
        case {"type": "RUN_ERROR"}:
            return None
        case {"result": {"reason": str(reason)}}:
            return cut_off(reason)
        case {
            "outcome": {"type": "cancelled"},
            "metadata": {"agui-gate": {"code": str(code), "message": str(message)} as said},
        }:
            reason = said.get("reason")
            return Stop(code, message, reason if isinstance(reason, str) else None)
        case {"outcome": {"type": "cancelled"}}:
            return ASKED
    return None


def renamed(event: dict[str, Any], run: RunName) -> dict[str, Any]:
    """Returns a decoded last event under the name of another run. RUN_ERROR has no name."""
    return event if event["type"] == "RUN_ERROR" else event | {"threadId": run.thread_id, "runId": run.run_id}


def without_deadlines(outcome: ev.Finished | None) -> ev.Finished | None:
    """Returns an outcome whose questions have no `expiresAt`, for clients that may choke on one that has passed."""
    if not isinstance(outcome, ev.InterruptOutcome) or all(one.expires_at is None for one in outcome.interrupts):
        return outcome
    return ev.InterruptOutcome(tuple(msgspec.structs.replace(one, expires_at=None) for one in outcome.interrupts))


def without_extras(event: dict[str, Any]) -> dict[str, Any]:
    """Returns a decoded last event without `expiresAt` and `pendingToolCallIds`. Changes ``event``."""
    outcome = event.get("outcome") or {}
    if outcome.get("type") == "success":
        return {name: value for name, value in event.items() if name != "outcome"}
    if outcome.get("type") == "interrupt":
        for interrupt in outcome["interrupts"]:
            interrupt.pop("expiresAt", None)
    return event
