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


HIDDEN = [
    ("1\u200d0", "1⟦U+200D⟧0"),
    ("1\ufe0f0", "1⟦U+FE0F⟧0"),
    ("😀\ufe0f\ufe0e", "😀\ufe0f⟦U+FE0E⟧"),
    ("😀\u200d1", "😀⟦U+200D⟧1"),
    ("a\u2800b", "a⟦U+2800⟧b"),
    ("👩‍👩‍👧‍👦 ❤️ 👍🏽 1️⃣ #️⃣ 🏳️‍🌈 🧑🏽‍⚕️", "👩‍👩‍👧‍👦 ❤️ 👍🏽 1️⃣ #️⃣ 🏳️‍🌈 🧑🏽‍⚕️"),
]


def test_what_cannot_be_seen_in_a_number_or_behind_an_emoji_is_shown() -> None:
    """Joiners and variants are left alone only where they are how an emoji is written."""
    script = 'const { reveal } = await alone("invisible");\n'
    texts = json.dumps([text for text, _ in HIDDEN])
    assert in_node(f"{script}console.log(JSON.stringify({texts}.map(reveal)));") == [shown for _, shown in HIDDEN]


def test_names_that_would_read_alike_or_like_nothing_are_shown_as_they_are() -> None:
    """`is_admin` and `isAdmin` are two arguments."""
    names = json.dumps(["order_id", "isAdmin", "is_admin", "", " ", "__"])
    script = 'const { labelsOf } = await alone("values");\n'
    labels = in_node(f"{script}console.log(JSON.stringify([...labelsOf({names}).values()]));")
    assert labels == ["Order id", "isAdmin", "is_admin", "“”", "“ ”", "__"]


NOTHING = {
    "null": "None",
    '""': "Empty",
    "[]": "Empty list",
    "{}": "Empty object",
    "0": None,
    "false": None,
    "[[]]": None,
}


def test_an_empty_list_is_not_told_as_no_list() -> None:
    script = 'const { emptiness } = await alone("values");\n'
    told = in_node(f"{script}console.log(JSON.stringify([{', '.join(NOTHING)}].map(emptiness)));")
    assert told == list(NOTHING.values())


QUOTED = {
    "1": '"1"',
    " -2.5e3 ": '" -2.5e3 "',
    "true": '"true"',
    "Yes": '"Yes"',
    "null": '"null"',
    "None": '"None"',
    "Empty list": '"Empty list"',
    " ": '" "',
    '"1"': r'"\"1\""',
    "1003 €": "1003 €",
    "2026-11-23": "2026-11-23",
    "noon": "noon",
    "[]": "[]",
    "9007199254740993": "9007199254740993",
}


def test_text_that_reads_as_something_else_is_in_quotes() -> None:
    script = 'const { showValue } = await alone("values");\n'
    values = json.dumps([*QUOTED, 1, True, None])
    shown = in_node(f"{script}console.log(JSON.stringify({values}.map(showValue)));")
    assert shown == [*QUOTED.values(), "1", "true", "null"]


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


FIELDS = """
const { editedSchema } = await alone("fields");
const amount = { properties: { amount: { type: "number" } } };
const answers = [
  editedSchema({ properties: { approved: {}, editedArgs: amount } }, ["amount"]),
  editedSchema({ properties: { approved: {} } }, ["answer"]),
  editedSchema({ type: "object", properties: { name: {} } }, ["answer"]),
  editedSchema({ type: "object", properties: { name: {} } }, []),
  editedSchema(undefined, ["answer"]),
];
console.log(JSON.stringify(answers.map((one) => one ?? null)));
"""


def test_an_open_question_takes_what_it_asks_for() -> None:
    """The answer to a remote's question is typed as what its schema wants: JSON where that is an object."""
    question = {"properties": {"answer": {"type": "object", "properties": {"name": {}}}}}
    amount = {"properties": {"amount": {"type": "number"}}}
    assert in_node(FIELDS) == [amount, None, question, None, {"properties": {"answer": {}}}]


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
        assert not [name for name, version in versions.items() if not version[0].isdigit()]
        assert '"resolved"' not in (folder / "package-lock.json").read_text(encoding="utf-8")
