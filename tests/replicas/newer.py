"""A build of the server that is one version ahead: a copy of this tree, with what a next version would bring.

It has a migration of its own (a column, a table), and writes what this tree doesn't know:

* with each user's message an entry of another kind (`mood`), which any version may leave alone;
* in a turn that calls `look` a part of another kind (`aside`): a thread with it can't be read safely by this tree;
* a state of approvals (`snoozed`: "later" is an answer, and may still become a yes), with its event and its notice.

`SUCCESSOR` is that one's next version, which this tree can't live with any more. A process has a build if its folder
comes first on ``PYTHONPATH``.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import agui_gate

Edits = Mapping[str, Sequence[tuple[str, str]]]
"""By file: what is written there once, and what is written instead."""

MIGRATIONS = "stores/postgres/migrations"

NEWER: Edits = {
    "core/transcript.py": [
        (
            'class UserEntry(Struct, tag="user", tag_field="type"):',
            'class MoodEntry(Struct, tag="mood", tag_field="type"):\n    mood: str\n\n\n'
            'class UserEntry(Struct, tag="user", tag_field="type"):',
        ),
        ("KnownEntry = (\n", "KnownEntry = (\n    MoodEntry |\n"),
        (
            'class TurnEntry(Struct, tag="turn", tag_field="type"):\n',
            'class AsidePart(ReasoningPart, tag="aside", tag_field="type"):\n    note: str = ""\n\n\n'
            'class TurnEntry(Struct, tag="turn", tag_field="type"):\n',
        ),
        (
            "    parts: tuple[TextPart | ReasoningPart | CallPart, ...]\n",
            "    parts: tuple[TextPart | ReasoningPart | CallPart | AsidePart, ...]\n",
        ),
    ],
    "threads/reconciliation.py": [
        (
            "        self.intake.entries += admitted(entry)\n",
            "        from agui_gate.core.transcript import MoodEntry\n\n"
            '        self.intake.entries += [MoodEntry("curious"), *admitted(entry)]\n',
        ),
    ],
    "turns/turn_recorder.py": [
        (
            "        return TurnEntry(",
            "        from agui_gate.core.transcript import AsidePart\n\n"
            '        if any(item.name == "look" for item in self._order):\n'
            '            parts.append(AsidePart(self._new_id(), note="between us"))\n'
            "        return TurnEntry(",
        ),
    ],
    "core/approvals.py": [
        ('    CLAIMED = "claimed"\n', '    CLAIMED = "claimed"\n    SNOOZED = "snoozed"\n'),
        (
            "    State.PENDING: frozenset({State.CLAIMED, ",
            "    State.SNOOZED: frozenset({State.CLAIMED, State.REJECTED, State.SUPERSEDED, State.CANCELLED}),\n"
            "    State.PENDING: frozenset({State.SNOOZED, State.CLAIMED, ",
        ),
        (
            "        return self.state is State.PENDING\n",
            "        return self.state in (State.PENDING, State.SNOOZED)\n",
        ),
        ('    was: str = ""\n', '    was: str = ""\n    weight: str = "heavy"\n'),
    ],
    "approvals/answer_validation.py": [
        (
            "Verdict(approval, _TO[answer.choice], decision)",
            'Verdict(approval, State.SNOOZED if answer.reason == "later" else _TO[answer.choice], decision)',
        ),
    ],
    "approvals/execution.py": [
        (
            "        output = outcomes.closed(verdict.to, verdict.decision.reason)\n",
            "        if verdict.to is State.SNOOZED:\n"
            "            return await self._lease.move(verdict.approval.id, verdict.to, decision=verdict.decision)\n"
            "        output = outcomes.closed(verdict.to, verdict.decision.reason)\n",
        ),
    ],
    "approvals/out_of_band.py": [("if done.is_pending:", "if done.state is State.PENDING:")],
    "stores/outbox.py": [
        ('NoticeKind = Literal["approval_pending", ', 'NoticeKind = Literal["snooze", "approval_pending", '),
        ('    "asked": "approval_pending",\n', '    "asked": "approval_pending",\n    "snoozed": "snooze",\n'),
    ],
}

ADDED = """
ALTER TABLE approvals ADD COLUMN weight text NOT NULL DEFAULT 'light';
CREATE TABLE weights (tenant text NOT NULL DEFAULT '', name text NOT NULL, PRIMARY KEY (tenant, name));
INSERT INTO weights (name) VALUES ('light'), ('heavy');
"""

SUCCESSOR: Edits = {"stores/postgres/schema.py": [("OLDEST_READER = 1\n", "OLDEST_READER = {version} - 1\n")]}

CHANGED = "ALTER TABLE approvals ALTER COLUMN weight DROP DEFAULT;\n"
"""Who doesn't know the column can ask nobody any more."""


def newer(folder: Path) -> Path:
    """The next version, made in ``folder``."""
    return _build(Path(agui_gate.__file__).parent, folder, NEWER, ADDED)


def successor(before: Path, folder: Path) -> Path:
    """The version after the one that was made at ``before``, which is the oldest that can work with its tables."""
    return _build(before / "agui_gate", folder, SUCCESSOR, CHANGED)


def _build(source: Path, folder: Path, edits: Edits, migration: str) -> Path:
    target = folder / "agui_gate"
    shutil.copytree(source, target)
    version = len(list((target / MIGRATIONS).glob("*.sql"))) + 1
    (target / MIGRATIONS / f"{version:04}_next.sql").write_text(migration.lstrip())
    for name, changes in edits.items():
        text = (target / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{name} has changed; say here what a next version would write in it: {old}"
            text = text.replace(old, new.replace("{version}", str(version)))
        (target / name).write_text(text)
    return folder
