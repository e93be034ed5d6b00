"""One gated call in two processes: what each does by itself, what people do, and what may break.

The steps are as long as what nobody can see the middle of: one statement of the store, one start of a tool. Which
promises are held is `Calls.broken` and `Calls.stuck`.
"""

from collections.abc import Iterator, Sequence
from typing import get_args

from tests.ledger_model.search import Step
from tests.ledger_model.world import (
    ALL,
    DEAD,
    ENDED,
    LOST,
    NEVER_RAN,
    NOBODY,
    Backup,
    Click,
    Guards,
    Variant,
    Worker,
    World,
    in_order,
)

Steps = Iterator[tuple[Step, World]]

FAULTS = ("crash", "suspend", "stop", "commit", "restore")
HOSTED_FAULTS = ("refused", "broken")
ANSWERS = ((Click("yes"), Click("yes")), (Click("yes"), Click("no")), (Click("yes"), Click("edit")))
"""The second click may be sent before the first. What a provider runs can't be edited."""

OPEN = ("claimed", "passed")
"""Records that are somebody's work."""


class Calls:
    """The model. ``budget``: how many things may break in one history."""

    def __init__(self, variant: Variant = "local", guards: Guards = ALL, *, budget: int = 2) -> None:
        assert variant in get_args(Variant)
        self.variant, self.guards, self._budget = variant, guards, budget
        self._held = variant == "hosted"

    def initial(self) -> Sequence[World]:
        """Nothing is asked yet."""
        faults = FAULTS + HOSTED_FAULTS * self._held
        answers = ANSWERS[:2] if self._held else ANSWERS
        return [World(clicks=clicks, faults=faults, budget=self._budget) for clicks in answers]

    def canonical(self, state: World) -> tuple[World, tuple[int, ...]]:
        """See `Model`."""
        return in_order(state)

    def steps(self, state: World) -> Steps:
        """See `Model`."""
        if state.wrong:
            return
        yield from self._people(state)
        yield from self._arrives(state)
        idle = [i for i, worker in enumerate(state.workers) if worker.at == "idle"]
        for i, worker in enumerate(state.workers):
            if worker.at != "idle":
                yield from self._works(state, i, worker)
                yield from self._breaks(state, i, worker)
            elif i == 0 or len(idle) < 2 or state.workers[0] != worker:
                yield from self._begins(state, i)

    # --- what is begun

    def _begins(self, s: World, i: int) -> Steps:
        """What a worker that does nothing can begin."""
        if s.gone:
            return
        if s.record == "none" and s.free:
            yield Step("ask", i), s.take(i, "asking")
        for number, click in enumerate(s.clicks):
            sent = s.record == "pending" and not click.told and click.question == s.question
            if sent and s.free:
                yield Step("take", i, number), s.answer(number, "…").take(i, "leased", number)
        if self._held and s.free and s.record in ("claimed", "given_back"):
            yield Step("pass on", i), s.take(i, "passing")
        may_begin = s.record == "done" and not s.begun and not s.over
        if self.variant == "task" and s.free and may_begin and not (s.old_yes and self.guards.old_yes_begins_nothing):
            yield Step("begin", i), s.take(i, "beginning")
        orphan = s.record == "passed" or (s.record == "claimed" and not self._held)
        stale = s.free if self.guards.orphans_have_no_worker else True
        if orphan and stale and self.guards.orphans_are_settled:
            to = "given_back" if s.record == "passed" and not self.guards.passed_is_unknown else "unknown"
            if s.record == "claimed" and self.variant == "task":
                to = "done"  # nothing has run by that
            yield Step("settle", i), s._replace(record=to, holder=NOBODY, lapsed=False)

    # --- what is at work

    def _works(self, s: World, i: int, worker: Worker) -> Steps:
        match worker.at:
            case "asking" | "ask unsure":
                yield from self._asks(s, i, worker)
            case "leased":
                yield from self._decides(s, i, worker)
            case "claiming":
                yield Step("claim", i), self._claimed(s, i)
            case "unsure" if not (self.guards.look_waits and s.late == i):
                yield Step("look", i), self._look_for_claim(s, i)
            case "claimed":
                yield from self._starts(s, i, worker)
            case "beginning":
                yield Step("begun", i), self._begun(s, i)
            case "leaving":
                yield Step("release", i), s.release(i)
            case "again":
                yield from self._decides_again(s, i, worker)
            case _:
                yield from self._runs(s, i, worker)

    def _runs(self, s: World, i: int, worker: Worker) -> Steps:
        """The tool, or the provider, is at work."""
        match worker.at:
            case "running":
                after = s if self.guards.outcome_is_first else s.tell("done")
                yield Step("finish", i), after.put(i, at="ran")
            case "ran":
                yield Step("record", i), self._recorded(s, i, "done")
            case "cut":
                yield Step("record", i), self._recorded(s, i, "unknown")
            case "passing":
                yield from self._passes(s, i)
            case "passed" if not worker.stopped:
                yield from self._requests(s, i, worker)
            case "passed" | "refused":
                yield Step("give back", i), self._given_back(s, i)
            case "accepted":
                yield Step("record", i), self._recorded(s, i, "done")
            case "broken" if self.guards.passed_is_unknown:
                yield Step("record", i), self._recorded(s, i, "unknown")
            case "broken":
                yield Step("give back", i), self._given_back(s, i)

    def _asks(self, s: World, i: int, worker: Worker) -> Steps:
        if worker.at == "asking":
            yield Step("asked", i), self._asked(s, i)
        else:
            yield Step("look", i), self._look_for_question(s, i)

    def _fenced(self, s: World, i: int) -> bool:
        return s.holder == i or not self.guards.claim_is_fenced

    def _as_it_is(self, s: World, i: int) -> World:
        """Tell what the ledger says now."""
        return s.tell("" if s.gone else s.record).leave(i, "nothing" if s.record == "pending" else "answered")

    def _refused(self, s: World, i: int) -> World:
        """The store refused a decision. Without the lease it is made again, if it is still to be made."""
        if s.record == "pending" and s.holder != i and not s.gone:
            return s.put(i, at="again", slept=False, stopped=False)
        return self._as_it_is(s, i)

    def _asked(self, s: World, i: int) -> World:
        if s.record == "none" and s.holder == i:
            return s._replace(record="pending").put(i, at="leaving")
        told = s.tell("not_executed") if s.holder == i else s  # its id is there already: the question has failed
        return told.put(i, at="leaving")

    def _look_for_question(self, s: World, i: int) -> World:
        if not self.guards.unknown_is_looked_at:
            return s.put(i, at="asking")
        return s.put(i, at="leaving" if s.record != "none" or s.holder != i else "asking")

    def _decides(self, s: World, i: int, worker: Worker) -> Steps:
        click = s.clicks[worker.click]
        if click.says == "no":
            if s.record == "pending" and s.holder == i:
                closed = s._replace(record="rejected", by=worker.click, says="no")
                yield Step("reject", i), closed.tell("rejected").leave(i)
            else:
                yield Step("too late", i), self._refused(s, i)
        elif self.guards.claim_is_first:
            yield Step("send claim", i), s.put(i, at="claiming")
        else:
            runs = s._replace(by=worker.click, says=click.says).effect(click.says)
            yield Step("start", i), runs.put(i, at="running")

    def _decides_again(self, s: World, i: int, worker: Worker) -> Steps:
        """Under another lease, once that can be had."""
        if s.free and s.record == "pending" and not s.gone:
            yield Step("take", i, worker.click), s.take(i, "leased", worker.click)
        elif s.free:
            yield Step("too late", i), self._as_it_is(s, i)

    def _lands(self, s: World, i: int, click: int) -> World | None:
        """The statement that claims; None if it changes nothing."""
        if (s.record != "pending" and self.guards.claim_is_conditional) or s.gone or s.record == "none":
            return None
        wrong = "it was decided under the lease of another one" if s.holder == 1 - i and not s.lapsed else s.wrong
        return s._replace(record="claimed", by=click, says=s.clicks[click].says, wrong=wrong)

    def _claimed(self, s: World, i: int) -> World:
        after = self._lands(s, i, s.workers[i].click) if self._fenced(s, i) else None
        if after is not None:
            return after.put(i, at="claimed")
        return self._as_it_is(s, i) if s.workers[i].stopped else self._refused(s, i)

    def _look_for_claim(self, s: World, i: int) -> World:
        click = s.workers[i].click
        if not self.guards.unknown_is_looked_at:
            return s.put(i, at="claiming")
        if s.holder == i and s.record == "claimed" and s.by == click:
            return s.put(i, at="claimed")
        return s.put(i, at="claiming")  # which is under the same conditions as before

    def _starts(self, s: World, i: int, worker: Worker) -> Steps:
        if self._held:
            yield Step("agree", i), s.leave(i)
        elif self.variant == "task":
            may = s.record == "claimed" and s.holder == i
            yield Step("agree", i), s._replace(record="done").tell("done").leave(i) if may else self._as_it_is(s, i)
        elif worker.stopped:
            yield Step("give up", i), self._given_up(s, i)
        elif worker.slept and self.guards.late_start_confirms and (s.holder != i or s.gone):
            yield Step("too late", i), self._given_up(s, i)
        else:
            asked = s._replace(lapsed=False) if worker.slept and s.holder == i else s
            says = s.clicks[worker.click].says if self.guards.edit_is_what_runs else "yes"
            runs = asked if s.by == worker.click else asked._replace(wrong="it ran what somebody else decided")
            yield Step("start", i), runs.effect(says).put(i, at="running")

    def _given_up(self, s: World, i: int) -> World:
        """It never began, and never will. It needs no lease: who was to begin it knows. A tombstone says so, too."""
        if s.record in OPEN or (s.gone and s.record == "unknown"):
            return s._replace(record="not_executed").tell("" if s.gone else "not_executed").leave(i)
        return self._as_it_is(s, i)

    def _recorded(self, s: World, i: int, to: str) -> World:
        """It needs no lease: who ran it knows."""
        open_ = s.record in OPEN or (s.gone and s.record == "unknown" and to == "done")
        if open_ or not self.guards.outcome_is_conditional:
            return s._replace(record=to).tell("" if s.gone else to).leave(i)
        if not self.guards.claim_is_first and s.record == "pending":
            return s._replace(record=to).tell(to).leave(i)
        return self._as_it_is(s, i)

    # --- a call that the provider runs; a task

    def _passes(self, s: World, i: int) -> Steps:
        if s.holder == i and not s.gone and s.record in ("claimed", "given_back"):
            to = "passed" if self.guards.pass_is_first else s.record
            yield Step("passed", i), s._replace(record=to).put(i, at="passed")
        else:
            yield Step("too late", i), self._as_it_is(s, i)

    def _requests(self, s: World, i: int, worker: Worker) -> Steps:
        """The request that says yes, and what may come of it."""
        ours = s.holder == i and not s.gone
        if worker.slept and self.guards.late_pass_confirms and not ours:
            yield Step("too late", i), self._given_up(s, i)
            return
        took = (s._replace(lapsed=False) if worker.slept and ours else s).effect(s.says)
        yield Step("accepted", i), took.put(i, at="accepted")
        if s.may("refused"):
            yield Step("refused", i, kind="fault"), s.spend("refused").put(i, at="refused")
        if s.may("broken"):
            excused = s.spend("broken")._replace(excused=True)
            yield Step("broken", i, kind="fault"), excused.put(i, at="broken")
            yield Step("broken, and done", i, kind="fault"), excused.effect(s.says).put(i, at="broken")

    def _given_back(self, s: World, i: int) -> World:
        if s.record == "passed" and s.holder == i:
            return s._replace(record="given_back").leave(i)
        return self._as_it_is(s, i) if s.gone else self._given_up(s, i)

    def _begun(self, s: World, i: int) -> World:
        """The journal says that it begins, and then it does: saved under the lease."""
        if s.holder != i or s.begun or s.gone:
            return s.put(i, at="leaving")
        return s._replace(begun=True).effect(s.says).put(i, at="leaving")

    # --- what people do

    def _people(self, s: World) -> Steps:
        for number, click in enumerate(s.clicks):
            if not click.told and s.record not in ("none", "pending"):
                old = click.question != s.question or s.gone
                told = s if old else s.tell(s.record)
                yield Step("answer late", click=number, kind="people"), told.answer(number, "answered")
            elif not click.told and s.record == "pending" and click.question != s.question:
                yield Step("refuse", click=number, kind="people"), s.answer(number, "answered")
        if s.record == "none" or s.gone:
            return
        if s.record == "pending" and not s.over:
            yield Step("expire", kind="people"), s._replace(record="expired").tell("expired")
        at_work = s.record in OPEN and not s.free
        if (s.free or not self.guards.delete_waits) and not (at_work and self.guards.delete_waits):
            agreed = self._held and s.record in ("claimed", "given_back")
            left = "not_executed" if agreed else ENDED.get(s.record, s.record)
            excused = s.excused or left == "unknown"
            deleted = s._replace(record=left, gone=True, holder=NOBODY, lapsed=False, excused=excused)
            yield Step("delete", kind="people"), deleted
        if (s.free or not self.guards.lease_is_exclusive) and not s.over:
            yield Step("branch", kind="people"), self._closed(s, "superseded", "answer", self.guards.branch_closes)
            if self.variant == "sub-agent":
                yield Step("end task", kind="people"), self._closed(s, "cancelled", "task", self.guards.task_closes)
        if s.backup is None and s.may("restore") and s.record in ("pending", "claimed", "passed", "given_back", "done"):
            yield Step("back up", kind="people"), s._replace(backup=Backup(s.record, s.says, s.begun))

    def _closed(self, s: World, to: str, why: str, closes: bool) -> World:
        """A run under a lease of its own: what had begun is settled first, then what waits is closed."""
        after = s._replace(over=why, holder=NOBODY, lapsed=False)
        record = s.record
        if record == "pending" and closes:
            record = to
        elif record in OPEN and not self._held and self.variant != "task":
            record = "unknown"
        elif self.variant == "task" and record == "claimed":
            record = "done"
        elif self._held and record in ("claimed", "given_back"):
            record = "not_executed"
        elif record == "passed":
            record = "unknown"
        return after._replace(record=record).tell(record)

    # --- what breaks

    def _breaks(self, s: World, i: int, worker: Worker) -> Steps:
        if s.may("crash"):
            yield Step("crash", i, kind="fault"), _crashed(s.spend("crash"), i, worker)
        holds = s.holder == i and not s.lapsed
        if s.may("suspend") and holds and worker.at not in ("asking", "ask unsure", "leaving"):
            slept = s.spend("suspend")._replace(lapsed=True, excused=True)
            yield Step("suspend", i, kind="fault"), slept.put(i, slept=True)
        if s.may("stop"):
            yield from self._stopped(s.spend("stop"), i, worker)
        if s.may("commit") and worker.at in ("asking", "claiming"):
            yield from self._unanswered(s.spend("commit"), i, worker)
        if s.may("restore") and s.backup is not None:
            yield from self._restores(s)

    def _stopped(self, s: World, i: int, worker: Worker) -> Steps:
        """A stop of the thread, a closed tab, the end of the process: all cancel what is at work."""
        stop = Step("stop", i, kind="fault")
        match worker.at:
            case "leased":
                yield stop, self._as_it_is(s, i)
            case "claiming" | "unsure" | "claimed" | "passing" | "passed" if self.guards.claim_is_shielded:
                yield stop, s.put(i, stopped=True)
            case "claiming":  # it says that nothing was decided, and its statement goes on
                yield stop, s.leave(i, "nothing")._replace(late=i, late_click=worker.click)
            case "claimed":
                yield stop, s.leave(i, "nothing")
            case "running":
                yield stop, s._replace(excused=True).put(i, at="cut")

    def _unanswered(self, s: World, i: int, worker: Worker) -> Steps:
        """A COMMIT of which nobody knows: it was done, it was not, or it comes later."""
        unsure = "ask unsure" if worker.at == "asking" else "unsure"
        done = self._asked(s, i) if worker.at == "asking" else self._claimed(s, i)
        if done.record != s.record:
            yield Step("done, unanswered", i, kind="fault"), done.put(i, at=unsure, click=worker.click)
        yield Step("not done, unanswered", i, kind="fault"), s.put(i, at=unsure)
        if worker.at == "claiming":
            late = s._replace(late=i, late_click=worker.click)
            yield Step("under way, unanswered", i, kind="fault"), late.put(i, at=unsure)

    def _arrives(self, s: World) -> Steps:
        if s.late == NOBODY:
            return
        over = s._replace(late=NOBODY, late_click=-1)
        yield Step("nothing arrives"), over
        after = (
            self._lands(over, s.late, s.late_click) if s.holder == s.late or not self.guards.claim_is_fenced else None
        )
        if after is not None:
            yield Step("claim arrives"), after

    def _restores(self, s: World) -> Steps:
        """A backup is put back, with all servers stopped; or a standby that was behind takes over, and none is."""
        after = s.spend("restore")
        restored = self._restored(after, self.guards.restore_begins_an_epoch)
        yield Step("restore", kind="fault"), restored._replace(workers=(Worker(), Worker()))
        if self.guards.timeline_is_checked:
            return  # it is refused until it is restored in the way above
        yield Step("fail over", kind="fault"), self._restored(after, epoch=False)

    def _restored(self, s: World, epoch: bool) -> World:
        assert s.backup is not None
        record, says, begun = s.backup
        question = s.question
        if epoch and record == "pending":
            question += 1
        elif epoch:
            back = "unknown" if self.guards.restored_pass_is_unknown else "not_executed"
            record = back if record == "given_back" else "unknown" if record in OPEN else record
        again = s.clicks[0]._replace(told="")
        new = Click("yes", question)
        return s._replace(
            record=record,
            says=says,
            by=-1,
            question=question,
            holder=NOBODY,
            lapsed=False,
            over="",
            gone=False,
            begun=begun,
            old_yes=epoch and record == "done",
            clicks=(again, new),
            late=NOBODY,
            late_click=-1,
            told=(),
            excused=True,
            backup=None,
        )

    # --- what has to be true

    def broken(self, state: World) -> str | None:
        """See `Model`."""
        s = state
        if s.wrong:
            return s.wrong
        if max(s.effects) > 1:
            return "the call took effect twice"
        if s.effects[s.question] and s.record in NEVER_RAN:
            return f"the call took effect, and is {s.record}"
        if s.record == "done" and not s.effects[s.question] and self.variant != "task":
            return "the call is done, and had no effect"
        if len(s.told) > 1 or (s.told and s.told[0] != s.record and not s.gone):
            return f"people were told {' and '.join(s.told)}, and it is {s.record}"
        if any(click.told == "nothing" and s.by == i and not s.gone for i, click in enumerate(s.clicks)):
            return "who was told that nothing was decided has decided it"
        if s.record == "unknown" and not s.excused:
            return "a yes was lost, and nothing had broken"
        return None

    def stuck(self, state: World) -> str | None:
        """See `Model`."""
        if state.record in OPEN and not (self._held and state.record == "claimed") and not state.gone:
            return f"the call is {state.record} for ever, and nobody is at work"
        working = [worker.at for worker in state.workers if worker.at != "idle"]
        return f"a server waits for ever: {working}" if working else None


def _crashed(s: World, i: int, worker: Worker) -> World:
    holder = DEAD if s.holder == i else s.holder
    dead = s._replace(holder=holder, lapsed=False if s.holder == i else s.lapsed, excused=True)
    sender = DEAD if s.holder == i else LOST
    if worker.at == "claiming":
        dead = dead._replace(late=sender, late_click=worker.click)
    elif s.late == i:
        dead = dead._replace(late=sender)
    dead = dead.answer(worker.click, "unanswered")
    return dead.put(i, at="idle", click=-1, slept=False, stopped=False)
