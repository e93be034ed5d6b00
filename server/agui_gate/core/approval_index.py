"""How an answer finds its approval, and what tells whether it is about the call that was asked about.

An answer names its call by one of three ids: the approval's, the tool call's, or that of a card that was shown for it.
The approval's id is the interrupt's, too. All of these lead to one record. A provider's reference with the call's id
does as well. The reference is another name of the thread: the store has found the thread by it, and the call's id is
the key in there.

What waits is in a `PendingApprovalRegistry`. Its `consume` holds an answer against the call's name and arguments, and a
call that was answered is not found again. What was decided before is found too, to say so to whoever answers late.

What is asked again since a backup was restored is answered by its new id, or by a card that was shown since. By the id
that it had, its call's, or an older card it is found too, but only to say that such an answer is not taken (`is_old`).
It may have been given, and carried out, before.

An index is made of a thread's records for one request, under the thread's lease. It never decides: the ledger's
conditional update is the authority.
"""

from collections.abc import Iterable, Mapping

from agui_gate.core.answers import Target
from agui_gate.core.approvals import Approval
from agui_gate.core.registry import PendingApprovalRegistry, Status


class ApprovalIndex:
    """The approvals of one thread. ``cards``: the approval's id by the card's."""

    def __init__(self, approvals: Iterable[Approval] = (), cards: Mapping[str, str] | None = None) -> None:
        self._records = {_key("approval", approval.id): approval for approval in approvals}
        self._decided: dict[str, Approval] = {}
        self._old: dict[str, Approval] = {}
        self._pending = PendingApprovalRegistry(max(1, len(self._records)))
        shown: dict[str, list[str]] = {}
        for card_id, approval_id in (cards or {}).items():
            shown.setdefault(approval_id, []).append(_key("card", card_id))
        for key, approval in self._records.items():
            keys = [key, _key("call", approval.call_id), *shown.get(approval.id, ())]
            before = [_key("approval", approval.was), *shown.get(approval.was, ())] if approval.was else []
            if not approval.is_pending:
                keys += before
            elif before:
                self._old |= dict.fromkeys([*before, _key("call", approval.call_id)], approval)
                keys.remove(_key("call", approval.call_id))
            if approval.is_pending:
                self._pending.register(keys, approval.tool, approval.arguments)
            else:
                self._decided |= dict.fromkeys(keys, approval)

    def find(self, some_id: str, *targets: Target) -> Approval | None:
        """The record that an answer with this id is to: what waits, or was decided before the index was made.

        ``targets``: what the id may be the id of, in this order. These kinds of ids never meet.
        """
        for target in targets:
            key = _key(target, some_id)
            if key in self._pending:
                return self._records[self._pending[key].keys[0]]
            if key in self._decided:
                return self._decided[key]
            if key in self._old:
                return self._old[key]
        return None

    def is_old(self, some_id: str, *targets: Target) -> bool:
        """Whether this names a question of before a backup was restored, which is asked again."""
        keys = [_key(target, some_id) for target in targets]
        return any(key in self._old for key in keys) and not any(key in self._pending for key in keys)

    def check(self, approval: Approval, name: str | None = None, arguments: str | None = None) -> Status:
        """Whether an answer that found ``approval`` is about it: `consume` without using it up.

        ``name`` and ``arguments`` (JSON) are what the answer says that it is about. None says nothing.
        """
        key = _key("approval", approval.id)
        if key not in self._pending:
            return "missing"
        return self._pending[key].check(*_given(approval, name, arguments))

    def consume(self, approval: Approval, name: str | None = None, arguments: str | None = None) -> Status:
        """As `check`; and what is ``ok`` is found no more, under none of its keys."""
        return self._pending.consume(_key("approval", approval.id), *_given(approval, name, arguments)).status


def _key(target: Target, some_id: str) -> str:
    return f"{target}:{some_id}"


def _given(approval: Approval, name: str | None, arguments: str | None) -> tuple[str, str]:
    """Name and arguments that an answer gives; those of the record where it gives none."""
    return approval.tool if name is None else name, approval.arguments if arguments is None else arguments
