"""Begins an epoch after a backup was restored: nothing of it is carried out by an answer that was given before.

A backup is the past. What waited in it may have been answered since, and may have run; the answers are still in pages,
in histories that clients send again, and in other systems. So a restore begins an *epoch*, and in one transaction:

* What waits is asked again: its record gets another id and says which it had (`Approval.was`). No
  answer that names the old id, its call, or a card of before is taken (`core/registry.py`).
* What was claimed, and not ended, is ``unknown``, also where its tool is idempotent. So is what the provider had not
  acted on (``given_back``): it may have been told again since.
* A yes to a task keeps, in `Approval.was`, that it is of before. If nothing of the task had begun, it
  may have since: then it doesn't begin by that yes.
* Every lease ends: a server that was left running can't write by one that it had when the backup was made.
* What a provider keeps as one conversation went on without us. So it is not continued; all is sent again.
"""

from typing import Protocol

import msgspec

from agui_gate.core.transcript import Output

MAY_HAVE_RUN = Output(
    '{"status":"unknown","message":"This was approved, and then an older backup of this server was restored. Whether '
    'it took effect is not known. It does not run again by itself; check before trying again."}',
    is_error=True,
)
"""The outcome of a call that was approved before, as far as that can be told."""

ANOTHER_PAST = (
    "{} What was decided since then may be missing in it. Stop all servers, run agui-gate migrate --restored, and "
    "start them again: docs/runbook/restore.md."
)
"""The reason for not working with a store that is a restored one, or another one's copy; it says first which."""


class Epoch(msgspec.Struct, frozen=True):
    """The result of a restore: the number of the epoch that began, and how many approvals were concerned."""

    number: int
    asked_again: int
    settled: int


class EpochStore(Protocol):
    """Begins epochs."""

    async def begin_epoch(self) -> Epoch:
        """Does all of the above, in one step. For a store that no server has opened since the backup was put back.

        100,000 approvals take a quarter of a minute. They are not cut into several transactions: who is killed in the
        middle would leave a store of which one half is asked again, and the other heeds old answers.
        """
        ...
