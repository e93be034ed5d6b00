"""`agui-gate chat`: with pipes and with a terminal, against our own server and against others."""

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_gate import Agent, create_app
from agui_gate.cli.chat_session import Talk
from agui_gate.cli.terminal import prompts
from agui_gate.cli.terminal.run_printer import TextPrinter
from agui_gate.client import Client
from agui_gate.config.settings import Settings
from agui_gate_adapters.testkit.agui import serving
from tests.cli.support import PATIENT, Running, call, running
from tests.client.servers import refusal, run_of, scripted
from tests.interop.streams import FINISHED, STARTED, Event, sse, text
from tests.product.inprocess import Parrot

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@asynccontextmanager
async def shop(name: str = "agent") -> AsyncIterator[str]:
    """agui-gate with an agent of `cli_shop`, in this loop."""
    import cli_shop

    app = create_app(getattr(cli_shop, name), store="memory://", settings=Settings(disconnect_grace=60))
    async with serving(app) as url:
        yield url


async def chat(url: str, *options: str, said: str = "") -> "subprocess.CompletedProcess[str]":
    """The command with pipes."""
    return await asyncio.to_thread(call, Path(), "chat", url, *options, said=said)


async def typed(url: str, play: Callable[[Running], int], *options: str) -> tuple[int, str]:
    """The command on a terminal; the exit code that ``play`` comes to, and what was printed."""

    def run() -> tuple[int, str]:
        with running(Path(), "chat", url, *options, terminal=True, command=PATIENT) as process:
            code = play(process)
            assert "Traceback" not in process.text
            return code, process.text

    return await asyncio.to_thread(run)


def talk(*steps: tuple[str, str] | str) -> Callable[[Running], int]:
    """What a person does: waits for a text, and types another where there is one; then for the end."""

    def play(process: Running) -> int:
        for step in steps:
            seen, typed = (step, "") if isinstance(step, str) else step
            process.wait_for(seen)
            process.type(typed)
        return process.end()

    return play


def refunds() -> list[str]:
    return Path("refunds.txt").read_text().splitlines() if Path("refunds.txt").exists() else []


async def test_without_a_terminal_each_line_is_said_and_stdout_is_the_agents() -> None:
    async with shop() as url:
        done = await chat(url, said="hello\n\nthere\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "You said hello\nYou said there\n", "")


@pytest.mark.parametrize("cards", [(), ("--cards",)])
@pytest.mark.parametrize(("approve", "ran"), [("yes", ["A1 20"]), ("no", [])])
async def test_questions_without_a_terminal(approve: str, ran: list[str], cards: tuple[str, ...]) -> None:
    async with shop() as url:
        done = await chat(url, "-m", "refund 20", "--approve", approve, *cards)
        assert (done.returncode, refunds()) == (0, ran)
        assert '→ refund(order_id="A1", amount=20)' in done.stderr
        assert "← refund: " in done.stderr
        assert "confirm_changes" not in done.stderr
        assert done.stdout.startswith("Result: " + ("20 refunded" if ran else '{"status":"rejected"'))
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("cards", [(), ("--cards",)])
async def test_a_question_that_nobody_can_be_asked_stays_pending(cards: tuple[str, ...]) -> None:
    """Nobody is there to say yes, and none is said in their place."""
    async with shop() as url:
        done = await chat(url, "-m", "refund 20", "--thread", "t1", *cards)
        assert (done.returncode, refunds()) == (3, [])
        assert "Still pending: " in done.stderr
        assert f"Decide without one:   agui-gate chat {url} --thread t1 --approve yes" in done.stderr


async def test_events_as_json() -> None:
    async with shop() as url:
        done = await chat(url, "-m", "refund 20", "--approve", "yes", "--json", "--thread", "t7")
        kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
        assert kinds.count("RUN_STARTED") == 3  # it comes back to the thread first
        assert kinds[-1] == "RUN_FINISHED"
        assert done.stderr == ""


async def test_a_person_answers_edits_says_why_and_comes_back_later() -> None:
    play = talk(
        ("you: ", "refund 20\n"),
        "Refund 20 for A1",
        ("later: ", "e\n"),
        ("amount", "5\n"),
        "Result: 5 refunded",
        ("you: ", "refund 7\n"),
        ("later: ", "n\n"),
        ("reason", "not today\n"),
        "Result: .*not today",
        ("you: ", "refund 8\n"),
        ("later: ", "\x04"),
        ("you: ", "hello\n"),
        "Still pending: Refund 8 for A1",
        ("Cancel it", "n\n"),
        ("you: ", "/help\n"),
        "/ask",
        ("you: ", "/nonsense\n"),
        "There is no /nonsense",
        ("you: ", "\x04"),
        "Continue with: agui-gate chat .* --thread t1",
    )

    async with shop() as url:
        code, _ = await typed(url, play, "--thread", "t1")
        assert (code, refunds()) == (3, ["A1 5"])

        again = talk(
            "you: refund 8",
            "Refund 8 for A1",
            ("later: ", "y\n"),
            "Result: 8 refunded",
            ("you: ", "//x\n"),
            "You said /x",
            ("you: ", "/quit\n"),
        )

        code, _ = await typed(url, again, "--thread", "t1")
        assert (code, refunds()) == (0, ["A1 5", "A1 8"])


async def test_what_was_left_can_be_cancelled_for_something_else() -> None:
    play = talk(
        ("you: ", "refund 8\n"),
        ("later: ", "\x04"),
        ("you: ", "hello\n"),
        ("Cancel it", "y\n"),
        "You said hello",
        ("you: ", "\x04"),
    )

    async with shop() as url:
        code, _ = await typed(url, play)
        assert (code, refunds()) == (0, [])


async def test_ctrl_c_stops_the_run_and_the_conversation_goes_on() -> None:
    def play(process: Running) -> int:
        process.wait_for("you: ")
        process.type("wait\n")
        process.wait_for("Waiting")
        process.process.send_signal(signal.SIGINT)
        process.wait_for("stopping")
        process.wait_for("you: ")
        process.type("hello\n")
        process.wait_for("You said hello")
        process.wait_for("you: ")
        process.type("\x04")
        return process.end()

    async with shop() as url:
        code, said = await typed(url, play)
        assert code == 0
        assert "The run was stopped." in said
        assert "error" not in said  # that is what the person wanted


async def test_ctrl_c_stops_the_only_run_and_is_the_exit_code() -> None:
    """With -m the conversation doesn't go on. It was 0, so what a shell was to do next was done."""

    def play(process: Running) -> int:
        process.wait_for("Waiting")
        return process.stop(signal.SIGINT)

    async with shop() as url:
        code, said = await typed(url, play, "-m", "wait")
        assert (code, "The run was stopped." in said) == (130, True)


async def test_ctrl_c_at_the_prompt_leaves() -> None:
    def play(process: Running) -> int:
        process.wait_for("you: ")
        return process.stop(signal.SIGINT)

    async with shop() as url:
        assert (await typed(url, play))[0] == 130


async def test_a_second_ctrl_c_leaves() -> None:
    hold = asyncio.Event()

    async def deaf(request: Any) -> None:
        """The route that stops a run, and doesn't answer."""
        await hold.wait()

    async def endless() -> AsyncIterator[bytes]:
        yield sse(STARTED, *text("Hel")[:2]).encode()
        await hold.wait()

    def play(process: Running) -> int:
        process.wait_for("Hel")
        process.process.send_signal(signal.SIGINT)
        process.wait_for("stopping")
        return process.stop(signal.SIGINT)

    async with scripted(endless) as server:
        server.headers["agui-run-key"] = "run_x"
        server.cancels = deaf
        assert (await typed(server.url, play, "-m", "go"))[0] == 130
        hold.set()


async def test_two_at_once_leave_without_asking_it_to_stop() -> None:
    begun, hold, stops = asyncio.Event(), asyncio.Event(), []

    async def endless() -> AsyncIterator[bytes]:
        yield sse(STARTED).encode()
        begun.set()
        await hold.wait()

    async def stop(request: Any) -> None:
        stops.append(request)

    async with scripted(endless) as server, Client(server.url) as client:
        server.headers["agui-run-key"] = "run_x"
        server.cancels = stop
        work = asyncio.create_task(Talk(client.thread("t1"), "no", as_json=True).say("go"))
        await begun.wait()
        work.cancel()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        hold.set()
    assert stops == []


async def test_stopped_without_a_terminal() -> None:
    hold = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield sse(STARTED, *text("Hel")[:2]).encode()
        await hold.wait()

    def play(process: Running) -> int:
        process.wait_for("Hel")
        return process.stop(signal.SIGINT)

    def run(url: str) -> int:
        with running(Path(), "chat", url, "-m", "go") as process:
            return play(process)

    async with scripted(endless) as server:
        assert await asyncio.to_thread(run, server.url) == 130
        hold.set()


ERROR: Event = {"type": "RUN_ERROR", "message": "no\x1b[31m", "code": "x"}
FAILED: dict[str, tuple[Any, str]] = {
    "a run that fails": (sse(STARTED, ERROR), "error: no"),
    "a refusal": (
        refusal(500, error="SECRET"),
        "error: The agent refuses the request: HTTP status 500. (agent_refused)",
    ),
    "no stream": (refusal(200, page="SECRET"), "(agent_malformed)"),
    "half a stream": (sse(STARTED), "(agent_broken_off)"),
}


@pytest.mark.parametrize("name", FAILED)
async def test_a_failure_is_one_line_and_an_exit_code(name: str) -> None:
    reply, line = FAILED[name]
    async with scripted(reply) as server:
        done = await chat(server.url, "-m", "go")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("\n") == 1
        assert line in done.stderr
        assert "SECRET" not in done.stderr
        assert "\x1b" not in done.stderr


@pytest.mark.parametrize("value", [None, "text", {}, {"message": 5}, [1]])
async def test_a_server_that_sends_our_own_event_with_any_value_is_read_all_the_same(value: Any) -> None:
    strange = {"type": "CUSTOM", "name": "agui-gate:answer_refused", "value": value}
    async with scripted(sse(STARTED, strange, *text("hello"), FINISHED)) as server:
        done = await chat(server.url, "-m", "go")
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


STOPPED: Mapping[str, Any] = {"outcome": {"type": "cancelled"}}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"result": "done"}, ""),
        ({"result": [1]}, ""),
        ({"result": {"reason": 5}}, ""),
        ({"result": {"reason": "\x1b[2Jlong"}}, "⟦U+001B⟧[2Jlong"),
        ({**STOPPED, "metadata": {"agui-gate": "x"}}, "The run was stopped."),
        ({**STOPPED, "metadata": {"agui-gate": {"code": "c", "message": "no\x1b[2J more"}}}, "no⟦U+001B⟧[2J more (c)"),
    ],
)
def test_a_run_of_any_server_ends_with_anything(more: Mapping[str, Any], told: str, capsys: Any) -> None:
    TextPrinter().show(b"", {**FINISHED, **more})
    shown = capsys.readouterr().err
    assert told in shown
    assert bool(told) == bool(shown)
    assert "\x1b[2J" not in shown


def test_all_that_a_person_agrees_to_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """However long it is, and whatever hides in it or in its name."""
    monkeypatch.setattr(prompts, "read_line", lambda _: "y")
    arguments = {"script": f"{'x' * 5000}; rm -rf /", "a\x1b[2J": "1\u20280"}
    assert prompts.ask_about("Run it?", arguments, ()) == prompts.Decision(True)
    shown = capsys.readouterr().err
    assert 'x; rm -rf /"' in shown
    assert 'a⟦U+001B⟧[2J: "1⟦U+2028⟧0"' in shown


async def test_nobody_there() -> None:
    done = await chat("http://127.0.0.1:9/", "-m", "go")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing is listening at http://127.0.0.1:9. (agent_unreachable)" in done.stderr


@pytest.mark.parametrize(
    ("path", "status", "headers", "told"),
    [
        ("/elsewhere", 401, [], "The server requires a token (401). Add --header 'Authorization: Bearer TOKEN'."),
        (
            "/elsewhere",
            401,
            ["--header", "authorization: Bearer x"],
            "The server refuses this token (401). Check --header 'Authorization: …'.",
        ),
        ("/gate", 307, [], "{url}/gate redirects (307). Type: agui-gate chat {url}/gate/"),
        ("/gate/", 307, [], "{url}/gate/ redirects (307). Pass the address it redirects to."),
        (
            "/gate",
            404,
            [],
            "There is no AG-UI agent at {url}/gate (404). Try it with a slash at its end: agui-gate chat {url}/gate/",
        ),
        (
            "/gate/",
            405,
            [],
            "There is no AG-UI agent at {url}/gate/ (405). "
            "Check its path: it must be the address that accepts runs (POST).",
        ),
    ],
)
async def test_a_refusal_says_what_to_type(path: str, status: int, headers: list[str], told: str) -> None:
    async def refuse(request: Request) -> Response:
        return Response(status_code=status)

    async with serving(Starlette(routes=[Route(path, refuse, methods=["POST"])])) as url:
        done = await chat(f"{url}{path}", "-m", "go", *headers)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {told.format(url=url)} (agent_refused)\n"


@pytest.mark.parametrize("path", ["/agents/spport", "/nothing"])
async def test_an_agui_gate_names_its_agents_where_the_address_is_wrong(path: str) -> None:
    async with serving(create_app(Agent(name="support", model=Parrot()), store="memory://")) as url:
        done = await chat(f"{url}{path}", "-m", "go")
    assert done.returncode == 1
    assert f"(404). This server has support. Type: agui-gate chat {url}/agents/support (agent" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["ftp://x/", "-m", "go"],
        ["http://127.0.0.1:9/", "-m", " "],
        ["http://127.0.0.1:9/", "--header", "nonsense"],
        ["http://127.0.0.1:9/", "--thread", "a\nb"],
    ],
)
def test_wrong_use(arguments: list[str]) -> None:
    assert call(Path(), "chat", *arguments).returncode == 2


async def test_headers_go_along() -> None:
    async with scripted(run_of()) as server:
        await chat(server.url, "-m", "go", "--header", "X-Who: ann", "--header", "Authorization: Bearer x")
        assert (server.sent[0]["x-who"], server.sent[0]["authorization"]) == ("ann", "Bearer x")


async def test_who_speaks_and_one_after_the_other() -> None:
    """Two messages that come in pieces of one another are shown one after the other, each with its speaker."""
    first, second = text("from one", "m-1"), text("from two", "m-2")
    mixed = [
        e | {"subagentRunId": who}
        for pair in zip(first, second, strict=True)
        for e, who in zip(pair, "ab", strict=True)
    ]
    started = [{"type": "SUBAGENT_STARTED", "subagentRunId": who, "name": f"helper {who}\x1b"} for who in "ab"]
    ended = [{"type": "SUBAGENT_FINISHED", "subagentRunId": who} for who in "ab"]
    async with scripted(run_of(*started, *mixed, *ended, *text("all done", "m-3"))) as server:
        done = await chat(server.url, "-m", "go")
        assert done.stdout == "from one\nfrom two\nall done\n"
        assert "⇢ helper a" in done.stderr
        assert [line[:8] for line in done.stderr.splitlines()[2:]] == ["helper a", "helper b", "agent:"]
        assert "\x1b" not in done.stderr


async def test_a_question_that_is_no_yes_or_no() -> None:
    asks: Event = {"id": "i", "reason": "x:colour", "message": "Which?", "responseSchema": {"type": "object"}}
    asked = sse(STARTED, FINISHED | {"outcome": {"type": "interrupt", "interrupts": [asks]}})

    play = talk(
        "Which?",
        "Expected JSON",
        (r"later\): ", '{"colour": "blue"}\n'),
        "Blue it is",
    )

    async with scripted(asked, run_of(*text("Blue it is", "m-2")), asked) as server:
        assert (await typed(server.url, play, "-m", "go"))[0] == 0
        assert server.asked[1]["resume"][0]["payload"] == {"colour": "blue"}
        assert (await chat(server.url, "-m", "go", "--approve", "yes")).returncode == 3


async def test_a_server_that_keeps_no_threads() -> None:
    async with scripted(run_of(*text("Hi."))) as server:
        done = await chat(server.url, "-m", "go", "--thread", "t1")
        assert (done.returncode, done.stdout) == (0, "Hi.\n")
        assert "can't load earlier" in done.stderr
        assert server.asked[0]["threadId"] == "t1"


def test_the_spinner_shows_what_is_at_work_and_goes(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from agui_gate.cli.terminal import chat_printer
    from agui_gate.client import events

    monkeypatch.setattr(chat_printer, "moves_cursor", lambda: True)
    printer = chat_printer.ChatPrinter()
    now = 100.0
    printer.spinner = chat_printer.Spinner(lambda: now)
    printer.begin()
    printer.draw()
    assert capsys.readouterr().err == ""
    now += 1
    printer.draw()
    assert "waiting for the agent 1 s" in capsys.readouterr().err
    printer.print_event(events.ToolCallStart(tool_call_id="c", tool_call_name="refund"))
    now += 2
    printer.draw()
    assert "refund is working 3 s" in capsys.readouterr().err
    printer.print_event(events.TextMessageStart(message_id="m"))
    printer.print_event(events.TextMessageContent(message_id="m", delta="Hi"))
    now += 2
    printer.draw()
    told = capsys.readouterr()
    assert (told.out, told.err.strip(chat_printer.CLEAR)) == ("Hi", "")  # nothing is drawn into a line of words


async def test_who_can_not_approve_is_told_for_whom_it_waits() -> None:
    async with shop("finance") as url:
        done = await chat(url, "-m", "refund 20", "--thread", "t1")
        assert done.returncode == 3
        assert "Waits for finance: they decide at /inbox, or by `agui-gate approvals`." in done.stderr
        assert "--approve yes" not in done.stderr
