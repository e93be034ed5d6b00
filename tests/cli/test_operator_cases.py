"""Cases of the runbook against a real server, from what somebody sees to what ends it, with the page's own commands."""

import re
import signal
import threading
from pathlib import Path

import httpx2
from click.testing import CliRunner

from agui_gate.cli.program import program
from tests.cli.support import running

TARGET = """
import asyncio
from agui_gate import Agent, tool
from cli_shop import RuleModel

@tool(gate=True)
async def refund(order_id: str, amount: float) -> str:
    "Refund an order."
    print("tool at work", flush=True)
    await asyncio.Event().wait()

agent = Agent(name="shop", model=RuleModel(), tools=[refund])
"""


def test_what_hangs_leaks_or_costs_is_found_and_ended_on_a_running_server(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(TARGET)
    tokens = tmp_path / "tokens"
    tokens.write_text("ann:token-of-ann-1\nbob:token-of-bob-1\n")
    tokens.chmod(0o600)
    store = ("--store", f"sqlite:///{tmp_path}/shop.db")
    env = {"AGUI_GATE_TOKENS_FILE": str(tokens), "AGUI_GATE_LIMITS": "principal:runs=1"}

    def ops(*words: str) -> str:
        done = CliRunner().invoke(program, ["ops", *words, *store], env={"AGUI_GATE_URL": ""})
        assert done.exit_code == 0, done.output
        return done.output

    with running(tmp_path, "serve", "shop:agent", "--port", "0", *store, env=env) as server:
        url = server.wait_for(r"(http://127\.0\.0\.1:\d+)\n")[1]
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:

            def post(who: str, path: str, **body: object) -> httpx2.Response:
                return client.post(path, json=body, headers={"authorization": f"Bearer token-of-{who}"})

            def say(text: str, thread: str, who: str = "ann-1") -> httpx2.Response:
                said = {"id": f"m-{text}", "role": "user", "content": text}
                return post(who, "/", threadId=thread, runId=f"r-{text}", messages=[said])

            def ask(thread: str) -> str:
                found = re.search(r"apr_\w+", say("refund 20", thread).text)
                assert found
                return found[0]

            # stop all money now
            asked = ask("t1")
            ops("freeze", "--reason", "Payments are being checked")
            refused = post("ann-1", f"/approvals/{asked}", approved=True)
            assert (refused.status_code, "Payments are being checked" in refused.text) == (403, True)
            ops("freeze", "--lift")

            # a call is being carried out for ever, then unknown
            deciding = threading.Thread(target=post, args=("ann-1", f"/approvals/{asked}"), kwargs={"approved": True})
            deciding.start()
            server.wait_for("tool at work")
            assert asked in ops("approvals", "--state", "claimed")
            assert asked in ops("stop", "t1", "--reason", "The tool hangs")
            deciding.join()
            assert asked in ops("approvals", "--state", "unknown")
            ops("settle", asked, "--done", "--result", "Refund R-17 was made", "--reason", "Seen in the ledger")
            assert asked not in ops("approvals", "--state", "unknown")
            assert "Refund R-17 was made" in ops("show", asked)

            # a thread doesn't answer, and as a limit holds, neither does another one
            wait = {"threadId": "t2", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "wait"}]}
            bearer = {"authorization": "Bearer token-of-ann-1"}
            with client.stream("POST", "/", json=wait, headers=bearer) as hanging:
                lines = hanging.iter_lines()
                assert next(line for line in lines if "Waiting" in line)
                assert re.search(r"running.*t2|t2.*running", ops("runs"))
                limited = say("hello", "t3")
                assert (limited.status_code, "rate_limited" in limited.text) == (429, True)
                ops("stop", "t2", "--reason", "Nothing was saved for an hour")
                assert list(lines), "it ends"
            assert "You said hello" in say("hello", "t3").text

            # a token has leaked
            tokens.write_text("ann:token-of-ann-2\nbob:token-of-bob-1\n")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("event=settings_read changed=tokens")
            assert say("hello", "t4").status_code == 401
            assert "You said hello" in say("hello", "t4", "ann-2").text
            assert "t3" in ops("threads", "--owner", "ann")
        assert server.stop(signal.SIGTERM) == 0
