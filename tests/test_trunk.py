"""What a run takes to follow stays small: the story that design.md tells, the files it executes, and no extra."""

import re
from pathlib import Path

import pytest

from tools.trunk import ROOT, code_lines, import_floors, measure

pytestmark = pytest.mark.anyio

MOST_FILES, MOST_LINES = 12, 4_000
"""Of the story from a POST to RUN_FINISHED."""

MOST_FLOORS = 7


def test_the_story_of_a_run_is_told_by_twelve_files() -> None:
    text = (ROOT / "docs/design.md").read_text()
    story = text.partition('## Follow "hello" through the code')[2].partition("\n## ")[0]
    files = re.findall(r"^\| \d+ \| \[`[\w/.]+`\]\(\.\./(server/[\w/.]+)\)", story, re.MULTILINE)
    assert 0 < len(files) <= MOST_FILES
    assert sum(len((ROOT / name).read_text().splitlines()) for name in files) <= MOST_LINES


def test_imports_of_a_run_have_few_floors() -> None:
    floors = import_floors()
    assert len(floors) > 30
    assert {name: floor for name, floor in floors.items() if floor > MOST_FLOORS} == {}


@pytest.mark.parametrize(("gated", "most"), [(False, 95), (True, 118)], ids=["hello", "gated"])
async def test_a_run_executes_no_extra_and_few_files(gated: bool, most: int) -> None:
    """A bound is some 6 % over what was counted. If it fell, lower it."""
    found = await measure(gated)
    assert found.extras == []
    assert len(found.executed) <= most, found.executed


def test_what_is_code_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Doc.\n\nMore.\n"""\n\nimport os\n\n# why\nX = (\n    1\n)\n\n\ndef f():\n    """It."""\n'
    )
    assert code_lines(tmp_path / "a.py") == 4
