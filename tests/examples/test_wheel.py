"""The wheel and the sdist: that they can be built from what they have, and have what the server looks for.

The image's build is done here without Docker: by what its Dockerfile copies, out of what its ignore file lets through.
"""

import re
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from fnmatch import fnmatch
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest
from packaging.metadata import Metadata

from tests.examples.conftest import EXAMPLES

ROOT = EXAMPLES.parent
DOCKERFILE = (EXAMPLES / "replicas" / "Dockerfile").read_text()
REVISION = "4f2a9c81d07e"
SECONDS = 120
NEEDED = (
    "agui_gate/py.typed",
    "agui_gate/revision.txt",
    "agui_gate/stores/migrations/0001_initial.sql",
    "agui_gate/extras/page/files/index.html",
    "agui_gate/extras/metrics/files/board.json",
    "agui_gate/extras/components/files/agui-gate.js",
    "agui_gate/extras/components/files/core/card.js",
    "agui_gate/extras/components/files/vendor/lit.js",
    "agui_gate_adapters/py.typed",
    "agui_gate_start.py",
)


def python(*words: str | Path, at: Path, revision: str = "") -> str:
    """Runs it, and returns what it says; without the packages and variables of the tests where ``-I`` is given."""
    run = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=at,
        env={"PATH": "/usr/bin:/bin", "SOURCE_REVISION": revision},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def wheel_of(source: Path, to: Path, revision: str = "") -> Path:
    """Builds it as ``pip install`` does."""
    python(
        *("-m", "pip", "wheel", "-qq", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"),
        *("--wheel-dir", to, source),
        at=to,
        revision=revision,
    )
    (wheel,) = to.glob("*.whl")
    return wheel


def names(wheel: Path) -> set[str]:
    """What is in it."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image's build stage has copied: its own words, and no file that the ignore file holds back."""
    stage = DOCKERFILE.partition("AS build")[2].partition("\nFROM ")[0]
    held_back = (EXAMPLES / "replicas" / "Dockerfile.dockerignore").read_text().split()
    let_in = {line[1:] for line in held_back if line.startswith("!")}
    kept_out = ignore_patterns(*(Path(line).name for line in held_back if not fnmatch(line, "!*") and line != "*"))
    target = tmp_path_factory.mktemp("image")
    for sources, to in re.findall(r"^COPY (?:--from=components )?(.*) (\S+)$", stage, re.MULTILINE):
        for source in map(str.strip, sources.split()):
            name = source.removeprefix("/src/")
            assert name in let_in, f"the ignore file holds {name} back"
            place = target / to.removeprefix("/src").strip("/")
            if (ROOT / name).is_dir():
                copytree(ROOT / name, place, ignore=kept_out)
            else:
                copy(ROOT / name, place)
    return target


@pytest.fixture(scope="module")
def wheel(context: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that the image installs."""
    return wheel_of(context, tmp_path_factory.mktemp("wheel"), REVISION)


def test_the_image_builds_a_wheel_with_all_that_the_server_looks_for(wheel: Path) -> None:
    found = names(wheel)
    assert set(NEEDED) <= found, set(NEEDED) - found
    assert not [name for name in found if "node_modules" in name or "__pycache__" in name or name.startswith("tests")]


def test_its_metadata_is_valid(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    metadata = Metadata.from_email(text, validate=True)
    assert metadata.name == "agui-gate"
    parsed: Message = Parser().parsestr(text)
    assert {"all", "jwt", "metrics", "postgres"} <= set(parsed.get_all("Provides-Extra", []))


def test_an_sdist_makes_the_same_wheel(context: Path, wheel: Path, tmp_path: Path) -> None:
    """Also where Git isn't, with the revision that the sdist was made of."""
    python("-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, at=context, revision=REVISION)
    (sdist,) = tmp_path.glob("*.tar.gz")
    again = wheel_of(sdist, tmp_path)
    assert names(again) == names(wheel)
    with zipfile.ZipFile(again) as archive:
        assert archive.read("agui_gate/revision.txt").decode() == f"{REVISION}\n"


def test_what_is_installed_tells_its_revision(wheel: Path, tmp_path: Path) -> None:
    python("-m", "pip", "install", "-qq", "--no-deps", "--target", tmp_path / "site", wheel, at=tmp_path)
    start = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); "
    said = python("-c", start + "import agui_gate_start; agui_gate_start.main()", "--version", at=tmp_path)
    assert re.fullmatch(rf"agui-gate \d+\.\d+\.\d+\S* \({REVISION}\)\n", said)
