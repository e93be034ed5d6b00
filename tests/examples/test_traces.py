"""`examples/traces`: what its command sends to a receiver of OTLP, of an approval on two servers."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient
from tests.cli.support import running
from tests.examples.conftest import EXAMPLES
from tests.product.kit import client_of
from tests.product.shop import refund, script
from tests.requirements import shows
from tests.support.otlp import receiving

pytestmark = [pytest.mark.anyio, shows("K1")]

PROGRAMS = Path(sys.executable).parent
COMMAND = [str(PROGRAMS / "opentelemetry-instrument"), str(PROGRAMS / "agui-gate")]
CONTENT = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"} | {
    f"gen_ai.tool.call.{what}" for what in ("arguments", "result")
}


def variables(name: str, origin: str) -> tuple[dict[str, str], str]:
    """The variables of an example's file, with the receiver at ``origin``; and the path that it is to be under."""
    lines = (EXAMPLES / "traces" / name).read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    path = urlsplit(found["OTEL_EXPORTER_OTLP_ENDPOINT"]).path
    return found | {"OTEL_EXPORTER_OTLP_ENDPOINT": origin + path}, path


@asynccontextmanager
async def served(cwd: Path, env: dict[str, str]) -> AsyncIterator[str]:
    """The example's server, without content; it ends as a process manager ends it."""
    with running(cwd, "serve", "redacted:agent", "--port", "0", env=env, command=COMMAND) as server:
        url = await asyncio.to_thread(lambda: server.wait_for(r"is up at (http://127\.0\.0\.1:\d+)\n")[1])
        yield url
        code = await asyncio.to_thread(server.stop, signal.SIGTERM)
        assert code == 0, server.text


async def test_a_receiver_gets_a_whole_approval_and_nothing_of_what_was_said(tmp_path: Path) -> None:
    """Asked on one server, decided on another: each span hangs where it belongs, the decision names the question."""
    _, base = variables("langfuse.env", "")
    with receiving(base) as (receiver, origin):
        async with serve(Emulator(script=script(refund("PLANTED-order")))) as provider, client_of() as client:
            env, _ = variables("langfuse.env", origin)
            env |= {"OPENAI_BASE_URL": provider, "OPENAI_API_KEY": "k", "PYTHONPATH": str(EXAMPLES / "traces")}
            env |= {"AGUI_GATE_TOKENS": "PLANTED-ada:t-ada", "AGUI_GATE_LOG_LEVEL": "error"}
            async with served(tmp_path, env) as url:
                chat = AGUIClient(client, url, headers={"authorization": "Bearer t-ada"})
                (ask,) = (await chat.say("PLANTED-text")).interrupts
            async with served(tmp_path, env) as url:
                answer = {"approved": True, "continue": True, "reason": "PLANTED-reason"}
                address, headers = f"{url}/approvals/{ask['id']}", {"authorization": "Bearer t-ada"}
                decided = await client.post(address, json=answer, headers=headers)
                assert decided.json()["state"] == "done"
    assert receiver.refused == []
    heads = {(one["authorization"], one["x-langfuse-ingestion-version"]) for one in receiver.headers}
    assert heads == {("Basic AUTH", "4")}
    assert {(span.service, span.schema) for span in receiver.spans} == {
        ("support", "https://opentelemetry.io/schemas/1.44.0")
    }
    assert b"PLANTED" not in receiver.raw
    run, went_on = sorted(
        (one for one in receiver.spans if one.name == "invoke_agent support"),
        key=lambda one: one.span.end_time_unix_nano,
    )
    asked, answered = (one for one in receiver.spans if one.name == "chat gpt-5.4-mini")
    decision, ran = receiver.named("agui_gate.decide"), receiver.named("execute_tool refund")
    assert (asked.parent, answered.parent, ran.parent) == (run.id, went_on.id, decision.id)
    assert [(link.trace_id, link.span_id) for link in decision.span.links] == [(run.trace, run.id)]
    assert (run.parent, decision.parent) == (b"", b""), "no client named a trace"
    assert len(receiver.spans) == 6
    used = {name for one in receiver.spans for name in one.attributes}
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in used if name.startswith("gen_ai.")} <= known - CONTENT
    assert asked.attributes["gen_ai.usage.input_tokens"] == int(str(asked.attributes["gen_ai.usage.input_tokens"])) > 0
    assert [one.attributes["agui_gate.run.outcome"] for one in (run, went_on)] == ["waiting", "finished"]
