"""Says what happened to a call in sentences: one for each event of the audit trail."""

from collections.abc import Callable
from typing import Any

Entry = dict[str, Any]

SETTLED = "operator"
"""The way of an outcome that an operator has found out."""


def sentence(entry: Entry) -> str:
    """Returns what happened, for people. ``entry``: see `entries.view`."""
    says = _SENTENCES.get(entry["kind"])
    return says(entry) if says else f"{entry['kind']}."


def who(entry: Entry) -> str:
    """Returns who did it: the person, the principal if that is another name, and the roles that counted."""
    by, person = entry["by"], entry["person"]
    name = f"{person} (as {by})" if person and by and person != by else person or by or "Somebody"
    said = [f"as deputy of {entry['absent']}"] if entry["absent"] else []
    said += [" and ".join(entry["roles"])] if entry["roles"] else []
    return f"{name}, {', '.join(said)}," if said else name


_WAYS = {
    "card": "on a card",
    "resume": "in the conversation",
    "interrupt": "in the conversation",
    "message": "by a message",
    "http": "over HTTP",
    "shell": "from a shell",
}


def _way(entry: Entry) -> str:
    way = _WAYS.get(entry["way"], "")
    return (f" {way}" if way else "") + (f" from {entry['address']}" if entry["address"] else "")


def _because(entry: Entry) -> str:
    return f": “{entry['reason']}”" if entry["reason"] else "."


def _tool(entry: Entry) -> str:
    return entry["tool"] or "the call"


def _asked(entry: Entry) -> str:
    agent = entry["agent"] or "An agent"
    return f"{agent} asked whether it may run {_tool(entry)}, for {entry['asker'] or entry['owner'] or 'its user'}."


def _shown(entry: Entry) -> str:
    return f"It was shown to {entry['by'] or 'its user'}{_way(entry)}."


def _approved(entry: Entry) -> str:
    if entry["way"] == "rule":
        return f"The rule of {_tool(entry)} let it go."
    if entry["way"] == "grant":
        return f"It was let go by grant {entry['grant']}, which {who(entry)} gave."
    names = ", ".join(path.lstrip("/") for path in entry["edited"])
    edited = f", and changed {names}" if names else ""
    if names and entry["editor"] not in ("", entry["person"], entry["by"]):
        edited = f", with {names} as {entry['editor']} changed it"
    verb = "agreed" if entry["kind"] == "agreed" else "approved it"
    more = f", and gave grant {entry['grant']} for calls like it" if entry["grant"] else ""
    return f"{who(entry)} {verb}{_way(entry)}{edited}{more}{_because(entry)}"


def _rejected(entry: Entry) -> str:
    if entry["way"] == "rule":
        return f"The rule of {_tool(entry)} refused it{_because(entry)}"
    return f"{who(entry)} rejected it{_way(entry)}{_because(entry)}"


def _break_glass(entry: Entry) -> str:
    return f"{who(entry)} broke the glass{_way(entry)}, in the place of those who have to agree{_because(entry)}"


def _deputy(entry: Entry) -> str:
    absent, to = entry["absent"] or entry["owner"], " and ".join(entry["to"])
    if entry["kind"] == "deputy_named":
        named = {"by": absent, "person": entry["person"], "roles": entry["roles"], "absent": ""}
        return f"{who(named)} named {to} as deputy, from {entry['since']} until {entry['until']}."
    if entry["why"]:
        return f"{to} is no longer the deputy of {absent}: {entry['why']}."
    return f"{entry['by'] or 'Somebody'} removed {to} as deputy of {absent}."


def _refused(entry: Entry) -> str:
    why = entry["why"].rstrip(".") or "refused"
    return f"The answer of {entry['by'] or 'somebody'}{_way(entry)} was not taken: {why}."


def _revoked(entry: Entry) -> str:
    if entry["why"]:
        return f"Grant {entry['grant']} has ended: {entry['why']}."
    return f"{entry['by'] or 'Somebody'} revoked grant {entry['grant']}."


def _frozen(entry: Entry) -> str:
    about = " and ".join(f"of {name} {value}" for name, value in entry["about"].items())
    calls = f"gated calls {about}" if about else "all gated calls"
    is_end = entry["kind"] == "lifted"
    if entry["by"]:
        return f"{entry['by']} {'lifted the freeze of' if is_end else 'froze'} {calls}{_because(entry)}"
    return (f"The freeze of {calls} was lifted" if is_end else f"{calls[0].upper()}{calls[1:]} were frozen") + _because(
        entry
    )


def _settled(entry: Entry) -> str:
    found = {"done": "that it took effect", "failed": "that it did not take effect"}
    return f"{entry['by']} found out {found.get(entry['about'].get('to', ''), 'what came of it')}{_because(entry)}"


def _pruned(entry: Entry) -> str:
    about = entry["about"]
    where = f"up to number {about['through']:,}" if "through" in about else f"of {about['threads']:,} deleted threads"
    return f"Old events were deleted by their age: {about['events']:,}, {where}."


_SENTENCES: dict[str, Callable[[Entry], str]] = {
    "asked": _asked,
    "shown": _shown,
    "approved": _approved,
    "agreed": _approved,
    "refused": _refused,
    "rejected": _rejected,
    "claimed": lambda entry: f"{_tool(entry)} was about to run.",
    "passed": lambda entry: "The provider was told that it may run it.",
    "given_back": lambda entry: "The provider did not act on that. It may be told again.",
    "done": lambda entry: "It counts as done." if entry["way"] == SETTLED else "It ran, and ended.",
    "failed": lambda entry: "It counts as failed." if entry["way"] == SETTLED else "It ran, and failed.",
    "unknown": lambda entry: "It may have run: it was interrupted before it could say so.",
    "superseded": lambda entry: "The user went on without an answer. It did not run.",
    "cancelled": lambda entry: "The run was stopped. It did not run.",
    "expired": lambda entry: "Nobody answered in time. It did not run.",
    "replaced": lambda entry: "The answer that it belongs to was replaced.",
    "deleted": lambda entry: "Its thread was deleted.",
    "restored": lambda entry: "A backup was restored in which it was not settled.",
    "revoked": _revoked,
    "escalated": lambda entry: f"Nobody had decided it, so {' and '.join(entry['to'])} may, too.",
    "handed_to": lambda entry: f"{entry['by'] or 'Somebody'} handed it to {' and '.join(entry['to'])}.",
    "break_glass": _break_glass,
    "deputy_named": _deputy,
    "deputy_removed": _deputy,
    "settled": _settled,
    "stopped": lambda entry: (
        f"{entry['by']} told what was at work on thread {entry['thread_id']} to stop{_because(entry)}"
    ),
    "handed_on": lambda entry: (
        f"{entry['by']} handed thread {entry['thread_id']} on from {entry['from']} to {entry['owner']}{_because(entry)}"
    ),
    "frozen": _frozen,
    "lifted": _frozen,
    "erased": lambda entry: (
        "A name in it was replaced: somebody was erased."
        if entry["approval_id"]
        else f"{entry['by']} erased a person, who is {entry['owner']} from here on."
    ),
    "pruned": _pruned,
    "keyed": lambda entry: f"From here on, events are signed by key {entry['key_id']}.",
}
