"""The catalogue of refusals that OpenAI's two APIs share, Responses and Chat Completions: every error body of theirs
that needs no memory.

Each function returns one `Violation`. The wording is the provider's own, so that an adapter's error classifier meets
the same strings here as in production. Where the words of a numbered rule are from, `docs/wire-rules.md` says. For the
others a public report stands here, or that they are inferred: nobody's report has them, they are made like others.
Rules without a number are named by a word:

* `auth`, `json`, `model`, `bounds`, `type`, `schema`: plain request errors;
* `media`, `name`, `policy`: what makes a conversation unusable if it is sent again: attachments, names of calls in the
  history, and what was said;
* `strict`: legal for the real API as far as anyone knows, but always a bug in an adapter. Its `code` is
  `emulator_strict`, so nobody takes it for the provider's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.media import Trouble


def quoted_list(values: Iterable[str]) -> str:
    """Join values as the API does: `'a' and 'b'`, or `'a', 'b', and 'c'`."""
    names = [f"'{value}'" for value in values]
    if len(names) < 3:
        return " and ".join(names)
    return ", ".join(names[:-1]) + ", and " + names[-1]


# -- access ------------------------------------------------------------------------------------------------------


def missing_key() -> Violation:
    """No `Authorization` header. Inferred."""
    message = (
        "You didn't provide an API key. You need to provide your API key in an Authorization header "
        "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    )
    return Violation("auth", 401, message)


def wrong_key() -> Violation:
    """A key other than the one the emulator was told to accept. The key itself is never echoed. Inferred."""
    return Violation("auth", 401, "Incorrect API key provided.", None, "invalid_api_key")


def bad_json() -> Violation:
    """The body is not JSON. Inferred."""
    hint = (
        "(HINT: This likely means you aren't using your HTTP library correctly. "
        "The API expects a JSON payload, but what was sent was not valid JSON.)"
    )
    return Violation("json", 400, f"We could not parse the JSON body of your request. {hint}")


def no_such_model(model: str) -> Violation:
    """A model that was asked about by its name, and is not there. Inferred."""
    return Violation("model", 404, f"The model '{model}' does not exist", "model", "model_not_found")


def no_such_route(method: str, path: str) -> Violation:
    """An address of the API that is not emulated. Inferred."""
    return Violation("route", 404, f"Invalid URL ({method} {path})")


def unknown_model(model: str) -> Violation:
    """A model that this deployment does not have. Inferred."""
    return Violation("model", 400, f"The requested model '{model}' does not exist.", "model", "model_not_found")


# -- shape -------------------------------------------------------------------------------------------------------


def missing(path: str, rule: str = "R11") -> Violation:
    """A required member is absent (R11 for the body, R15 for reasoning, R22 for tools)."""
    return Violation(rule, 400, f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def unknown(path: str, suggestion: str | None = None, rule: str = "R13") -> Violation:
    """A member that the API does not know, or one sent as null (R13; R25 for Chat's stream options)."""
    hint = f" Did you mean '{suggestion}'?" if suggestion else ""
    return Violation(rule, 400, f"Unknown parameter: '{path}'.{hint}", path, "unknown_parameter")


def wrong_type(path: str, expected: str, got: str, rule: str = "R14") -> Violation:
    """R14: the member exists and has another JSON type."""
    message = f"Invalid type for '{path}': expected {expected}, but got {got} instead."
    return Violation(rule, 400, message, path, "invalid_type")


def unsupported_value(path: str, value: str, supported: Iterable[str], rule: str = "R20") -> Violation:
    """R20: an enumeration does not have this value."""
    message = f"Invalid value: '{value}'. Supported values are: {quoted_list(supported)}."
    return Violation(rule, 400, message, path, "invalid_value")


def wrong_id_prefix(path: str, value: str, prefix: str) -> Violation:
    """R16: an item id of another kind, typically a call id where an item id belongs."""
    message = f"Invalid '{path}': '{value}'. Expected an ID that begins with '{prefix}'."
    return Violation("R16", 400, message, path, "invalid_value")


def wrong_id_characters(path: str, value: str) -> Violation:
    """R16: an item id with a character outside `[A-Za-z0-9_-]`."""
    detail = (
        "Expected an ID that contains letters, numbers, underscores, or dashes, "
        "but this value contained additional characters."
    )
    return Violation("R16", 400, f"Invalid '{path}': '{value}'. {detail}", path, "invalid_value")


def too_long(path: str, limit: int, length: int, rule: str = "R17") -> Violation:
    """R17: a string over its maximum length, such as a call id of more than 64 characters."""
    message = (
        f"Invalid '{path}': string too long. Expected a string with maximum length {limit}, "
        f"but got a string with length {length} instead."
    )
    return Violation(rule, 400, message, path, "string_above_max_length")


def out_of_bounds(path: str, kind: str, side: str, bound: float, got: float) -> Violation:
    """A number below its minimum or above its maximum; `kind` is `integer` or `decimal`, `side` `min` or `max`.

    Inferred.
    """
    word, sign = ("below minimum", ">=") if side == "min" else ("above maximum", "<=")
    message = f"Invalid '{path}': {kind} {word} value. Expected a value {sign} {bound:g}, but got {got:g} instead."
    code = f"{kind}_{'below_min' if side == 'min' else 'above_max'}_value"
    return Violation("bounds", 400, message, path, code)


def too_many_properties(path: str, limit: int, got: int) -> Violation:
    """An object with more members than allowed, such as metadata with more than 16. Inferred."""
    message = (
        f"Invalid '{path}': too many properties. Expected an object with at most {limit} properties, "
        f"but got an object with {got} properties instead."
    )
    return Violation("bounds", 400, message, path, "object_above_max_properties")


def bad_pattern(path: str, pattern: str, rule: str = "schema") -> Violation:
    """A name with characters that are not allowed; of a tool, or (`name`) of a call in the history.

    As in mcp-use/mcp-use#90.
    """
    message = (
        f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '{pattern}'."
    )
    return Violation(rule, 400, message, path, "invalid_value")


def bad_media(message: str, param: str | None, code: str = "invalid_value") -> Violation:
    """An attachment that can't be read or had. The words are the caller's."""
    return Violation("media", 400, message, param, code)


def flagged() -> Violation:
    """What was said is against the provider's policy. As in openai/codex#7250."""
    message = (
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. "
        "Please try again with a different prompt."
    )
    return Violation("policy", 400, message, None, "invalid_prompt")


def bad_function_schema(path: str, name: str, reason: str) -> Violation:
    """A tool's parameters are not a schema that the API takes. Inferred."""
    return Violation(
        "schema", 400, f"Invalid schema for function '{name}': {reason}", path, "invalid_function_parameters"
    )


def bad_format_schema(path: str, name: str, reason: str) -> Violation:
    """The form of an answer is not a schema that the API takes. Inferred."""
    return Violation(
        "schema", 400, f"Invalid schema for response_format '{name}': {reason}", path, "invalid_json_schema"
    )


def chat_body() -> Violation:
    """R21: a Chat Completions body was posted to the Responses endpoint."""
    message = (
        "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. "
        "Try again with the new parameter."
    )
    return Violation("R21", 400, message, None, "unsupported_parameter")


def too_many_items(path: str, limit: int, got: int) -> Violation:
    """An array with more elements than allowed. Inferred."""
    message = (
        f"Invalid '{path}': array too long. Expected an array with maximum length {limit}, "
        f"but got an array with length {got} instead."
    )
    return Violation("bounds", 400, message, path, "array_above_max_length")


def not_allowed(param: str, message: str) -> Violation:
    """A parameter that is known, but not together with the rest of this request. The words are the caller's."""
    return Violation("schema", 400, message, param, "invalid_value")


def conversation_locked() -> Violation:
    """R8: two responses at once on one conversation."""
    message = "Another process is currently operating on this conversation. Please retry in a few seconds."
    return Violation("R8", 400, message, "conversation", "conversation_locked")


# How a refusal of an attachment says what came instead of a data URL.

EXAMPLE: Final = "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"


def got(trouble: Trouble) -> str:
    """Describes what the API got instead of a data URL."""
    match trouble.what:
        case "empty":
            return "empty base64-encoded bytes"
        case "type":
            return f"unsupported MIME type '{trouble.detail}'"
        case "prefix":
            return "a value without the 'data:' prefix"
        case _:
            return "an invalid base64-encoded value"
