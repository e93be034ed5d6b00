"""What CI, the package and the papers say of each other: the same targets, the same versions, the same messages."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COME_ALONG = {"mcp-types": "mcp", "pydantic-core": "pydantic", "referencing": "jsonschema"}
"""What is imported and is a part of another package, or has modules beside those of another one, by its name."""
UNNAMED = {"genai-prices", "standardwebhooks", "uvloop"}
"""What is used and imported by nobody here: uvicorn takes it by itself."""
TARGETS = set(re.findall(r"^([a-z0-9]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_public_ci_runs_what_ci_runs_here() -> None:
    ours = (ROOT / ".ci/run").read_text(encoding="utf-8")
    here = set(re.findall(r"^step (\w+)", ours, re.MULTILINE)) | set(
        re.findall(r"^exec make .* (\w+)$", ours, re.MULTILINE)
    )
    there = set(re.findall(r"run: make (\w+)", WORKFLOW))
    assert here == {"check", "test", "load", "scenarios", "e2e"}
    assert there - {"coverage", "site", "soak"} == here
    assert there <= TARGETS


def test_every_supported_python_is_tested() -> None:
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    tested = re.search(r"python: \[(.*)\]", WORKFLOW)
    assert tested is not None
    assert re.findall(r"3\.\d+", tested[1]) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_version_is_one_of_the_scheme() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", PROJECT["version"])


def test_each_package_that_is_asked_for_is_used_and_the_other_way_round() -> None:
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = {re.split(r"[^\w.-]", line)[0] for lines in lists for line in lines} - {PROJECT["name"]}
    assert used_packages() - named == {"pytest"}, "the test kit is used under pytest, which its users have"
    assert named - used_packages() == UNNAMED


def used_packages() -> set[str]:
    """The distributions whose modules the product imports, wherever in its code."""
    files = [*(ROOT / "server").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    modules = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    whole = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    modules |= {node.module.split(".")[0] for node in whole if node.module}
    foreign = modules - sys.stdlib_module_names - {"agui_gate", "agui_gate_adapters"}
    owners = packages_distributions()
    found = {owners[module][0].replace("_", "-").lower() for module in foreign}
    return {"opentelemetry-api" if "opentelemetry-" in name else COME_ALONG.get(name, name) for name in found}


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
