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


@dataclass(slots=True)
class Chunks:
    """What is open in chunk form: one item a kind and owner."""

    open: dict[tuple[str, str], Json] = field(default_factory=dict)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Where the form is broken."""
        kind = event["type"]
        if kind in FORMS:
            yield from self._chunk(event, FORMS[kind])
        elif kind in LONG:
            form = LONG[kind]
            ids = [word(opener, form.id) for (prefix, _), opener in self.open.items() if prefix == form.prefix]
            if word(event, form.id) in ids:
                yield Breach("STR-2", f"{kind} for `{word(event, form.id)}`, which was begun in chunk form")

    def _chunk(self, event: Json, form: Form) -> Iterator[Breach]:
        opener = self.open.get((form.prefix, word(event, "subagentRunId")))
        if opener is None or word(event, form.id) not in ("", word(opener, form.id)):
            missing = [name for name in form.needed if not word(event, name)]
            if missing:
                yield Breach("STR-2", f"the first {event['type']} of an item has no `{missing[0]}`")
            return
        for name in form.told:
            if name in event and event[name] != opener.get(name):
                yield Breach("STR-2", f"{event['type']} repeats `{name}` with another value than the first chunk")

    def unfolded(self, event: Json) -> Iterator[Json]:
        """The event in the long form. What is open in chunk form ends with the run at the latest."""
        kind = event["type"]
        if kind in FORMS:
            yield from self._long(event, FORMS[kind])
            return
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            for lane in list(self.open):
                yield self._end(lane)
        yield event

    def _long(self, event: Json, form: Form) -> Iterator[Json]:
        owner = {"subagentRunId": event["subagentRunId"]} if word(event, "subagentRunId") else {}
        lane = (form.prefix, word(event, "subagentRunId"))
        opener = self.open.get(lane)
        if word(event, form.id) and (opener is None or word(event, form.id) != word(opener, form.id)):
            if opener is not None:
                yield self._end(lane)
            opener = self.open[lane] = event
            told = {name: event[name] for name in (form.id, *form.told) if name in event}
            yield {"type": f"{form.prefix}_START", **told, **owner}
        if opener is not None and "delta" in event:
            yield {
                "type": f"{form.prefix}_{form.body}",
                form.id: word(opener, form.id),
                "delta": event["delta"],
                **owner,
            }

    def _end(self, lane: tuple[str, str]) -> Json:
        opener = self.open.pop(lane)
        form = FORMS[opener["type"]]
        return {"type": f"{form.prefix}_END", form.id: word(opener, form.id)}
