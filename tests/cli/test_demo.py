"""`demo`, `emulator` and the example, with the emulator as provider: real processes, real sockets, no key."""

import asyncio
import json
import signal
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_gate.cli.demo.application import announce_other_page
from agui_gate.cli.server.uvicorn_server import bind_near
from agui_gate.errors import ConfigurationError
from tests.cli.conftest import Cli
from tests.cli.support import call, running

EXAMPLES = Path(__file__).parents[2] / "examples"
URL = r"http://127\.0\.0\.1:\d+"


def test_the_demo_from_question_to_refund(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with running(tmp_path, "demo", "--port", "0", env={"TMPDIR": str(scratch), "AGUI_GATE_TOKENS": "a:b"}) as demo:
        url = demo.wait_for(f"is up at ({URL})\n")[1]
        demo.wait_for("Ctrl-C")
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            assert "<html" in client.get("/").text
            message = {"id": "m1", "role": "user", "content": "Find Anna's orders and refund the first one"}
            body: dict[str, Any] = {"threadId": "t1", "runId": "r1", "messages": [message]}
            events = _events(client.post("/", json=body).text)
            (interrupt,) = events[-1]["outcome"]["interrupts"]
            assert interrupt["message"] == "Refund 249 € for order 1001?"
            resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
            events = _events(client.post("/", json={**body, "runId": "r2", "resume": resume}).text)
            assert events[-1]["type"] == "RUN_FINISHED"
            result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
            assert json.loads(result["content"]) == {
                "order_id": "1001",
                "refunded": 249.0,
                "left_to_refund": 0.0,
                "status": "refunded",
            }
            message = {"id": "m1", "role": "user", "content": "Ask the clerk to refund order 1003"}
            events = _events(
                client.post("/agents/front_desk", json=body | {"threadId": "t2", "messages": [message]}).text
            )
            (interrupt,) = events[-1]["outcome"]["interrupts"]
            assert interrupt["message"] == "clerk asks: Refund 64.90 € for order 1003?"
        assert list(scratch.iterdir()) != []
        code = demo.stop(signal.SIGINT)
    assert code == 0
    assert list(scratch.iterdir()) == []
    assert "Traceback" not in demo.text
    assert list(tmp_path.iterdir()) == [scratch]


@pytest.mark.anyio
async def test_the_demo_says_when_the_other_page_is_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is built while the demo serves already; where there is no checkout, there is none."""
    built = tmp_path / "frontend-demo" / "dist"
    await announce_other_page("http://x", built)
    assert capsys.readouterr().out == ""
    built.mkdir(parents=True)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        told = group.create_task(announce_other_page("http://x", built, every=0))
        await asyncio.sleep(0)
        assert not told.done()
        (built / "index.html").touch()
    assert "is ready: http://x/copilot/" in capsys.readouterr().out


def test_a_taken_port_is_passed_over_unless_it_was_asked_for(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with bind_near("127.0.0.1", port) as found:
            assert port < found.getsockname()[1] < port + 20
        with pytest.raises(ConfigurationError, match="are all taken"):
            bind_near("127.0.0.1", port, tries=1)
        result = cli("demo", "--port", str(port))
    assert result.exit_code == 2
    assert "is taken by another program" in result.stderr


def test_the_emulator_says_what_it_understands(tmp_path: Path) -> None:
    with running(tmp_path, "emulator", "--port", "0") as emulator:
        emulator.wait_for("Ctrl-C")
        assert "  refund: Refund 20 euros of order 1003\n" in emulator.text
        assert emulator.stop(signal.SIGTERM) == 0


def test_the_emulator_serves_a_script_and_the_example_runs_on_it(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    turns = [
        {"output": [{"type": "function_call", "name": "refund", "arguments": {"order_id": "A1", "amount": 20}}]},
        {"output": [{"type": "message", "text": "Refunded."}]},
    ]
    script.write_text(json.dumps(turns))
    with running(tmp_path, "emulator", "--port", "0", "--script", "script.json") as emulator:
        url = emulator.wait_for(f"is up at ({URL}/v1)\n")[1]
        emulator.wait_for("Ctrl-C")
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "any", "PYTHONPATH": str(EXAMPLES)}
        done = call(tmp_path, "run", "support:agent", "-m", "Refund A1", "--approve", "yes", env=env)
        assert (done.returncode, done.stdout) == (0, "Refunded.\n"), done.stderr
        assert '← refund: {"order_id":"A1","refunded":20.0,"approved_by":"local"}' in done.stderr
        code = emulator.stop(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in emulator.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "The script script.json can't be read: No such file or directory."),
        ("nonsense", "script.json can't be played: not a script"),
        ('[{"output": [{"type": "song"}]}]', "script.json can't be played: turn 0: unknown output type 'song'"),
    ],
)
def test_a_script_that_cannot_be_played(cli: Cli, content: str | None, message: str) -> None:
    if content is not None:
        Path("script.json").write_text(content)
    result = cli("emulator", "--script", "script.json", "--port", "0")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("option", "known"), [("--chat", "azure, bare, dashscope"), ("--anthropic", "anthropic, older")]
)
def test_an_emulator_of_an_unknown_server(cli: Cli, option: str, known: str) -> None:
    result = cli("emulator", option, "gpt", "--port", "0")
    assert result.exit_code == 2
    assert f"'gpt' is not one of {known}" in result.stderr


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
