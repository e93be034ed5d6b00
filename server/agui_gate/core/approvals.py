"""The life of a gated call, as a table.

Theory of operation
-------------------
A gated call has exactly one record, an `Approval`, which the store's ledger keeps. Its `state` is the only answer to
"is this call still waiting?". Records are made in state ``pending``, in the same transaction that appends the turn that
issued the call. From there:

    pending ──► claimed ──► done | failed | unknown
       │            └─────► claimed is entered before the tool starts and committed first, so that it runs at most once
       └──► rejected | superseded | cancelled | expired

* ``claimed``: somebody with the right to say so approved it, and exactly one process is about to run it. A process that
  dies here leaves the record claimed. The next run of the thread moves it to ``unknown``, or any server if none comes
  (`approvals/orphan_job.py`). That is reported, and final. A tool that is `idempotent` is run again by a
  run that comes before.
* ``done`` / ``failed``: it ran; the output is in the record, committed before it is sent.
* ``rejected``: a person said no. ``superseded``: the user went on without answering. ``cancelled``: the run was
  stopped. ``expired``: nobody answered in time, judged by the store's clock. The store closes these by the state alone;
  whoever reads them fills in the output (`with_result` in `approvals/expiry.py`).

A held call is one that the provider runs, and that it asks about first (`Approval.runner`). It is claimed when somebody
approves it, and nothing happens by that: what runs it is the request that says so. So it has two states more:

    claimed ──► passed ──► done | failed | unknown
                  │ ▲
                  ▼ │
               given_back

* ``passed``: the provider is about to be told that it may run the call. Entered before the request is made, and
  committed first, so that it is told at most once. Who finds it in this state after a crash knows that it may have run,
  and moves it to ``unknown``.
* ``given_back``: the provider is known not to have acted on that request. It may be told again. In a restored backup
  it may have been told since: ``unknown``.

Clients are told ``claimed`` for both (`State.public`).

A call that delegates a task to another agent of the team asks whether the task may begin. So it is ``done`` once it
may, and has no output here: what comes of the task is in the journal (`Approval.is_begun`). Nothing happens by its two
moves. So who finds it claimed after a crash moves it on.

`MOVES` is the whole table. Every change of state goes through `check_move` (stores turn the same table into the WHERE
clause of one conditional UPDATE); an illegal move raises `IllegalMove`.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from agui_gate.core.answers import Way
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove

Style = Literal["card", "interrupt"]

Runner = Literal["here", "provider", "agent"]
"""The runner of an approved call: a tool of ours; the provider, which held it back; or another agent, as a task of
its.
"""

SEPARATOR = "\x1f"
"""The character between a tenant and an owner in the owner's key (`core/principals.py`). No id has it."""

LOCAL = "local"
"""The principal of an open loopback server, and of the shell."""


class State(StrEnum):
    """The state of a gated call."""

    PENDING = "pending"
    CLAIMED = "claimed"
    PASSED = "passed"
    GIVEN_BACK = "given_back"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def public(self) -> "State":
        """The state as clients are told it. Whether a provider was told already is no matter of theirs."""
        return State.CLAIMED if self in (State.PASSED, State.GIVEN_BACK) else self


MOVES: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.CLAIMED, State.REJECTED, State.SUPERSEDED, State.CANCELLED, State.EXPIRED}),
    State.CLAIMED: frozenset({State.PASSED, State.DONE, State.FAILED, State.UNKNOWN}),
    State.PASSED: frozenset({State.GIVEN_BACK, State.DONE, State.FAILED, State.UNKNOWN}),
    State.GIVEN_BACK: frozenset({State.PASSED, State.FAILED, State.UNKNOWN}),
    State.DONE: frozenset(),
    State.FAILED: frozenset(),
    State.UNKNOWN: frozenset(),
    State.REJECTED: frozenset(),
    State.SUPERSEDED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
}

DECISIONS = frozenset({State.CLAIMED, State.REJECTED})
"""Moves that are a person's decision: only before the expiry, by the store's clock (B26)."""


UNFINISHED = frozenset(state for state, reached in MOVES.items() if reached)
"""States of records of which it is not known yet what comes of their calls."""

RAN = frozenset({State.DONE, State.FAILED, State.UNKNOWN})
"""States of calls whose tool was started: what it did stays done, whatever becomes of the answer around it."""


NO = frozenset({State.REJECTED, State.SUPERSEDED, State.CANCELLED, State.EXPIRED})
"""States of calls that nobody agreed to."""


def sources(to: State) -> tuple[State, ...]:
    """Returns the states from which ``to`` can be reached, in declaration order."""
    return tuple(state for state in State if to in MOVES[state])


class Login(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a person logged in, as their token says, and the ``address`` of their client.

    ``auth_time`` is in seconds since the epoch. The names are those of JWT claims.
    """

    acr: str = ""
    amr: tuple[str, ...] = ()
    auth_time: int | None = None
    jti: str = ""
    address: str = ""


class Asker(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who asks: the principal whose message began the run in which the call was made, and the person behind it."""

    id: str
    person: str


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's decision about one call. ``edited_arguments`` is canonical JSON of all arguments, or None.

    ``by`` is the principal, ``way`` how the answer came; it is None for what was decided before that was recorded.
    ``person``: the person behind the principal, where ``auth`` says that; "" for the principal itself. ``roles`` are
    those that it had, where the gate asks for people. ``grant``: the id of the grant that was given with it; or, where
    the ``way`` is ``grant``, of the one by which it was decided, as its giver would have. ``absent``: who is away, and
    whose right it was, where a ``deputy`` (its id) decided; ``roles`` are theirs then. ``break_glass``: made in an
    emergency, in the place of those who have to agree.
    """

    approved: bool
    by: str = ""
    reason: str | None = None
    edited_arguments: str | None = None
    way: Way | None = None
    person: str = ""
    login: Login | None = None
    roles: tuple[str, ...] = ()
    grant: str = ""
    absent: Asker | None = None
    deputy: str = ""
    break_glass: bool = False


class Yes(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's yes to a call to which several have to agree. ``of``: the id by which it was asked then."""

    decision: Decision
    at: int
    of: str


class People(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who has to agree to a call: the terms of its gate as they were when it was asked, and who has (`said`).

    The terms: see `Gate`; ``by_function``: a function says who may. ``edited``: the arguments that are agreed to, after
    the last edit, and ``editor`` the person who made it. ``added``: roles, or lists of ids, that an escalation has made
    approvers. ``break_glass``: whether it may be decided in an emergency, without them. ``handed_to``, ``handed_by``:
    the colleague to whom somebody handed it last, who may decide it or not. See `core/agreement.py`.
    """

    needs: int = 1
    approvers: str | tuple[str, ...] | None = None
    by_function: bool = False
    self_approval: bool = False
    decisions: tuple[str, ...] = ("approve", "edit", "reject")
    max_auth_age: int | None = None
    acr: tuple[str, ...] = ()
    said: tuple[Yes, ...] = ()
    edited: str | None = None
    editor: str = ""
    added: tuple[str | tuple[str, ...], ...] = ()
    break_glass: bool = True
    handed_to: str = ""
    handed_by: str = ""


class Approval(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The one record of a gated call. Times are ms since the epoch, by the store's clock.

    ``id`` is the approval's and the interrupt's id. ``call_id`` is the client's tool call id (unique in the thread).
    ``arguments`` is the canonical JSON that was shown. ``provider_ref`` is the provider's conversation or response id
    at the time of asking, for the record. A client that knows its thread by that id finds the thread, and so this
    (agent-framework#6894).

    ``source`` and ``schema_digest`` say which tool it was asked for: where it comes from ("" for the agent's own), and
    what its schema was. An approval is good for no other. None: asked before that was recorded. ``replaced``: the
    answer that the call belongs to was regenerated or edited away; the record stays.

    ``run_key`` and ``run_id`` are the run in which the model made the call: the server's key, and the client's id.
    ``run_id`` is "" for what was asked before it was recorded. ``runner``: who runs the call. ``protocol_version``: by
    which rules its client is told (`protocol/dialects/`); None for those of 0.x.

    ``was``: the id under which it was asked before an older backup was restored (`stores/epochs.py`); "" for most. Its
    own id: a yes to a task, of before that.

    ``trace`` is the W3C `traceparent` of the run that asks, where traces are made.

    ``principal`` is the owner: the key of whose thread it is. ``asker``: who asked; None where ``auth`` says no more
    than whose it is. ``people``: who has to agree; None: whoever it was shown to.
    """

    id: str
    principal: str
    thread_id: str
    agent: str
    run_key: str
    turn_id: str
    call_id: str
    tool: str
    arguments: str
    style: Style = "interrupt"
    provider_ref: str | None = None
    editable: tuple[str, ...] = ()
    message: str | None = None
    asked_at: int = 0
    expires_at: int | None = None
    state: State = State.PENDING
    decision: Decision | None = None
    decided_at: int | None = None
    output: Output | None = None
    source: str = ""
    schema_digest: str | None = None
    replaced: bool = False
    run_id: str = ""
    runner: Runner = "here"
    protocol_version: str | None = None
    was: str = ""
    asker: Asker | None = None
    people: People | None = None
    trace: str = ""

    @property
    def is_pending(self) -> bool:
        """True if nobody has decided it, and nothing else has: a person may, unless it has expired meanwhile."""
        return self.state is State.PENDING

    @property
    def is_held(self) -> bool:
        """True if the provider runs the call: there is no tool of ours to run then."""
        return self.runner == "provider"

    @property
    def opens_task(self) -> bool:
        """True if it delegates a task, so that what was asked is whether that may begin."""
        return self.runner == "agent"

    @property
    def is_begun(self) -> bool:
        """True if it opens a task that somebody agreed to. What comes of that is in the journal, and not in here."""
        return self.opens_task and self.state in (State.CLAIMED, State.DONE)

    @property
    def is_asked_again(self) -> bool:
        """True if it was asked before an older backup was restored, and once more since."""
        return self.was not in ("", self.id)

    @property
    def is_agreed(self) -> bool:
        """True if it is held, somebody approved it, and the provider is not told so yet."""
        return self.is_held and self.state in (State.CLAIMED, State.GIVEN_BACK)

    @property
    def effective_arguments(self) -> str:
        """The arguments that run, or ran: the edited ones if a person changed them."""
        edited = self.decision.edited_arguments if self.decision else self.people.edited if self.people else None
        return self.arguments if edited is None else edited

    def expired_at(self, now: int) -> bool:
        """Returns whether it can no longer be decided at ``now``."""
        return self.expires_at is not None and self.expires_at <= now

    def waits_at(self, now: int) -> bool:
        """Returns whether it waits for a person at ``now``: it is pending, and has not expired."""
        return self.is_pending and not self.expired_at(now)

    def overdue_at(self, now: int) -> bool:
        """Returns whether its record has to be moved to ``expired`` at ``now``."""
        return self.is_pending and self.expired_at(now)


def check_move(approval: Approval, to: State, now: int) -> None:
    """Raises `IllegalMove` unless ``approval`` may go to ``to`` at ``now``."""
    if to not in MOVES[approval.state]:
        raise IllegalMove(f"approval {approval.id} is {approval.state}; it can't become {to}")
    if to is State.PASSED and not approval.is_held:
        raise IllegalMove(f"approval {approval.id} is about a call that runs here; it can't become {to}")
    if to in DECISIONS and approval.expired_at(now):
        raise IllegalMove(f"approval {approval.id} has expired; it can't become {to}")
    if to is State.EXPIRED and not approval.expired_at(now):
        raise IllegalMove(f"approval {approval.id} has not expired yet")


def dated(approval: Approval, now: int) -> Approval:
    """Returns ``approval``, whose times are relative, as it is recorded at ``now``."""
    expires_at = None if approval.expires_at is None else approval.expires_at + now
    return msgspec.structs.replace(approval, asked_at=approval.asked_at + now, expires_at=expires_at)


def after_move(
    approval: Approval, to: State, now: int, decision: Decision | None = None, output: Output | None = None
) -> Approval:
    """Returns the record after that move at ``now``, with what was decided and what came of it. Raises
    `IllegalMove`.

    A yes of one person where more have to agree leaves it pending. Raises `MayNotDecide` for one of who may not. Where
    the gate's own rule lets a call go, nobody has to agree.
    """
    if approval.people is not None and to is State.CLAIMED and not (decision and decision.way == "rule"):
        from agui_gate.core.agreement import agree

        return agree(approval, decision, now)
    check_move(approval, to, now)
    return msgspec.structs.replace(
        approval,
        state=to,
        decided_at=now if approval.is_pending else approval.decided_at,
        decision=approval.decision if decision is None else decision,
        output=approval.output if output is None else output,
    )
