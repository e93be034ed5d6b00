"""The sources of the CopilotKit page: what needs no browser."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stack import PAGE

COMPONENTS = sorted(path for path in (PAGE / "src" / "components").iterdir() if path.is_dir())
SOURCES = sorted(path for path in (PAGE / "src").rglob("*") if path.suffix in (".ts", ".tsx"))
IMPORT = re.compile(r'from "(\.[^"]+)"')


def test_types() -> None:
    node = shutil.which("node")
    assert node, "Node 20 or newer is needed"
    command = [node, "node_modules/typescript/bin/tsc", "--noEmit"]
    done = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


ALONE = """
import { readFileSync } from "node:fs";
import ts from "typescript";
async function alone(name) {
  const source = readFileSync(`src/components/confirm-card/${name}.ts`, "utf8").replace(/^import .*$/gm, "");
  const { outputText } = ts.transpileModule(source, { compilerOptions: { module: "esnext", target: "esnext" } });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}
"""
"""`alone(name)`: a module of the card, without what it imports."""


def in_node(script: str) -> Any:
    """What ``script`` prints, as JSON."""
    node = shutil.which("node")
    assert node, "Node 20 or newer is needed"
    command = [node, "--input-type=module", "--eval", ALONE + script]
    done = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


UNREAD = """
const { isUnread } = await alone("unread");
const call = { id: "c1", type: "function", function: { name: "refund", arguments: "{}" } };
const result = { id: "r1", role: "tool", toolCallId: "c1", content: "" };
const messages = [{ id: "a1", role: "assistant", toolCalls: [call] }, result];
const known = (record) => new Map([["c1", { call_id: "c1", decision: null, ...record }]]);
const told = (record, isBusy = false) => isUnread(messages, known(record), isBusy);
const undecided = ["expired", "cancelled", "pending"].map((state) => ({ state }));
const records = [{ state: "done", decision: { approved: true } }, ...undecided];
const claimed = { state: "claimed", decision: { approved: true } };
console.log(JSON.stringify([...records.map((record) => told(record)), told(claimed, true), told(claimed)]));
"""


def test_a_stop_is_nothing_that_the_assistant_has_to_read() -> None:
    """What was decided elsewhere, or expired, waits to be read; what was stopped, and what still waits, doesn't.

    What was approved does where nothing is at work on it any more.
    """
    assert in_node(UNREAD) == [True, True, False, False, False, True]


DEAD = """
import { mock } from "node:test";
mock.timers.enable({ apis: ["setTimeout"] });
const { ask } = await alone("ask");
const end = (signal, reject) => signal.addEventListener("abort", () => reject(signal.reason));
const untilAborted = (_, { signal }) => new Promise((_, reject) => end(signal, reject));
globalThis.fetch = untilAborted;
const asked = ask("http://localhost/", {}).catch(({ name }) => name);
mock.timers.tick(45_000);
const dead = await asked;
globalThis.fetch = async (_, { signal }) => ({ signal });
const { signal } = await ask("http://localhost/", {});
mock.timers.tick(45_000);
console.log(JSON.stringify([dead, signal.aborted]));
"""


def test_what_waits_for_an_answer_on_a_dead_connection_gives_up() -> None:
    """Else nothing would be looked at any more until the page is loaded anew; a long answer is read to its end."""
    assert in_node(DEAD) == ["AbortError", False]


@pytest.mark.parametrize("folder", COMPONENTS, ids=lambda path: path.name)
def test_a_component_can_be_copied(folder: Path) -> None:
    """It needs its own folder, and those that its README names; which also shows how it is used."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "```tsx" in readme
    outside = set()
    for source in folder.glob("*.ts*"):
        outside |= {name for name in IMPORT.findall(source.read_text(encoding="utf-8")) if name.startswith("..")}
    assert all(f"`{'/'.join(name.split('/')[:2])}/`" in readme for name in outside), outside


def test_modules_are_small() -> None:
    assert not [path.name for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 250]


def test_the_plain_page_uses_nothing_of_ours() -> None:
    source = (PAGE / "src" / "plain.tsx").read_text(encoding="utf-8")
    assert not IMPORT.findall(source)
    assert "confirm_changes" not in source


def test_versions_are_pinned_and_the_lock_names_no_address() -> None:
    for folder in (PAGE, PAGE / "runtime"):
        package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        versions = {**package["dependencies"], **package.get("devDependencies", {})}
        others = {name for name, version in versions.items() if not version[0].isdigit()}
        assert all(versions[name] == "file:../components" for name in others), others
        locked = (folder / "package-lock.json").read_text(encoding="utf-8")
        assert set(re.findall(r'"resolved": "(.*)"', locked)) <= {"../components"}
