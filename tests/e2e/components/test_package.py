"""The package of the components: its types and what needs no browser, in Node."""

import shutil
import subprocess

import pytest

from tests.test_structure import ROOT


@pytest.mark.parametrize("script", ["check", "test"])
def test_the_package(script: str) -> None:
    npm = shutil.which("npm")
    assert npm, "Node 20 or newer is needed"
    command = [npm, "run", "--silent", script]
    done = subprocess.run(command, cwd=ROOT / "components", capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
