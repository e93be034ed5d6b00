"""The package of the components: its types, what needs no browser, in Node; and what a page loads of it."""

import shutil
import subprocess

import pytest

from agui_gate.extras.components.bundle import Bundle
from tests.test_structure import ROOT

LARGEST = 25_000
"""Bytes of core, card, inbox and gate in English, as browsers load them."""


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_package(script: str) -> None:
    npm = shutil.which("npm")
    assert npm, "Node 20 or newer is needed"
    command = [npm, "run", "--silent", script]
    done = subprocess.run(command, cwd=ROOT / "components", capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_its_size() -> None:
    """It is one module, which imports nothing but a language that a page may be in."""
    folder = Bundle().folder
    assert folder, "make bundle"
    assert (folder / "agui-gate.js.br").stat().st_size <= LARGEST
    text = (folder / "agui-gate.js").read_text(encoding="utf-8")
    assert text.count("import(") == text.count('import("./german.js")') == 1
    assert 'from"' not in text
