"""What a run takes to follow stays small: the story that design.md tells, the files it executes, and no extra."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.trunk import ROOT, code_lines, import_floors, measure

pytestmark = pytest.mark.anyio

MOST_FILES, MOST_LINES = 11, 4_000
"""Of the story from a POST to RUN_FINISHED."""

MOST_FLOORS = 7

MOST_LOADED = 12_000
"""Lines of code of the server that are loaded after a run."""


def test_the_story_of_a_run_is_told_by_few_files() -> None:
    text = (ROOT / "docs/design.md").read_text()
    story = text.partition('## Follow "hello" through the code')[2].partition("\n## ")[0]
    files = re.findall(r"^\| \d+ \| \[`[\w/.]+`\]\(\.\./(server/[\w/.]+)\)", story, re.MULTILINE)
    assert 0 < len(files) <= MOST_FILES
    assert sum(len((ROOT / name).read_text().splitlines()) for name in files) <= MOST_LINES


def test_imports_of_a_run_have_few_floors() -> None:
    floors = import_floors()
    assert len(floors) > 30
    assert {name: floor for name, floor in floors.items() if floor > MOST_FLOORS} == {}


@pytest.mark.parametrize(("gated", "most"), [(False, 62), (True, 80)], ids=["hello", "gated"])
async def test_a_run_executes_no_extra_and_few_files(gated: bool, most: int) -> None:
    """A bound is one file over what was counted. If it fell, lower it."""
    found = await measure(gated)
    assert found.extras == []
    assert len(found.executed) <= most, found.executed


def test_a_process_that_has_run_has_loaded_little() -> None:
    """In a process of its own: this one has loaded what other tests need."""
    command = [sys.executable, "-m", "tools.trunk"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120, text=True).stdout
    loaded = [int(lines.replace(",", "")) for lines in re.findall(r"([\d,]+) lines of code loaded", said)]
    assert len(loaded) == 2
    assert max(loaded) <= MOST_LOADED


def test_what_is_code_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Doc.\n\nMore.\n"""\n\nimport os\n\n# why\nX = (\n    1\n)\n\n\ndef f():\n    """It."""\n'
    )
    assert code_lines(tmp_path / "a.py") == 4
