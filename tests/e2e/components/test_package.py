"""The package of the components: its types, what needs no browser, in Node; and what a page loads of it."""

import shutil
import subprocess

import pytest

from agui_gate.extras.components.bundle import Bundle
from tests.test_structure import ROOT

EXAMPLES = ROOT / "examples"
LONGEST = 40
"""Lines of an example of the elements."""
LARGEST = 25_000
"""Bytes of core, card, inbox and gate in English, as browsers load them."""


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_package(script: str) -> None:
    npm = shutil.which("npm")
    assert npm, "Node 20 or newer is needed"
    command = [npm, "run", "--silent", script]
    done = subprocess.run(command, cwd=ROOT / "components", capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize(
    "files",
    [
        ("pages/inbox.html", "pages/inbox.js"),
        ("pages/react.html", "pages/react.jsx"),
        ("pages/vue.html", "pages/vue.js", "pages/Approvals.vue"),
        ("pages/svelte.html", "pages/svelte.js", "pages/Approvals.svelte"),
        ("pages/copilotkit.jsx",),
        tuple(sorted(str(file.relative_to(EXAMPLES)) for file in (EXAMPLES / "next" / "app").glob("*.js*"))),
    ],
    ids=lambda files: files[-1],
)
def test_an_example_is_short(files: tuple[str, ...]) -> None:
    lines = [line for file in files for line in (EXAMPLES / file).read_text(encoding="utf-8").splitlines()]
    assert 0 < len(lines) <= LONGEST


def test_its_size() -> None:
    """It is one module, which imports nothing but a language that a page may be in."""
    folder = Bundle().folder
    assert folder, "make bundle"
    assert (folder / "agui-gate.js.br").stat().st_size <= LARGEST
    text = (folder / "agui-gate.js").read_text(encoding="utf-8")
    assert text.count("import(") == text.count('import("./german.js")') == 1
    assert 'from"' not in text
