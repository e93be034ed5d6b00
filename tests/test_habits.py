"""What CI, the package and the papers say of each other: the same targets, the same versions, the same messages."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = set(re.findall(r"^([a-z0-9]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_public_ci_runs_what_ci_runs_here() -> None:
    ours = (ROOT / ".ci/run").read_text(encoding="utf-8")
    here = set(re.findall(r"^step (\w+)$", ours, re.MULTILINE)) | set(
        re.findall(r"^exec make .* (\w+)$", ours, re.MULTILINE)
    )
    there = set(re.findall(r"run: make (\w+)", WORKFLOW))
    assert here == {"check", "test", "load", "e2e"}
    assert there - {"coverage"} == here
    assert there <= TARGETS


def test_every_supported_python_is_tested() -> None:
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    tested = re.search(r"python: \[(.*)\]", WORKFLOW)
    assert tested is not None
    assert re.findall(r"3\.\d+", tested[1]) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_version_is_one_of_the_scheme() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", PROJECT["version"])


@pytest.mark.parametrize(
    ("message", "good"),
    [
        ("fix(engine): a call runs once (issue 9)", True),
        ("feat!: routes are renamed", True),
        ("chore(release): 0.2.0", True),
        ("Merge branch 'main'", True),
        ("fixed it", False),
        ("feature: more", False),
        ("fix(engine):", False),
    ],
)
def test_messages_are_held_to_the_form(message: str, good: bool, tmp_path: Path) -> None:
    """As pre-commit does it: with the file that has the message."""
    config = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    found = re.search(r"entry: grep -qE '(.*)'", config)
    assert found is not None
    file = tmp_path / "message"
    file.write_text(f"{message}\n\nand why\n", encoding="utf-8")
    assert (subprocess.run(["grep", "-qE", found[1], file], check=False).returncode == 0) is good
