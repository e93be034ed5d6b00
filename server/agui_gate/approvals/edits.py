"""Reads edits: the arguments that an answer changes, or names; and answers that come too late. Pure.

An edit replaces all arguments. It is validated as the call itself was (`Tool.judged`). So it is compared, recorded and
run as the same kind of value. A default that is left out is the default, a number is no text.
"""

from collections.abc import Mapping
from typing import Any

from agui_gate.agents.tool import Tool
from agui_gate.core import open_questions
from agui_gate.core.answers import PLAIN, Answer
from agui_gate.core.approvals import Approval
from agui_gate.core.browser_numbers import from_browser
from agui_gate.core.json_text import canonical, parse_object
from agui_gate.core.schemas import below
from agui_gate.errors import ApprovalRefused, ArgumentsChanged, ToolError
from agui_gate.protocol.cards import NotAllowed, checked_edit

Json = dict[str, Any]

MAX_EDIT = 128 * 1024
"""Bytes, as JSON, by which an edit may make a call's arguments larger."""


def edited(approval: Approval, answer: Answer, tool: Tool | None) -> str | None:
    """Returns all arguments after the edit of an answer, as canonical JSON; None if it changes nothing. Raises
    `ApprovalRefused`, and `ArgumentsChanged` where the answer is to other arguments than those of now.

    ``tool`` is the one that would run; None if there is none here.
    """
    if answer.sent is not None:
        if (shown := answer.sent.get("effective_arguments")) is not None:
            _check_shown(approval, shown)
        if answer.given is None or open_questions.of(approval) is None:  # else what was sent is the answer
            _check_members(approval, answer.sent, tool)
    if answer.edited is None:
        return None
    try:
        changed = checked_edit(approval, _meant(approval, answer.edited, tool))
        if changed is None and approval.is_pending and approval.effective_arguments != approval.arguments:
            changed = approval.arguments  # back to what was asked: an edit of what somebody else made of it
        limit = len(approval.arguments.encode()) + MAX_EDIT
        if changed is not None and len(changed.encode()) > limit:
            raise NotAllowed(f"the arguments may have at most {limit:,} bytes as JSON")
        return changed
    except ToolError as error:
        raise ApprovalRefused(f"The edit was refused: {error.message}") from None
    except ValueError as error:
        reason = str(error) if isinstance(error, NotAllowed) else "the edited arguments are not JSON"
        raise ApprovalRefused(f"The edit was refused: {reason}.") from None


def meant(approval: Approval, claimed: str, tool: Tool | None) -> str:
    """Returns the arguments, as canonical JSON, that an answer means which names its arguments (``claimed``, JSON).

    A client may name them as the model issued them or as they were shown. What can't be read so stands for itself.
    """
    if claimed == approval.arguments:
        return claimed
    try:
        return canonical(_meant(approval, parse_object(claimed) or {}, tool))
    except (ToolError, ValueError):
        return claimed


def is_what_ran(approval: Approval, sent: Json) -> bool:
    """Returns whether the edit ``sent`` names just the arguments that ran."""
    ran = parse_object(approval.effective_arguments) or {}
    try:
        return canonical(from_browser(sent, ran, {})) == approval.effective_arguments
    except ValueError:
        return False


_RECORD = {
    *("id", "thread_id", "agent", "call_id", "tool", "editable", "message", "asked_at", "expires_at", "asker", "state"),
    *("approvers", "needs", "approvals", "escalated", "handed_to", "restored", "task", "decision", "result", "grants"),
    *("replaced", "frozen", "schema", "refused", "already_ran", "thread", "edited_by", "you", "name", "toolCallId"),
    *("function_name", "function_call_id", "function_parameters", "responseSchema", "metadata"),
}
"""Members of records, cards and interrupts, besides the arguments. A page may send one back whole, with its answer."""


def _check_members(approval: Approval, sent: Mapping[str, Any], tool: Tool | None) -> None:
    """Raises `ApprovalRefused` if a member that nobody reads may be an edit: what was asked would run instead.

    It may be one if it is called so or as one of the call's arguments, or if it has members or items. Others, such as
    a time, are the page's own.
    """
    ids = [sent.get(name) for name in ("id", "call_id", "function_call_id", "toolCallId")]
    is_sent_back = approval.id in ids or approval.call_id in ids
    arguments = {*(parse_object(approval.arguments) or {}), *(tool.parameters.get("properties", ()) if tool else ())}
    for name, value in sent.items():
        if name in ("arguments", "function_arguments"):
            is_edit = value is not None and not _is_asked(approval, value, sent, tool)
        elif name in PLAIN or name in ("effective_arguments", "break_glass") or (is_sent_back and name in _RECORD):
            is_edit = False
        else:
            is_edit = name in arguments or isinstance(value, dict | list) or name.lower().startswith("edit")
        if is_edit:
            why = f"'{name[:50]}' is no edit. Edited arguments are 'edited_arguments'"
            raise ApprovalRefused(f"The edit was refused: {why}.")


def _is_asked(approval: Approval, named: Any, sent: Mapping[str, Any], tool: Tool | None) -> bool:
    """Returns whether ``named`` are the arguments that would run; or those that were asked about, if a whole record
    was sent back.
    """
    try:
        claimed = meant(approval, canonical(named), tool)
    except ValueError:
        return False
    is_record = sent.get("effective_arguments") is not None
    return claimed == approval.effective_arguments or (is_record and claimed == approval.arguments)


def _check_shown(approval: Approval, shown: Any) -> None:
    """Raises `ArgumentsChanged` if what was shown to who approves is not what would run: it was edited since."""
    if not isinstance(shown, dict) or not is_what_ran(approval, shown):
        raise ArgumentsChanged("The arguments are not those that you were shown. Look at them again, then decide.")


def _meant(approval: Approval, sent: Json, tool: Tool | None) -> Json:
    """Returns the arguments that ``sent`` stands for. Raises `ToolError` and `NotAllowed`."""
    shown = parse_object(approval.effective_arguments if approval.is_pending else approval.arguments) or {}
    schema = tool.parameters if tool else {}
    meant: Json = from_browser(sent, shown, schema)
    if missing := [name for name in schema.get("required", ()) if name not in meant]:
        raise NotAllowed(f"it gives all arguments, and {', '.join(missing)[:200]} is missing")
    if tool is None:
        return meant
    judged = parse_object(tool.judged(meant)) or {}
    if approval.schema_digest is None:  # asked before arguments were judged: shown, and run, as the model wrote them
        return meant
    kept: Json = _kept(meant, judged, shown, [schema], schema)
    return kept if kept == judged else parse_object(tool.judged(kept)) or {}


def _kept(sent: Any, judged: Any, shown: Any, places: list[Mapping[str, Any]], root: Mapping[str, Any]) -> Any:
    """Returns ``judged``, where what the edit left out and has no fixed default stays as it was shown.

    Such a default (an id, a time) is made anew each time: nobody would have seen the one that ran.
    """
    if not (isinstance(sent, dict) and isinstance(judged, dict) and isinstance(shown, dict)):
        return judged
    whole = {}
    for name, value in judged.items():
        rules = below(places, name, root)
        if name in sent:
            whole[name] = _kept(sent[name], value, shown.get(name), rules, root)
        else:
            whole[name] = value if any("default" in rule for rule in rules) else shown.get(name, value)
    return whole


def agrees(answer: Answer, approval: Approval) -> bool:
    """Returns whether an answer that comes too late says what was decided: then it is one that was sent twice.

    An answer that was not understood says nothing at all, so there is nothing to set right.
    """
    made, answer = approval.decision, open_questions.read(approval, answer)
    if answer.problem is not None:
        return True
    if made is None or (answer.choice == "approve") is not made.approved or answer.way != made.way:
        return False
    if not made.approved or answer.edited is None:
        return not made.approved or made.edited_arguments is None
    return is_what_ran(approval, answer.edited)
