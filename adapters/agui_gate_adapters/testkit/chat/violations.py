"""The refusals of the Chat Completions API that the Responses API does not have, with the providers' own words.

C1 to C7 are the ids of the wire rules that adapters are tested against. C1 and C2 are worded differently from server
to server, and an adapter has to know them all: `unanswered` and `not_an_answer` take the profile's wording.
"""

from __future__ import annotations

from collections.abc import Sequence

from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.wire import Json

_MUST_FOLLOW = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
_DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "


# -- pairing -----------------------------------------------------------------------------------------------------


def unanswered(profile: ChatProfile, ids: Sequence[str], closed_by: int | None) -> Violation:
    """C1: calls without answers. `closed_by`: index of the message that ended the run, None for the list's end."""
    param = "messages" if closed_by is None else f"messages.[{closed_by}].role"
    match profile.words:
        case "deepseek":
            told = f"{_MUST_FOLLOW} (insufficient tool messages following tool_calls message)"
            return Violation("C1", 400, told, None, "invalid_request_error")
        case "mistral":
            return _mistral_count("C1")
        case "dashscope":
            told = (
                f"{_DASHSCOPE}{_MUST_FOLLOW} The following tool_call_ids did not have response messages: "
                f"{_dashscope_place(closed_by)}"
            )
            return Violation("C1", 400, told.replace("'", '"'), None, "invalid_parameter_error")
        case "minimax":
            return _minimax("C1")
        case _:
            told = f"{_MUST_FOLLOW} The following tool_call_ids did not have response messages: {', '.join(ids)}"
            return Violation("C1", 400, told, param)


def not_an_answer(profile: ChatProfile, index: int) -> Violation:
    """C2: a tool message outside a run, or for an id that the run's calls do not have. "preceeding" is theirs."""
    told = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    match profile.words:
        case "deepseek":
            told = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            return Violation("C2", 400, told, None, "invalid_request_error")
        case "mistral":
            return _mistral_count("C2")
        case "dashscope":
            told = _DASHSCOPE + told.replace("'", '"')
            return Violation("C2", 400, told, None, "invalid_parameter_error")
        case "minimax":
            return _minimax("C2")
        case _:
            return Violation("C2", 400, f"Invalid parameter: {told}", f"messages.[{index}].role")


def answered_twice(call_id: str, first: int, second: int) -> Violation:
    """C3: two answers to one call."""
    message = (
        f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}', "
        f"in messages[{first}] and messages[{second}]."
    )
    return Violation("C3", 400, message, f"messages.[{second}].tool_call_id")


def _dashscope_place(closed_by: int | None) -> str:
    return "messages" if closed_by is None else f"message[{closed_by}].role"


def _mistral_count(rule: str) -> Violation:
    """C1 and C2 at Mistral."""
    message = "Not the same number of function calls and responses"
    return Violation(rule, 400, message, None, "3230", "invalid_request_message_order")


def _minimax(rule: str) -> Violation:
    """C1 and C2 at MiniMax."""
    return Violation(rule, 400, "tool call result does not follow tool call (2013)", None, "2013")


def no_reply_between() -> Violation:
    """Mistral's order of roles: answers, then the assistant, then everybody else. As in BerriAI/litellm#17761."""
    message = "Unexpected role 'user' after role 'tool'"
    return Violation("order", 400, message, None, "3230", "invalid_request_message_order")


# -- messages ----------------------------------------------------------------------------------------------------


def no_content(index: int) -> Violation:
    """C4: neither content nor anything that may stand for it."""
    message = "Invalid value for 'content': expected a string, got null."
    return Violation("C4", 400, message, f"messages.[{index}].content")


def empty_array(path: str, rule: str) -> Violation:
    """C5: an array that has to be left out rather than sent empty (C7 for the messages themselves)."""
    message = f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Violation(rule, 400, message, path, "empty_array")


def unfit_call_id(call_id: str) -> Violation:
    """C6: a call id that Mistral's template cannot write."""
    message = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
    return Violation("C6", 400, message, None, "3280", "invalid_function_call")


def unknown_role(path: str, role: str) -> Violation:
    """A `developer` message for a server whose template has no such role; the wording is a Rust deserializer's.

    As in farion1231/cc-switch#3330.
    """
    message = (
        f"Failed to deserialize the JSON body into the target type: {path}: unknown variant `{role}`, "
        "expected one of `system`, `user`, `assistant`, `tool`"
    )
    return Violation("role", 400, message, None, "invalid_request_error")


def no_images(path: str) -> Violation:
    """A picture for a server that reads none; the wording is a Rust deserializer's.

    As in esengine/DeepSeek-Reasonix#7859.
    """
    told = "unknown variant `image_url`, expected `text`"
    message = f"Failed to deserialize the JSON body into the target type: {path}: {told}"
    return Violation("media", 400, message, None, "invalid_request_error")


def unreadable_image(profile: ChatProfile) -> Violation:
    """A picture that a local server can't load, whatever the reason.

    llama.cpp's as in cline/cline#8977; vLLM's is inferred, from what its image library says.
    """
    if profile.errors == "vllm":
        return Violation("media", 400, "cannot identify image file <_io.BytesIO object at 0x7f3c1c0d5b70>", None)
    return Violation("media", 400, "Failed to load image or audio file", None)


def late_system() -> Violation:
    """A system message that is not the first, in templates of Qwen and others (vllm-project/vllm#41114)."""
    return Violation("order", 400, "System message must be at the beginning.", None)


def flagged() -> Violation:
    """Azure's filter of what was said (openai/openai-python#331)."""
    message = (
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
        "Please modify your prompt and retry."
    )
    return Violation("policy", 400, message, "prompt", "content_filter")


def reasoning_lost(profile: ChatProfile, index: int) -> Violation:
    """A turn with calls that came back without its reasoning.

    DeepSeek's as in MoonshotAI/kimi-cli#2141; others are inferred.
    """
    code = None if profile.errors == "short" else "invalid_request_error"
    return Violation("reasoning", 400, profile.reasoning_missing.format(index=index), None, code)


def reasoning_sent(path: str) -> Violation:
    """Reasoning that came back to a server that takes none; that it refuses is known, its words are inferred."""
    return Violation("reasoning", 400, f"'{path}' must not be part of the input.", None, "invalid_request_error")


# -- the body ----------------------------------------------------------------------------------------------------


def no_model() -> Violation:
    """The body names no model. Inferred."""
    return Violation("model", 400, "you must provide a model parameter")


def unknown_model(model: str) -> Violation:
    """A model that is not there. Inferred."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return Violation("model", 404, message, None, "model_not_found")


def unsupported(profile: ChatProfile, path: str) -> Violation:
    """A member that this server does not take. Mistral's is 422 with a list of details, see `errors`. Inferred."""
    if profile.errors == "bare":
        return Violation("member", 422, "Extra inputs are not permitted", path, "extra_forbidden")
    return Violation("member", 400, f"Unrecognized request argument supplied: {path}")


def needs_tools(member: str) -> Violation:
    """A member that says something about tools, in a request without any. Inferred."""
    message = f"Invalid value for '{member}': '{member}' is only allowed when 'tools' are specified."
    return Violation("schema", 400, message, member)


# Error bodies: the same refusal in the shape that each server wraps it in.


def error_body(profile: ChatProfile, violation: Violation) -> Json:
    """Return the HTTP body for a refusal or a fault."""
    told = violation
    match profile.errors:
        case "bare":
            return {"object": "error", "message": _details(told), **_tail(told, hidden=told.status == 422)}
        case "short":
            return {"error": {"message": told.message, "type": told.type}}
        case "numbered":
            return {"error": {"code": told.status, "message": told.message, "type": told.type}}
        case "vllm":
            kind = "BadRequestError" if told.status == 400 else told.type
            return {"error": {"message": told.message, "type": kind, "param": told.param, "code": told.status}}
        case _:
            return violation.body


def _tail(told: Violation, *, hidden: bool) -> Json:
    return {"type": told.type, "param": None, "code": None if hidden else told.code}


def _details(told: Violation) -> str | Json:
    """Return the message; one that came from schema validation is a list of places instead of words."""
    if told.code != "extra_forbidden" or told.param is None:
        return told.message
    path = told.param.replace("[", ".").replace("]", "").split(".")
    where = ["body", *(int(part) if part.isdigit() else part for part in path)]
    return {"detail": [{"type": told.code, "loc": where, "msg": told.message}]}
