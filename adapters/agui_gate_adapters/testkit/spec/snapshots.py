"""State, activities, and the messages as a snapshot restates them."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from agui_gate.core.json_changes import NotApplicable, patched
from agui_gate_adapters.testkit.spec.page import Page
from agui_gate_adapters.testkit.spec.rules import Breach, Json, Strength, listed, word

KEPT = ("role", "content", "name", "metadata", "encryptedValue")
"""What a snapshot says of a user's message as it was sent."""


@dataclass(slots=True)
class Snapshots:
    """The state and the activities as a page has them."""

    page: Page
    state: Any = None
    told_state: bool = False
    activities: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Type and content of each activity, by message id."""

    def __post_init__(self) -> None:
        self.state = self.page.input.get("state", {})

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds what an event breaks about snapshots and state."""
        match event["type"]:
            case "STATE_SNAPSHOT":
                self.state, self.told_state = event.get("snapshot"), True
            case "STATE_DELTA":
                yield from self._amend(event)
            case "ACTIVITY_SNAPSHOT":
                yield from self._activity(event)
            case "ACTIVITY_DELTA":
                yield from self._amend_activity(event)
            case "MESSAGES_SNAPSHOT":
                yield from self._messages(listed(event.get("messages")))
            case "REASONING_ENCRYPTED_VALUE":
                yield from self._sealed(event)
            case _:
                pass

    def _amend(self, event: Json) -> Iterator[Breach]:
        try:
            self.state = patched(self.state, event.get("delta", ()))
        except (NotApplicable, TypeError, KeyError, AttributeError) as error:
            what = "the last snapshot" if self.told_state else "the input's state"
            rule = "STATE-1" if self.told_state else "IN-6"
            yield Breach(rule, f"the delta doesn't apply to {what}: {error}", _weight(event.get("delta"), rule))

    def _activity(self, event: Json) -> Iterator[Breach]:
        message_id = word(event, "messageId")
        role = self.page.roles.get(message_id, "activity")
        if role != "activity":
            yield Breach("EVT-4", f"`{message_id}` already names a {role} message")
        if event.get("replace") is not False or message_id not in self.activities:
            self.activities[message_id] = (word(event, "activityType"), deepcopy(event.get("content")))

    def _amend_activity(self, event: Json) -> Iterator[Breach]:
        message_id, kind = word(event, "messageId"), word(event, "activityType")
        if message_id not in self.activities:
            yield Breach("ACT-1", f"ACTIVITY_DELTA for `{message_id}`, which has no snapshot")
            return
        told, content = self.activities[message_id]
        if kind != told:  # a delta may change the type; one that doesn't mean to has to repeat it
            yield Breach(
                "ACT-1", f"a delta changes the type of the activity `{message_id}` from `{told}` to `{kind}`", "note"
            )
        try:
            content = patched(content, event.get("patch", ()))
        except (NotApplicable, TypeError, KeyError, AttributeError) as error:
            sentence = f"the patch doesn't apply to the activity: {error}"
            yield Breach("SNAP-2", sentence, _weight(event.get("patch"), "SNAP-2"))
        if not isinstance(content, dict):
            yield Breach("ACT-1", "the delta makes the activity's content something other than an object")
        self.activities[message_id] = (kind, content)

    def _messages(self, messages: list[Json]) -> Iterator[Breach]:
        ids = [word(message, "id") for message in messages]
        for twice in sorted({i for i in ids if ids.count(i) > 1}):
            yield Breach("EVT-4", f"two messages of the snapshot have the id `{twice}`")
        told = dict(zip(ids, messages, strict=True))
        for said in listed(self.page.input.get("messages")):
            if word(said, "role") == "user" and word(said, "id"):
                yield from _kept(said, told.get(word(said, "id")))
        for message in messages:
            yield from _typed(message)
            for call in listed(message.get("toolCalls")):
                yield from _typed(call)

    def _sealed(self, event: Json) -> Iterator[Breach]:
        entity, of_call = word(event, "entityId"), event.get("subtype") == "tool-call"
        if entity and entity not in (self.page.calls if of_call else self.page.roles):
            what = "call" if of_call else "message"
            yield Breach("REAS-2", f"an encrypted value for `{entity}`, which is not a {what}", "note")


def _weight(operations: object, rule: str) -> Strength:
    """Returns how severe a patch is that doesn't apply: one with `test` may fail, unless against the input's state."""
    if any(operation.get("op") == "test" for operation in listed(operations)):
        return "note"
    return "MUST" if rule == "IN-6" else "SHOULD"


def _kept(said: Json, told: Json | None) -> Iterator[Breach]:
    """Finds changes of a snapshot to a user's message of the input, which are allowed: pages accept them."""
    if told is None:
        said_so = f"the snapshot leaves out the user's message `{said['id']}`, so that it is deleted"
        yield Breach("STATE-2", said_so, "note")
        return
    changed = [name for name in KEPT if said.get(name) != told.get(name)]
    if changed:
        said_so = f"the snapshot rewrites the user's message `{said['id']}`: {', '.join(changed)}"
        yield Breach("STATE-2", said_so, "note")


def _typed(sealed: Json) -> Iterator[Breach]:
    if "encryptedValueType" in sealed and "encryptedValue" not in sealed:
        yield Breach("REAS-5", "`encryptedValueType` without `encryptedValue`", "MUST")
