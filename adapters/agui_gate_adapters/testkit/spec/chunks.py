"""The chunk form of messages, calls and reasoning: what it stands for, and where it is mixed with the other form."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.finding import Breach, Json, word


@dataclass(frozen=True, slots=True)
class Form:
    """What a chunk of one kind is made of."""

    prefix: str
    body: str
    id: str
    needed: tuple[str, ...]
    told: tuple[str, ...]


FORMS = {
    "TEXT_MESSAGE_CHUNK": Form("TEXT_MESSAGE", "CONTENT", "messageId", ("messageId",), ("role", "name")),
    "TOOL_CALL_CHUNK": Form(
        "TOOL_CALL", "ARGS", "toolCallId", ("toolCallId", "toolCallName"), ("toolCallName", "parentMessageId")
    ),
    "REASONING_MESSAGE_CHUNK": Form("REASONING_MESSAGE", "CONTENT", "messageId", ("messageId",), ()),
}
LONG = {f"{form.prefix}_{end}": form for form in FORMS.values() for end in ("START", form.body, "END")}


ENDS_ALL = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT")
ENDS_LANE = (
    "TEXT_MESSAGE_",
    "TOOL_CALL_",
    "STEP_",
    "STATE_",
    "CUSTOM",
    "REASONING_",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
)
STANDS_ASIDE = "REASONING_ENCRYPTED_VALUE"
"""What ends an item in chunk form: an event of the run, or one of these kinds of the same owner, but the last."""


@dataclass(slots=True)
class Chunks:
    """What is open in chunk form: one item an owner ("" is the agent itself), by the chunk that opened it."""

    open: dict[str, Json] = field(default_factory=dict)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Where the form is broken."""
        kind = event["type"]
        if kind in FORMS:
            yield from self._chunk(event, FORMS[kind])
        elif kind in LONG:
            form = LONG[kind]
            ids = [word(opener, form.id) for opener in self.open.values() if FORMS[opener["type"]] is form]
            if word(event, form.id) in ids:
                yield Breach("STR-2", f"{kind} for `{word(event, form.id)}`, which began in chunk form")

    def _chunk(self, event: Json, form: Form) -> Iterator[Breach]:
        opener = self._continued(event, form)
        if opener is None:
            missing = [name for name in form.needed if not word(event, name)]
            if missing:
                yield Breach("STR-2", f"the first {event['type']} of an item has no `{missing[0]}`")
            return
        for name in form.told:
            if name in event and event[name] != opener.get(name, "assistant" if name == "role" else None):
                yield Breach("STR-2", f"{event['type']} repeats `{name}` with a different value than the first chunk")

    def _continued(self, event: Json, form: Form) -> Json | None:
        """The chunk that opened what this one goes on with; None where it opens an item of its own."""
        opener = self.open.get(self._lane(event, form))
        goes_on = opener is not None and FORMS[opener["type"]] is form
        return opener if goes_on and word(event, form.id) in ("", word(opener or {}, form.id)) else None

    def _lane(self, event: Json, form: Form) -> str:
        """Whose chunk it is. Without an owner: by its id, else the agent's own, else that of the only one open."""
        owner, own_id = word(event, "subagentRunId"), word(event, form.id)
        lanes = {lane: word(one, form.id) for lane, one in self.open.items() if FORMS[one["type"]] is form}
        if owner or ("" in lanes and not own_id):
            return owner
        named = [lane for lane, item in lanes.items() if own_id in ("", item)]
        return named[0] if len(named) == 1 else ""

    def unfolded(self, event: Json) -> Iterator[Json]:
        """The event in the long form, after the ends of what it ends in chunk form."""
        kind = str(event.get("type"))
        if kind in FORMS:
            yield from self._long(event, FORMS[kind])
            return
        if kind in ENDS_ALL:
            for lane in list(self.open):
                yield self._end(lane)
        elif kind.startswith(ENDS_LANE) and kind != STANDS_ASIDE and word(event, "subagentRunId") in self.open:
            yield self._end(word(event, "subagentRunId"))
        yield event

    def _long(self, event: Json, form: Form) -> Iterator[Json]:
        lane, opener = self._lane(event, form), self._continued(event, form)
        owner = {"subagentRunId": lane} if lane else {}
        if opener is None:
            if lane in self.open:
                yield self._end(lane)
            if not word(event, form.id):
                return  # nothing says what it is a part of
            opener = self.open[lane] = event
            told = {name: event[name] for name in (form.id, *form.told) if name in event}
            yield {"type": f"{form.prefix}_START", **told, **owner}
        if "delta" in event:
            yield {
                "type": f"{form.prefix}_{form.body}",
                form.id: word(opener, form.id),
                "delta": event["delta"],
                **owner,
            }

    def _end(self, lane: str) -> Json:
        opener = self.open.pop(lane)
        form = FORMS[opener["type"]]
        return {"type": f"{form.prefix}_END", form.id: word(opener, form.id)}
