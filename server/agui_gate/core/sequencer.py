"""The one way out: turns whatever happens in a run into a legal AG-UI stream.

Theory of operation
-------------------
The sequencer knows what is open: the run itself, text messages, reasoning and tool calls. It knows which calls still
owe the client a result, too. Its methods may be called in any order with any ids. What would be illegal on the wire is
repaired: a delta opens its message, a second START is ignored. Or it is dropped: anything after the terminal event. So:

* RUN_STARTED comes first, exactly once, and exactly one RUN_FINISHED or RUN_ERROR comes last;
* every START has its END before the terminal event, in the right nesting;
* no id is opened twice, or used for two messages; no delta is empty;
* every call that was started gets exactly one result before the terminal event, unless it was handed over with
  `leave_open` because a person or the client owes it. What is left without a result is named where extras are sent.

The verifier of the real clients is the source of these rules (docs/clients.md#legal-streams).
"""

from collections.abc import Callable, Sequence
from typing import Any

from agui_gate.core import events as ev
from agui_gate.core.dialect import PROTOCOL_VERSION, Dialect
from agui_gate.core.stopping import Stop

Emit = Callable[[ev.Event], None]

UNFINISHED = '{"status":"unknown","message":"What became of this call was not recorded. Check before trying again."}'
"""Content of the result of a call that nobody finished: what it came to, if it ran, could not be saved."""


class Sequencer:
    """One run's stream. ``emit`` takes each event in order; it must not raise."""

    __slots__ = (
        "_begun",
        "_calls",
        "_dialect",
        "_emit",
        "_open",
        "_owed",
        "_reasoning",
        "_resulted",
        "_run_id",
        "_seen",
        "_seen_calls",
        "_texts",
        "_thread_id",
    )

    def __init__(self, thread_id: str, run_id: str, emit: Emit, dialect: Dialect = Dialect.V0) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._emit = emit
        self._dialect = dialect
        self._begun = self._open = False
        self._seen: set[str] = set()  # every message id that was ever used; call ids are names of their own
        self._seen_calls: set[str] = set()
        self._resulted: set[str] = set()
        self._texts: set[str] = set()
        self._reasoning: dict[str, bool] = {}  # id -> whether its visible message is open
        self._calls: set[str] = set()  # between START and END
        self._owed: dict[str, bool] = {}  # started, no result yet; in order. Whether it is ours to give

    def started(self) -> None:
        """RUN_STARTED."""
        if not self._begun:
            self._begun = self._open = True
            self._emit(ev.RunStarted(self._thread_id, self._run_id, PROTOCOL_VERSION))

    # --- text ---------------------------------------------------------------------------------------------------
    def text(self, message_id: str, delta: str) -> None:
        """A piece of assistant text; opens its message."""
        if message_id not in self._texts:
            if not (delta and self._begin(message_id)):
                return
            self._texts.add(message_id)
            self._emit(ev.TextMessageStart(message_id, "assistant"))
        if delta:
            self._emit(ev.TextMessageContent(message_id, delta))

    def text_end(self, message_id: str) -> None:
        """The message is complete (nothing happens if it never had text)."""
        if message_id in self._texts:
            self._texts.discard(message_id)
            self._emit(ev.TextMessageEnd(message_id))

    # --- reasoning ----------------------------------------------------------------------------------------------
    def reasoning(self, message_id: str, delta: str) -> None:
        """A piece of visible reasoning; opens its span and message."""
        if not delta:
            return
        if message_id not in self._reasoning and not self._reasoning_start(message_id):
            return
        if not self._reasoning[message_id]:
            self._reasoning[message_id] = True
            self._emit(ev.ReasoningMessageStart(message_id, "reasoning"))
        self._emit(ev.ReasoningMessageContent(message_id, delta))

    def reasoning_end(self, message_id: str, encrypted: str | None = None) -> None:
        """The reasoning is complete. A sealed value opens an empty span if nothing was visible."""
        if encrypted and message_id not in self._reasoning:
            self._reasoning_start(message_id)
        visible = self._reasoning.pop(message_id, None)
        if visible is None:
            return
        if encrypted and not visible:  # clients attach the value to a message, so there has to be one
            self._emit(ev.ReasoningMessageStart(message_id, "reasoning"))
            visible = True
        if visible:
            self._emit(ev.ReasoningMessageEnd(message_id))
        if encrypted:
            self._emit(ev.ReasoningEncryptedValue("message", message_id, encrypted))
        self._emit(ev.ReasoningEnd(message_id))

    def _reasoning_start(self, message_id: str) -> bool:
        if not self._begin(message_id):
            return False
        self._reasoning[message_id] = False
        self._emit(ev.ReasoningStart(message_id))
        return True

    # --- calls --------------------------------------------------------------------------------------------------
    def call(self, call_id: str, name: str, parent_id: str) -> None:
        """A tool call begins. ``parent_id`` names the message that shows it and may be new."""
        if name and parent_id and call_id and self._open and call_id not in self._seen_calls:
            self._seen_calls.add(call_id)
            self._calls.add(call_id)
            self._owed[call_id] = True
            self._seen.add(parent_id)
            self._emit(ev.ToolCallStart(call_id, name, parent_id))

    def call_args(self, call_id: str, delta: str) -> None:
        """A piece of its arguments."""
        if delta and call_id in self._calls:
            self._emit(ev.ToolCallArgs(call_id, delta))

    def call_end(self, call_id: str) -> None:
        """Its arguments are complete."""
        if call_id in self._calls:
            self._calls.discard(call_id)
            self._emit(ev.ToolCallEnd(call_id))

    def result(self, call_id: str, message_id: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """What the call came to: once per call of this run; calls of earlier runs may get theirs here too."""
        if not self._open or not call_id or call_id in self._resulted:
            return
        self.call_end(call_id)
        self._resulted.add(call_id)
        self._seen_calls.add(call_id)
        while not message_id or message_id in self._seen:  # taken by a message that was shown under it
            message_id += "-result"
        self._seen.add(message_id)
        self._owed.pop(call_id, None)
        self._emit(ev.ToolCallResult(message_id, call_id, content, "tool", metadata))

    def leave_open(self, call_ids: Sequence[str]) -> None:
        """These calls get their results later: a person or the client owes them."""
        for call_id in call_ids:
            if call_id in self._owed:
                self._owed[call_id] = False

    # --- the rest -----------------------------------------------------------------------------------------------
    def other(self, event: ev.Event) -> None:
        """A snapshot or a custom event."""
        if self._open:
            self._emit(event)

    def finish(self, outcome: ev.Finished | None = None, usage: Sequence[Any] = ()) -> None:
        """RUN_FINISHED of a run that has come to its own end."""
        self._finish(outcome, usage)

    def stop(self, why: Stop, usage: Sequence[Any] = ()) -> None:
        """The end of a run that was stopped before it was complete, as its dialect says that."""
        if self._dialect.v1:
            self._finish(ev.CancelledOutcome(), usage, metadata=why.metadata)
        elif why.reason is None:
            self.fail(why.code, why.message, usage)
        else:
            self._finish(None, usage, {"reason": why.reason})

    def _finish(
        self,
        outcome: ev.Outcome | None,
        usage: Sequence[Any],
        result: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if self._close():
            if self._owed:
                outcome = outcome or self._success()
            self._emit(ev.RunFinished(self._thread_id, self._run_id, result, outcome, tuple(usage), metadata))

    def _success(self) -> ev.SuccessOutcome | None:
        """What a run that ends well left without a result, for others to give; nothing for clients that derive it."""
        return ev.SuccessOutcome(tuple(self._owed)) if self._dialect.extras else None

    def fail(self, code: str, message: str, usage: Sequence[Any] = ()) -> None:
        """RUN_ERROR."""
        if self._close():
            self._emit(ev.RunError(message, code, tuple(usage)))

    def _begin(self, entity_id: str) -> bool:
        """Whether a new entity may open now under this id; takes the id."""
        if not self._open or not entity_id or entity_id in self._seen:
            return False
        self._seen.add(entity_id)
        return True

    def end_unfinished(self) -> None:
        """End the messages, reasoning and arguments that are half said."""
        for message_id in sorted(self._texts):
            self.text_end(message_id)
        for message_id in list(self._reasoning):
            self.reasoning_end(message_id)
        for call_id in sorted(self._calls):
            self.call_end(call_id)

    def settle(self) -> None:
        """End what is half said, and give the results that are still owed."""
        self.end_unfinished()
        for call_id in [call_id for call_id, ours in self._owed.items() if ours]:
            self.result(call_id, f"{call_id}-result", UNFINISHED)

    def _close(self) -> bool:
        """End what is open; False if the stream is over already (or never began)."""
        if not self._open:
            return False
        self.settle()
        self._open = False
        return True
