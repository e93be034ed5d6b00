"""The runbook's commands are there, take what they are given, and do what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from agui_gate.cli.program import program
from tests.extras.test_operations import prepare

PAGE = Path(__file__).parents[2] / "docs/runbook.md"
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("agui-gate ")
]
VALUES = {"APPROVAL": "apr_unknown", "THREAD": "t", "RUN": "run_x", "OWNER": "alice"}
REFUSED = {"stop": "Nothing is at work"}
"""What can't be done on a store on which nothing runs."""


def test_each_case_of_the_page_has_a_section() -> None:
    text = PAGE.read_text()
    listed = re.findall(r"^- \[(.+?)\]\(#", text, re.MULTILINE)
    assert listed == re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert len(listed) == 12
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("line", list(dict.fromkeys(COMMANDS)))
def test_a_command_of_the_page_does_what_it_says(line: str, tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    prepare(place)
    (tmp_path / "log").write_text("timestamp=1 level=info event=decided by=alice\n")
    values = {**VALUES, "BUNDLE": str(tmp_path / "bundle.json"), "LOGFILE": str(tmp_path / "log")}
    words = [values.get(word, word) for word in shlex.split(line)[1:]]
    if words[:2] == ["ops", "freeze"] and "--lift" in words:
        CliRunner().invoke(program, ["ops", "freeze", "--reason", "x", "--store", f"sqlite:///{place}"])
    told = CliRunner().invoke(program, [*words, "--store", f"sqlite:///{place}"], env={"AGUI_GATE_URL": ""})
    if (refusal := REFUSED.get(words[1] if len(words) > 1 else "")) is not None:
        assert (told.exit_code, refusal in told.output) == (1, True), told.output
    else:
        assert told.exit_code == 0, told.output
