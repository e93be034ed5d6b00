"""What the demo's pretend model says of calls: what it is about to call, and what came of it by the output alone.

An output that reports no success is told in the output's own words. "I've refunded …" is said of nothing but a result
that the tool itself returned, with the arguments that really ran.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.wire import Json

__all__ = ["Call", "Result", "decode", "introduce", "read_output", "tell"]

_PHRASES: Final = {
    "search_orders": ("look", "looked", "for the orders of **{customer}**"),
    "get_order": ("look up", "looked up", "order **{order_id}**"),
    "refund": ("refund", "refunded", "order **{order_id}** (amount: {amount})"),
    "cancel_order": ("cancel", "cancelled", "order **{order_id}**"),
    "send_email": ("send", "sent", "an e-mail (to: {to}, subject: {subject})"),
    "set_theme": ("set", "set", "the theme to {theme}"),
}
_LOOKUPS: Final = ("search_orders", "get_order")


class Call(msgspec.Struct, frozen=True):
    """A tool with its arguments."""

    name: str
    arguments: Json


class Result(msgspec.Struct, frozen=True):
    """One call with what came of it. ``call`` is what ran, ``issued`` the call as the model made it."""

    call: Call
    issued: Call
    value: Any
    euros: bool
    """Whether the tool says that its amounts are in euros."""

    @property
    def is_lookup(self) -> bool:
        """Whether the tool only finds things out."""
        return self.call.name in _LOOKUPS

    @property
    def is_done(self) -> bool:
        """Whether the output is surely a success; of an answer in words, only one that begins as ours do."""
        return self.value.startswith("I've ") if isinstance(self.value, str) else self._status in ("", "transferred")

    @property
    def _status(self) -> str:
        """How a call ended that gave no result of its own; a record that has a status comes without a message."""
        value = self.value if isinstance(self.value, dict) else {}
        return "error" if "error" in value else str(value.get("status", "")) if "message" in value else ""

    def tell(self) -> str:
        """Tell what came of it, with the values that the output has."""
        does, did = (_phrase(self.call, self.euros, done=done) for done in (False, True))
        value, ran = self.value, self.call.arguments
        if isinstance(value, str):
            quote = value.strip().replace("\n", "\n> ")
            who = (
                f"**{self.call.name.replace('_', ' ')}** answers"
                if set(ran) == {"task"}
                else f"answer to my wish to {does}"
            )
            return f"The {who}:\n\n> {quote}"
        if self._status == "transferred":
            return f"You are with **{str(value.get('agent')).replace('_', ' ')}** now. What can I do for you?"
        if self._status:
            return self._problem(does) + self._changes()
        if isinstance(value, list) and value:
            rows = "\n".join(f"- {_listed(row, self.euros, ' · ')}" for row in value)
            return f"I've found **{len(value)} result{'s' * (len(value) > 1)}**:\n\n{rows}"
        told = f"I've {did}{', and found **nothing**' if value == [] else ''}.{self._changes()}"
        news = {name: it for name, it in value.items() if name not in ran} if isinstance(value, dict) else {}
        return f"{told}\n\n- {_listed(news, self.euros, chr(10) + '- ')}" if news else told

    def _problem(self, does: str) -> str:
        error = self.value.get("error") or self.value.get("message")
        said = str(error.get("message") if isinstance(error, dict) else error)
        if self._status == "rejected":
            reason = self.value.get("reason")
            why = f" The reason given: “{reason}”." if reason else ""
            return f"I did not {does}: it was **rejected**, and nothing was changed.{why}"
        if self._status == "cancelled" and "before it ran" in said:
            return f"I did not {does}: the approval was **cancelled**, and nothing was changed."
        return f"I could not {does}. {said}" if self._status == "error" else f"I have no result of this: {does}. {said}"

    def _changes(self) -> str:
        """Say what a person changed before approving."""
        before, ran = self.issued.arguments, self.call.arguments
        changed = [name for name in {**before, **ran} if before.get(name) != ran.get(name)]
        fromto = [(name, *(_shown(call.get(name), self.euros) for call in (before, ran))) for name in changed]
        return "".join(
            f" The {name} was changed from {old} to {new} before it was approved." for name, old, new in fromto
        )


def read_output(name: str, arguments: str, output: str, tools: dict[str, Json]) -> Result:
    """Read a call's output: JSON where it is JSON. `{note, arguments, result}` says that other arguments ran."""
    given, value, euros = decode(arguments), decode(output), _is_in_euros(name, tools)
    issued = ran = Call(name, given if isinstance(given, dict) else {})
    if isinstance(value, dict) and set(value) == {"note", "arguments", "result"}:
        ran, value = Call(name, dict(value["arguments"])), value["result"]
        value = decode(value) if isinstance(value, str) else value
    return Result(ran, issued, value, euros)


def tell(results: list[Result]) -> str:
    """Tell what came of calls, the good news first."""
    return "\n\n".join(result.tell() for result in sorted(results, key=lambda result: not result.is_done))


def introduce(calls: list[Call], before: list[Result], tools: dict[str, Json]) -> str:
    """Say what is about to be called, and what of the kind ran ``before``; "" of what only looks things up."""
    if all(call.name in _LOOKUPS for call in calls):
        return ""
    done = " and ".join(_phrase(one.call, one.euros, done=True) for one in before)
    already = f"In an answer that was replaced I have already {done}. " if before else ""
    return f"{already}Of course, I'll {' and '.join(_phrase(call, _is_in_euros(call.name, tools)) for call in calls)}."


def _phrase(call: Call, euros: bool, *, done: bool = False) -> str:
    """Say a call in words: `refund order **1003** (amount: 20 €)`, or `refunded …`."""
    if set(call.arguments) == {"task"}:
        return f"ask{'ed' * done} the **{call.name.replace('_', ' ')}**"
    if call.name.startswith("transfer_to_"):
        return f"hand{'ed' * done} you over to **{call.name[12:].replace('_', ' ')}**"
    does, did, rest = _PHRASES.get(call.name, ("call", "called", f"**{call.name}**"))
    try:
        shown = rest.format_map({name: _shown(value, euros) for name, value in call.arguments.items()})
    except KeyError:
        does, did, shown = "call", "called", f"**{call.name}**"
    return f"{did if done else does} {shown}"


def _listed(row: Any, euros: bool, between: str) -> str:
    if not isinstance(row, dict):
        return str(row)
    return between.join(f"{name.replace('_', ' ')}: {_shown(value, euros)}" for name, value in row.items())


def _shown(value: Any, euros: bool) -> str:
    """Show a value; numbers are money where the tool says so: `64.90 €`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return " ".join(str(value).split())
    cents = not float(value).is_integer() and round(value, 2) == value
    return (f"{value:.2f}" if cents else f"{value:.15g}") + " €" * euros


def _is_in_euros(name: str, tools: dict[str, Json]) -> bool:
    return "euro" in str(tools.get(name)).lower()


def decode(text: str) -> Any:
    """Return the JSON value that a text is, or the text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
