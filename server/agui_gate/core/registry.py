"""Finds pending approvals under any of several keys, for one process; and for one thread, whatever an answer names.

An approval is asked for under every name its answer may come back with. These are the client's thread id and the
provider's conversation id, each with the call id (agent-framework#6894). All of these keys lead to one entry, and an
answer uses the entry up with all of them. So a second answer finds nothing, whichever key it brings (S1–S8).

What the mapping reads mean: `len` counts entries (approvals that wait), which is what ``max_size`` bounds; iteration,
`in` and `[]` go by key. An entry equals the bare name of its function, since older callers kept a dict of key to name.

Arguments are the same if their canonical JSON is (`core.json_text`). Key order, whitespace and escapes don't matter. A
number is its value: 50 and 50.0 are one, since a browser can only send 50 back. A boolean is no number and a string
neither: true, 1 and "1" differ.

`ApprovalIndex` finds the approval of an answer, and whether the answer is about the call that was asked. An answer
names its call by one of three ids: the approval's, the tool call's, or that of a card that was shown for it.
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

from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, Literal, NamedTuple

from agui_gate.core.answers import Target
from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import canonical

Arguments = dict[str, Any] | str | None
"""An object, its JSON text, or None: the arguments don't matter."""

Status = Literal["ok", "missing", "name_mismatch", "arguments_mismatch"]


class PendingApproval:
    """An approval that waits. ``arguments`` is canonical JSON, or None if any will do. Immutable.

    Equal to a string that is its ``name``, as well as to an entry that is the same in all three.
    """

    __slots__ = ("arguments", "keys", "name")

    def __init__(self, keys: tuple[str, ...], name: str, arguments: str | None) -> None:
        self.keys = keys
        self.name = name
        self.arguments = arguments

    def check(self, name: str, given: str | None) -> Status:
        """Returns what `PendingApprovalRegistry.consume` would say of an answer about ``name`` and the arguments
        ``given``, as `_given` writes them.
        """
        if self.name != name:
            return "name_mismatch"
        return "ok" if self.arguments in (None, given) else "arguments_mismatch"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        if isinstance(other, PendingApproval):
            return (self.keys, self.name, self.arguments) == (other.keys, other.name, other.arguments)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"PendingApproval(keys={self.keys!r}, name={self.name!r}, arguments={self.arguments!r})"


class Consumed(NamedTuple):
    """The result of `PendingApprovalRegistry.consume`. ``entry`` is None if missing; after a mismatch it still
    waits.
    """

    status: Status
    entry: PendingApproval | None


class PendingApprovalRegistry:
    """Pending approvals by key, at most ``max_size`` of them. Safe for tasks and OS threads.

    Every method is atomic: it holds one lock, inside which nothing waits.
    """

    def __init__(self, max_size: int = 10_000) -> None:
        if max_size < 1:
            raise ValueError("max_size must be at least 1")
        self.max_size = max_size
        self._lock = Lock()
        self._by_key: dict[str, PendingApproval] = {}
        # By first key, oldest registration first. Not a set of entries: they hash by name, which they share.
        self._oldest: dict[str, PendingApproval] = {}

    def register(self, keys: str | Iterable[str], name: str, arguments: Arguments) -> PendingApproval:
        """Adds an entry that any of ``keys`` finds; equal keys collapse.

        An older entry under one of them is replaced and loses all its keys. Over ``max_size`` the entry that was
        registered longest ago goes, with all its keys. Raises ValueError without keys or if ``arguments`` is no JSON.
        """
        unique = (keys,) if isinstance(keys, str) else tuple(dict.fromkeys(keys))
        if not unique:
            raise ValueError("an approval needs at least one key")
        entry = PendingApproval(unique, name, _canonical(arguments))
        with self._lock:
            for key in unique:
                if (older := self._by_key.get(key)) is not None:
                    self._remove(older)
            while len(self._oldest) >= self.max_size:
                self._remove(next(iter(self._oldest.values())))
            self._oldest[unique[0]] = entry
            for key in unique:
                self._by_key[key] = entry
        return entry

    def consume(self, key: str, name: str, arguments: Arguments) -> Consumed:
        """Uses up the entry under ``key`` if ``name`` and ``arguments`` are those it was registered with.

        Of any number of callers exactly one gets ``ok``. After a mismatch the entry still waits. Arguments None only
        match an entry that was registered with None.
        """
        given = _given(arguments)
        with self._lock:
            entry = self._by_key.get(key)
            if entry is None:
                return Consumed("missing", None)
            status = entry.check(name, given)
            if status == "ok":
                self._remove(entry)
            return Consumed(status, entry)

    def _remove(self, entry: PendingApproval) -> None:
        del self._oldest[entry.keys[0]]
        for key in entry.keys:
            del self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        """Iterates over all keys as they are now; oldest entry first."""
        with self._lock:
            return iter(list(self._by_key))

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._by_key

    def __len__(self) -> int:
        """Counts the entries, not their keys."""
        with self._lock:
            return len(self._oldest)

    def __getitem__(self, key: str) -> PendingApproval:
        with self._lock:
            return self._by_key[key]

    def __setitem__(self, key: str, name: str | PendingApproval) -> None:
        """Registers under one key: a bare name (any arguments will do), or what an entry says."""
        if isinstance(name, PendingApproval):
            self.register(key, name.name, name.arguments)
        else:
            self.register(key, name, None)


def _given(arguments: Arguments) -> str | None:
    """Returns the arguments that an answer names. None is equal to nothing that was registered with arguments."""
    try:
        return _canonical(arguments)
    except ValueError:
        return None


def _canonical(arguments: Arguments) -> str | None:
    """Returns one text for all ways to write the same arguments; None for None. Raises ValueError if they can't be
    JSON.

    Text that isn't JSON stands for itself: it equals only the very same text.
    """
    if not isinstance(arguments, str):
        return None if arguments is None else canonical(arguments)
    try:
        return canonical(arguments)
    except ValueError:
        return arguments


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
                self._pending.register(keys, approval.tool, approval.effective_arguments)
            else:
                self._decided |= dict.fromkeys(keys, approval)

    def find(self, some_id: str, *targets: Target) -> Approval | None:
        """Returns the record that an answer with this id is to: what waits, or was decided before the index was made.

        ``targets``: what the id may be the id of, in this order. These kinds of ids never meet.
        """
        for target in targets:
            key = _key(target, some_id)
            if (waiting := self._pending._by_key.get(key)) is not None:
                return self._records[waiting.keys[0]]
            if (found := self._decided.get(key) or self._old.get(key)) is not None:
                return found
        return None

    def is_old(self, some_id: str, *targets: Target) -> bool:
        """Returns whether this names a question of before a backup was restored, which is asked again."""
        keys = [_key(target, some_id) for target in targets]
        return any(key in self._old for key in keys) and not any(key in self._pending for key in keys)

    def check(self, approval: Approval, name: str | None = None, arguments: str | None = None) -> Status:
        """Returns whether an answer that found ``approval`` is about it: `consume` without using it up.

        ``name`` and ``arguments`` (JSON) are what the answer says that it is about. None says nothing.
        """
        waiting = self._pending._by_key.get(_key("approval", approval.id))
        if waiting is None:
            return "missing"
        given = waiting.arguments if arguments is None else _given(arguments)
        return waiting.check(approval.tool if name is None else name, given)

    def consume(self, approval: Approval, name: str | None = None, arguments: str | None = None) -> Status:
        """Checks as `check` does; and what is ``ok`` is found no more, under none of its keys."""
        if (status := self.check(approval, name, arguments)) == "ok":
            self._pending._remove(self._pending._by_key[_key("approval", approval.id)])
        return status


def _key(target: Target, some_id: str) -> str:
    return f"{target}:{some_id}"
