"""The emulator before somebody else's checker (T23): `llm-comply`, with the public schemas in it.

It asks a server as its own users would and holds each answer against the schema. Then the same schemas are held against
every event of streams that it doesn't ask for: reasoning, calls, refusals, and answers that end badly.
"""

import functools
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import jsonschema
import llm_comply
import pytest
import referencing
import referencing.jsonschema
from llm_comply.schema import SSE_EVENT_TO_SCHEMA

from agui_gate_adapters.testkit import Emulator, serve
from tests.requirements import shows
from tests.testkit import anthropic_driving as messages
from tests.testkit import driving as responses

pytestmark = [pytest.mark.anyio, shows("T23")]

Json = dict[str, Any]
SPECS = Path(llm_comply.__file__).parent / "specs"
RUN = "import sys; from llm_comply.cli import main; sys.exit(main())"
ANTHROPIC = ["--auth-header", "x-api-key", "--no-bearer", "-H", "anthropic-version:2023-06-01"]
ASKED = {
    "open-responses": ("gpt-5.4-mini", [], 13),
    "anthropic": ("claude-haiku-4-5", ANTHROPIC, 9),
    # It sends `reasoning` to Chat Completions too, which OpenAI refuses, and so does the emulator.
    "openai-chat": ("gpt-5.4-mini", ["--ignore", "chat-reasoning-summary"], 9),
}


@pytest.mark.parametrize("form", ASKED)
async def test_every_answer_is_as_the_public_schema_has_it(form: str) -> None:
    model, options, number = ASKED[form]
    async with serve(Emulator()) as url:
        said = await anyio.to_thread.run_sync(_comply, ["--format", form, "-u", url, "-k", "k", "-m", model, *options])
    assert said["summary"]["total"] == number
    refused = [test for test in said["results"] if test["status"] == "failed"]
    expected = {"openai-chat": ["chat-reasoning-summary"]}.get(form, [])
    assert [test["id"] for test in refused] == expected, refused


def _comply(arguments: list[str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments, "--json"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


# --- events -------------------------------------------------------------------------------------------------------

CALL: Json = {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}}
SAY: Json = {"type": "message", "text": "Hello there."}
THINK: Json = {"type": "reasoning", "summary": ["One.", "Two."]}
AT = {"start_index": 0, "end_index": 5}
TURNS: dict[str, Json] = {
    "text": {"output": [SAY]},
    "reasoning and calls": {"output": [THINK, SAY, CALL, CALL]},
    "refusal": {"output": [{"type": "refusal", "text": "No."}]},
    "cited": {
        "output": [{**SAY, "annotations": [{"type": "url_citation", "url": "https://x.example", "title": "X", **AT}]}],
    },
    "incomplete": {"output": [SAY], "status": "incomplete"},
    "failed": {"output": [SAY], "status": "failed"},
}
TOOLS: list[Json] = [{"type": "function", "name": "refund", "parameters": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize("kind", TURNS)
def test_every_event_of_a_response_is_as_the_public_schema_has_it(kind: str) -> None:
    exchange = responses.post(
        Emulator([TURNS[kind]]), tools=TOOLS, stream=True, include=["reasoning.encrypted_content"]
    )
    told = list(exchange.events())  # type: ignore[union-attr]
    known = [(SSE_EVENT_TO_SCHEMA[event["type"]], event) for event in told if event["type"] in SSE_EVENT_TO_SCHEMA]
    assert len(known) >= 4
    assert list(_problems("openresponses", known)) == []


EVENTS = {
    "message_start": "MessageStartEvent",
    "content_block_start": "ContentBlockStartEvent",
    "content_block_delta": "ContentBlockDeltaEvent",
    "content_block_stop": "ContentBlockStopEvent",
    "message_delta": "MessageDeltaEvent",
    "message_stop": "MessageStopEvent",
}
SEARCHED: Json = {
    "type": "web_search_call",
    "action": {"query": "x"},
    "results": [{"url": "https://x.example", "title": "X"}],
}


@pytest.mark.parametrize("kind", [*TURNS, "searched"])
def test_every_event_of_a_message_is_as_the_public_schema_has_it(kind: str) -> None:
    turn = TURNS.get(kind) or {"output": [SEARCHED, SAY]}
    body = {**messages.THINK, "tools": [messages.TOOL, {"type": "web_search_20250305", "name": "web_search"}]}
    told = messages.events(Emulator([turn]), messages.user("go"), **body)
    known = [(EVENTS[event["type"]], event) for event in told if event["type"] in EVENTS]
    assert len(known) >= 4
    assert list(_problems("anthropic", known)) == []
    if kind != "failed":
        whole = messages.reply(Emulator([turn]), messages.user("go"), **body)
        assert list(_problems("anthropic", [("Message", whole)])) == []


def _problems(spec: str, known: Iterable[tuple[str, Json]]) -> Iterator[str]:
    for schema, value in known:
        for error in _validator(spec, schema).iter_errors(value):
            yield f"{schema} {error.json_path}: {error.message[:300]}"


@functools.cache
def _validator(spec: str, schema: str) -> jsonschema.Draft202012Validator:
    document = json.loads((SPECS / f"{spec}.json").read_bytes())
    resource: Any = referencing.jsonschema.DRAFT202012.create_resource(document)
    registry: Any = referencing.Registry().with_resource("spec", resource)
    return jsonschema.Draft202012Validator({"$ref": f"spec#/components/schemas/{schema}"}, registry=registry)
