"""What refusals of attachments and of content look like, in the words of public reports (T10)."""

from typing import Any

import pytest

from agui_gate.errors import ContentRefused, ContextLength, MediaRefused, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, classify_code, classify_status, value_at

API = Api("API", "KEY")
MEDIA = [
    (400, "invalid_image_format", "You uploaded an unsupported image. Please make sure your image is valid.", ""),
    (400, "", "You uploaded an unsupported image. Please make sure your image is below 20 MB in size", ""),
    (400, "invalid_value", "Timeout while downloading https://x/a.png.", "url"),
    (400, "invalid_image_url", "Timeout while downloading 20250503_162129.jpg.", ""),
    (400, "invalid_image", "Failed to download image from IMG_9660.gif. Image size exceeds the limit.", ""),
    (400, "", "Failed to download image from iVBORw0KGgo... Image URL is invalid.", ""),
    (400, "invalid_value", "Invalid image URL: 'messages[0].content[1].image_url.url'. Expected a base64-encoded", "x"),
    (400, "", "Could not process image", ""),
    (400, "", "Could not process PDF", ""),
    (400, "", "messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid.", ""),
    (400, "", "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes", ""),
    (400, "", "messages.118.content.4.image.source.base64: image cannot be empty", ""),
    (400, "", "messages.6.content.5.image.source.base64.data: Image does not match the provided media type", ""),
    (400, "", "messages.34.content.2.image.source.base64.data: Image format image/png not supported", ""),
    (400, "", "messages.1.content.2.image.source.base64.data: At least one of the image dimensions exceed max", ""),
    (400, "", "facebook/opt-125m is not a multimodal model None", ""),
    (400, "", "At most 1 image(s) may be provided in one request.", ""),
    (400, "", "Failed to load image or audio file", ""),
    (500, "", "image input is not supported by this server", ""),
    (400, "", "invalid image input", ""),
    (400, "InvalidParameter", "Timeout while downloading url: http://192.168.122.1:8889/a.png", "image_url"),
    (413, "", "messages.0.content.1.image.source.base64: image exceeds 10 MB maximum", ""),
]  # fmt: skip
CONTENT = [
    (400, "content_filter", "The response was filtered due to the prompt triggering Azure OpenAI's", "prompt"),
    (400, "invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", ""),
    (400, "", "Output blocked by content filtering policy", ""),
    (400, "data_inspection_failed", "Input data may contain inappropriate content.", ""),
    (400, "", "Content Exists Risk", ""),
]
OTHERS = [
    (400, "", "Invalid 'tools[0].function.name': string does not match pattern.", "tools[0].name", ProviderRejected),
    (400, "invalid_function_parameters", "Invalid schema for function 'image_data'", "tools[0].x", ProviderRejected),
    (400, "", "tools.3.custom.input_schema: JSON schema is invalid: image data", "", ProviderRejected),
    (400, "", "Invalid schema for function 'encode_base64'", "", ProviderRejected),
    (404, "model_not_found", "The model `image-model` does not exist.", "model", ProviderRejected),
    (400, "", "prompt is too long: 200001 tokens > 200000 maximum", "", ContextLength),
    (503, "", "Could not process image", "", ProviderUnavailable),
    (400, "", "No tool output found for function call call_X.", "input", ProviderRejected),
]


@pytest.mark.parametrize(("status", "code", "message", "param"), MEDIA)
def test_attachments(status: int, code: str, message: str, param: str) -> None:
    error = classify_status(status, ErrorReply(code, message, param), API).error
    assert isinstance(error, MediaRefused)
    assert error.accepted == (status >= 500)
    assert "sk-" not in error.message
    assert message not in error.message
    told = classify_code(ErrorReply(code, message), API).error
    assert isinstance(told, MediaRefused)
    assert told.accepted, "nobody knows what was done for it"


@pytest.mark.parametrize(("status", "code", "message", "param"), CONTENT)
def test_content(status: int, code: str, message: str, param: str) -> None:
    assert isinstance(classify_status(status, ErrorReply(code, message, param), API).error, ContentRefused)


@pytest.mark.parametrize(("status", "code", "message", "param", "error"), OTHERS)
def test_what_has_another_reason(status: int, code: str, message: str, param: str, error: type[Exception]) -> None:
    assert type(classify_status(status, ErrorReply(code, message, param), API).error) is error


IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
BODIES: list[tuple[dict[str, Any], ErrorReply, str]] = [
    (
        {"input": [{"type": "message", "content": [{"type": "input_text", "text": "hi"}, IMAGE]}]},
        ErrorReply("invalid_value", "Invalid 'input[0].content[1].image_url'.", "input[0].content[1].image_url"),
        "data:image/png;base64,AAAA",
    ),
    (
        {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://x/"}}]}]},
        ErrorReply("", "Invalid image URL: 'messages[0].content[0].image_url.url'. Expected", ""),
        "https://x/",
    ),
    (
        {
            "messages": [
                {"content": []},
                {"content": [{"type": "image", "source": {"type": "base64", "data": "A" * 50}}]},
            ]
        },
        ErrorReply("", "messages.1.content.0.image.source.base64: image cannot be empty", ""),
        "A" * 50,
    ),
    (
        {"messages": [{"content": "hi"}]},
        ErrorReply("", "messages.0.content.4.image.source: image cannot be empty", ""),
        "",
    ),
    ({"messages": []}, ErrorReply("", "messages.9.content.9.image: image cannot be empty", ""), ""),
    (
        {"input": [{"content": [{"type": "input_text", "text": "A" * 9}]}]},
        ErrorReply("", "", "input[0].content[0].image_url"),
        "",
    ),
]


@pytest.mark.parametrize(("body", "told", "value"), BODIES)
def test_which_one_it_is(body: dict[str, object], told: ErrorReply, value: str) -> None:
    failure = classify_status(400, told, API)
    assert isinstance(failure, Failure)
    failure.point_at(body)
    assert isinstance(failure.error, MediaRefused)
    assert failure.error.value == value


@pytest.mark.parametrize("path", ["", "input", "input[0]", "[[", "input[0].content[0].x.y.z[9]", "messages.0"])
def test_paths_that_lead_nowhere(path: str) -> None:
    assert value_at({"input": [{"type": "message", "content": ["x"]}]}, path) == ""
