"""What the README and docs/ show is what happens: their Python runs, and their transcripts are the demo's events."""

import ast
import inspect
import json
import re
import shlex
import tomllib
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import pytest

import agui_gate
from agui_gate import Agent
from agui_gate.cli.demo import agent as demo_agent
from agui_gate.cli.program import program
from agui_gate.config.setting_values import READERS
from agui_gate.config.settings import Settings
from agui_gate.config.sources import CLIENT_NAMES
from agui_gate_adapters.testkit import Emulator
from tests.e2e import picture
from tests.product.inprocess import Parrot
from tests.product.kit import Stream, product

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent
PAGES = "\n".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
)


def blocks(language: str) -> list[str]:
    """The code blocks in one language, the README's first."""
    return re.findall(rf"```{language}\n(.*?)```", PAGES, re.DOTALL)


def shown(block: str) -> list[str]:
    """Event types of a transcript."""
    return re.findall(r'"type":"([A-Z_]+)"', block)


def happened(stream: Stream) -> list[str]:
    """Event types of a run, with repeats left out as the README leaves them out."""
    return [kind for kind, _ in groupby(stream.types())]


def test_the_moving_picture_is_whole_and_small() -> None:
    """Each chunk has its checksum, and there are as many frames as it says."""
    png = picture.PICTURE.read_bytes()
    assert len(png) <= picture.MOST_BYTES
    found = list(picture.chunks(png))
    made = picture.SIGNATURE + b"".join(picture.chunk(kind, data) for kind, data in found)
    assert made == png
    (frames,) = {int.from_bytes(data[:4], "big") for kind, data in found if kind == b"acTL"}
    assert frames == sum(kind == b"fcTL" for kind, _ in found) > 4
    assert f"docs/{picture.PICTURE.name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_python_block_makes_an_application(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "support"}
    exec(compile(blocks("python")[0], "README.md", "exec"), space)
    assert next(route.path for route in space["app"].routes) == "/"
    assert [tool.name for tool in space["agent"].tools] == ["search_orders", "refund"]


def test_the_first_steps_make_an_application(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "shop"}
    exec(compile(next(block for block in blocks("python") if 'name="shop"' in block), "start.md", "exec"), space)
    assert [tool.name for tool in space["agent"].tools] == ["search_orders", "refund"]


def test_the_block_about_tests_is_a_test_that_passes() -> None:
    exec(compile(next(block for block in blocks("python") if "test_a_payment" in block), "how-to.md", "exec"), {})


def test_the_block_about_content_of_traces_makes_an_application() -> None:
    block = next(block for block in blocks("python") if "SpanContent(redact)" in block)
    space: dict[str, Any] = {"agent": Agent(name="a", model=Parrot()), "mask_cards": lambda value: "***"}
    exec(compile(block, "traces.md", "exec"), space)
    assert [space["redact"](kind, "4111 1111") for kind in ("input", "result")] == ["***", None]


def test_the_block_about_mcp_makes_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    space: dict[str, Any] = {}
    exec(compile(next(block for block in blocks("python") if "MCPTools" in block), "README.md", "exec"), space)
    assert [source.name for source in space["agent"].sources] == ["docs", "files"]


def test_the_block_about_hosted_tools_makes_a_model() -> None:
    space: dict[str, Any] = {}
    exec(compile(next(block for block in blocks("python") if "hosted_tools" in block), "README.md", "exec"), space)
    assert space["model"].origin.endswith(":gpt-5.4-mini")


def test_the_block_about_models_makes_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    block = next(block for block in blocks("python") if "AnthropicMessages" in block)
    space: dict[str, Any] = {"made": []}
    exec(
        compile(
            re.sub("^Agent(.*?)(  #.*)?$", r"made.append(Agent\1)", block, flags=re.MULTILINE), "README.md", "exec"
        ),
        space,
    )
    origins = [agent.adapter.origin for agent in space["made"]]
    assert origins == [
        "anthropic-messages:api.anthropic.com:claude-sonnet-4-5",
        "openai-chat:127.0.0.1:11434:qwen3",
        "anthropic-messages:api.anthropic.com:claude-sonnet-4-5",
    ]


def test_every_block_of_python_names_what_there_is() -> None:
    """Also those that are parts of a program, so that nothing runs them: modules, their names, and arguments."""
    promised = {name: getattr(agui_gate, name) for name in agui_gate.__all__}
    found = [
        wrong
        for block in blocks("python")
        for node in ast.walk(compile(_whole(block), "docs", "exec", _TREE))
        for wrong in _missing(node, promised)
    ]
    assert found == []
    wrong = _whole("from agui_gate import Agent, Nothing\n\nAgent(nam='a')\n")
    tree = compile(wrong, "docs", "exec", _TREE)
    assert [each for node in ast.walk(tree) for each in _missing(node, promised)] == [
        "agui_gate.Nothing",
        "Agent(nam=)",
    ]


_TREE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _whole(block: str) -> str:
    """A block with what it leaves out."""
    last = block.splitlines()[-1]
    return block.replace("…", "...") + ("def f(): ...\n" if last.startswith("@") else "")


def _missing(node: ast.AST, promised: dict[str, Any]) -> list[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agui_gate"):
        module = import_module(str(node.module))
        return [f"{node.module}.{one.name}" for one in node.names if not hasattr(module, one.name)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and callable(promised.get(node.func.id)):
        takes = inspect.signature(promised[node.func.id]).parameters
        if any(one.kind == one.VAR_KEYWORD for one in takes.values()):
            return []
        return [f"{node.func.id}({one.arg}=)" for one in node.keywords if one.arg and one.arg not in takes]
    return []


def test_every_setting_and_every_piece_of_data_on_the_pages_is_one() -> None:
    known = {f"AGUI_GATE_{name.upper()}{more}" for name in (*READERS, *CLIENT_NAMES) for more in ("", "_FILE")}
    named = {name.rstrip("_") for name in re.findall(r"\bAGUI_GATE_[A-Z_]+", PAGES)}
    groups = {name for name in named - known if any(one.startswith(f"{name}_") for one in known)}
    assert named - known - groups == {"AGUI_GATE_SERVICE_HOST"}, "that one is Kubernetes' own"
    assert len(named & known) > 50
    for block in blocks("json"):
        for line in block.splitlines() if block.count("\n{") else [block]:
            json.loads(line)
    for block in blocks("toml"):
        tomllib.loads(block)


@pytest.mark.parametrize("line", re.findall(r"^agui-gate (.*?)(?:  #.*)?$", "\n".join(blocks("sh")), re.MULTILINE))
def test_the_commands_have_these_options(line: str) -> None:
    name, *arguments = shlex.split(line.partition(" > ")[0])
    command = program.get_command(click.Context(program), name)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.get_command(click.Context(command), name)
    assert command is not None
    assert command.make_context(name, arguments, resilient_parsing=False).params is not None


async def test_the_transcripts_are_the_demos_events() -> None:
    asked, answered = blocks("console")
    agent = demo_agent.support_agent(Parrot())
    async with product(agent.tools, emulator=Emulator(), settings=Settings(), instructions=agent.instructions) as p:
        chat = p.chat(thread_id="t1")
        first = await chat.say("Refund 20 euros of order 1003")
        assert shown(asked) == happened(first)
        (interrupt,) = first.interrupts
        second = await chat.resume((interrupt["id"], {"approved": True}))
        assert shown(answered) == happened(second)
        content = next(iter(second.results.values()))
        assert content.replace('"', '\\"') in answered


async def test_the_block_about_the_client_gets_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {"__name__": "client"}
    exec(compile(next(block for block in blocks("python") if "agui_gate.client" in block), "client.md", "exec"), space)
    agent = demo_agent.support_agent(Parrot())
    async with product(agent.tools, emulator=Emulator(), settings=Settings(), instructions=agent.instructions) as p:
        assert await space["main"](p.url)
    said = capsys.readouterr().out
    assert "TextMessageContent\n" in said
    assert "order 1003? {'order_id': '1003'" in said


def test_the_block_about_remote_agents_makes_an_application() -> None:
    space: dict[str, Any] = {}
    exec(
        compile(next(block for block in blocks("python") if "RemoteAgent" in block), "remote-agents.md", "exec"), space
    )
    assert [tool.name for tool in space["expert"].tools] == ["send_email"]
