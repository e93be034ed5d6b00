"""The emulator refuses what the providers refuse: attachments, names, orders, roles, content (T11)."""

from typing import Any

import pytest

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.anthropic import check_messages
from agui_gate_adapters.testkit.chat.checks import check_chat_request
from agui_gate_adapters.testkit.chat.profiles import CHAT_PROFILES
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.responses.checks import check_request
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.wire import encode
from tests.product.poison import CUT_PNG, GONE, NAMES, PNG

Json = dict[str, Any]

DATA = "data:image/png;base64,"
IMAGES = {
    f"{DATA}{PNG}": None,
    f"data:image/jpeg;base64,{PNG}": None,  # which of the four it is, OpenAI finds out
    f"{DATA}{CUT_PNG}": "valid image|unsupported image",
    f"{DATA}aGVsbG8=": "valid image|unsupported image",
    DATA: "empty base64-encoded bytes",
    f"{DATA}@@@": "an invalid base64-encoded value",
    "data:image/svg+xml;base64,PHN2Zy8+": "unsupported MIME type 'image/svg",
    PNG: "without the 'data:' prefix|Image URL is invalid",
    "file:///etc/passwd": "invalid format|Image URL is invalid",
    "javascript:alert(1)": "invalid format|Image URL is invalid",
    GONE: "Timeout while downloading|Failed to download",
    "http://localhost/a.png": "Timeout while downloading|Failed to download",
    "https://example.com/a.png": None,
}


def responses(*content: Json, **more: Any) -> list[Violation]:
    items = [{"type": "message", "role": "user", "content": list(content)}] if content else []
    return check_request(ProviderState(), {"model": "m", "input": items} | more)


def chat(*content: Json, profile: str = "openai", messages: list[Json] | None = None) -> list[Violation]:
    given = messages or [{"role": "user", "content": list(content)}]
    return check_chat_request({"model": "m", "messages": given}, CHAT_PROFILES[profile])


def anthropic(*content: Json, messages: list[Json] | None = None) -> list[Violation]:
    given = messages or [{"role": "user", "content": list(content)}]
    return check_messages({"model": "m", "max_tokens": 9, "messages": given})


def says(found: list[Violation], words: str | None, rule: str = "media") -> None:
    if words is None:
        assert found == []
        return
    assert found, "it should be refused"
    assert found[0].rule == rule
    assert found[0].status == 400
    assert any(word in found[0].message for word in words.split("|")), found[0].message


@pytest.mark.parametrize("url", IMAGES)
def test_images_of_openai(url: str) -> None:
    says(responses({"type": "input_image", "image_url": url}), IMAGES[url])
    says(chat({"type": "image_url", "image_url": {"url": url}}), IMAGES[url])


@pytest.mark.parametrize(
    ("profile", "words"),
    [("vllm", "cannot identify"), ("llama_cpp", "Failed to load image"), ("deepseek", "unknown variant `image_url`")],
)
def test_images_of_local_servers(profile: str, words: str) -> None:
    says(chat({"type": "image_url", "image_url": {"url": f"{DATA}{CUT_PNG}"}}, profile=profile), words)


@pytest.mark.parametrize(
    ("media_type", "data", "words"),
    [
        ("image/png", PNG, None),
        ("image/jpeg", PNG, "appears to be a image/png image"),
        ("image/png", "", "image cannot be empty"),
        ("image/png", "@@@", "invalid base64 data"),
        ("image/png", CUT_PNG, "Could not process image"),
        ("image/png", "aGVsbG8=", "Could not process image"),
        ("image/png", "A" * (5 * 1024 * 1024 + 4), "image exceeds 5 MB maximum"),
    ],
)
def test_images_of_anthropic(media_type: str, data: str, words: str | None) -> None:
    source = {"type": "base64", "media_type": media_type, "data": data}
    says(anthropic({"type": "image", "source": source}), words)


def test_a_media_type_that_anthropic_does_not_have() -> None:
    source = {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2Zy8+"}
    says(anthropic({"type": "image", "source": source}), "Input should be 'image/jpeg'", "schema")


@pytest.mark.parametrize(
    ("url", "words"),
    [("https://example.com/a.png", None), ("http://example.com/a.png", "HTTPS"), (GONE, "Unable to download")],
)
def test_addresses_of_anthropic(url: str, words: str | None) -> None:
    says(anthropic({"type": "image", "source": {"type": "url", "url": url}}), words)


def test_documents() -> None:
    bad, good = "data:application/pdf;base64,aGVsbG8=", "data:application/pdf;base64,JVBERi0="
    for data, words in ((bad, "base64-encoded"), (good, None)):
        says(responses({"type": "input_file", "filename": "a.pdf", "file_data": data}), words)
        says(chat({"type": "file", "file": {"filename": "a.pdf", "file_data": data}}), words)
    says(responses({"type": "input_file", "file_url": GONE}), "Error while downloading")
    for value, words in (("aGVsbG8=", "The PDF specified was not valid"), ("JVBERi0=", None)):
        source = {"type": "base64", "media_type": "application/pdf", "data": value}
        says(anthropic({"type": "document", "source": source}), words)


def test_sound() -> None:
    for data, words in (("@@@", "base64-encoded audio"), ("QUJD", None)):
        says(chat({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}), words)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_calls_in_a_history(name: str) -> None:
    """As those of tools."""
    fine = name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()
    words = None if fine and len(name) <= 64 else "does not match pattern|string too long"
    user = {"role": "user", "content": "hi"}
    function = {"name": name, "arguments": "{}"}
    items = [
        {"type": "message", **user},
        {"type": "function_call", "call_id": "c", **function},
        {"type": "function_call_output", "call_id": "c", "output": ""},
    ]
    says(responses(input=items), words, "name")
    said = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    says(chat(messages=[user, said, {"role": "tool", "tool_call_id": "c", "content": ""}]), words, "name")
    used = {"type": "tool_use", "id": "c", "name": name, "input": {}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
    long = None if fine and len(name) <= 128 else "String should match pattern"
    says(anthropic(messages=[user, {"role": "assistant", "content": [used]}, result]), long, "schema")


@pytest.mark.parametrize("profile", ["vllm", "llama_cpp", "mistral", "lenient"])
def test_a_system_message_that_is_not_the_first(profile: str) -> None:
    """Also in the middle of a loop, after outputs; others take it."""
    user, system = {"role": "user", "content": "hi"}, {"role": "system", "content": "Be kind."}
    assert chat(messages=[system, user], profile=profile) == []
    says(chat(messages=[user, system, user], profile=profile), "System message must be at the beginning", "order")
    says(chat(messages=[system, system, user], profile=profile), "System message must be at the beginning", "order")
    assert chat(messages=[user, system, user]) == []


def test_a_system_message_between_a_call_and_its_output() -> None:
    function = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [function]}
    system, output = {"role": "system", "content": "x"}, {"role": "tool", "tool_call_id": "c", "content": ""}
    says(chat(messages=[{"role": "user", "content": "hi"}, said, system, output]), "must be followed by tool", "C1")
    says(anthropic(messages=[{"role": "user", "content": "hi"}, {"role": "system", "content": "x"}]), "system", "A12")


@pytest.mark.parametrize("path", ["responses", "chat", "anthropic"])
def test_what_is_against_the_policy(path: str) -> None:
    emulator = Emulator([{"output": [{"type": "message", "text": "Fine."}], "repeat": True}])
    emulator.flagged = ("forbidden",)
    user = {"role": "user", "content": "forbidden words"}
    bodies = {
        "responses": (emulator.responses, {"model": "m", "input": "forbidden words"}),
        "chat": (emulator.chat, {"model": "m", "messages": [user]}),
        "anthropic": (emulator.messages, {"model": "m", "max_tokens": 9, "messages": [user]}),
    }
    api, body = bodies[path]
    api.create(encode(body), {})
    assert [entry.rule for entry in emulator.refusals] == ["policy"]
