"""`make demo` on a machine that has nothing yet: what is on the screen until the server is up, and after that."""

import os
import shutil
from pathlib import Path

from tests.cli.support import running

ROOT = Path(__file__).parents[1]
PYTHON = """#!/bin/sh
case "$*" in
  "-m venv"*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$(dirname "$0")/agui-gate" "$3/bin/" ;;
  *--requirement*)
    echo "WARNING: a word of pip" >&2
    [ ! -e broken ] || { echo "ERROR: there is no package"; echo "more of it"; exit 1; }
    for n in $(seq 1 22); do echo "Collecting package$n==1.0 (from -r x)"; done
    echo "Processing /a/folder/package23-1.0.whl (from -r x)"
    echo "Installing collected packages: all" ;;
  --version) echo Python 3.13 ;;
esac
"""
SERVER = """#!/bin/sh
echo "the server is up"
[ ! -p end ] || cat end
"""
NPM = """#!/bin/sh
echo "$1: a word of npm"; echo "$1: another one" >&2
case "$1" in ci) mkdir -p node_modules ;; *) mkdir -p dist ;; esac
%s
"""
BUILDS = '[ "$1" = ci ] || echo > ../end'
FAILS = "exit 1"


def machine(tmp_path: Path, npm: str) -> tuple[Path, dict[str, str]]:
    """A checkout with nothing set up, and programs that only pretend; its directory and its environment.

    The server ends when somebody writes into ``end``.
    """
    checkout, programs = tmp_path / "checkout", tmp_path / "programs"
    (checkout / "requirements").mkdir(parents=True)
    (checkout / "frontend-demo").mkdir()
    programs.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    os.mkfifo(checkout / "end")
    (checkout / "requirements/runtime.txt").write_text("".join(f"package{n}==1.0\n" for n in range(1, 24)))
    for name in ("package.json", "package-lock.json"):
        (checkout / "frontend-demo" / name).write_text("{}")
    for name, text in (("python3.11", PYTHON), ("agui-gate", SERVER), ("npm", NPM % npm), ("node", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return checkout, {"PATH": f"{programs}:{os.environ['PATH']}", "MAKEFLAGS": ""}


def test_each_step_is_told_and_the_build_says_nothing_into_the_servers_output(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path, BUILDS)
    with running(checkout, command=["make", "demo"], env=env) as process:
        assert process.end() == 0
    assert process.text.splitlines() == [
        "set-up: virtual environment .venv (Python 3.13)",
        "set-up: what the server runs on (23 packages; only the first time)",
        "  10 of 23 packages",
        "  20 of 23 packages",
        "  installing 23 packages",
        "set-up: agui-gate itself (editable)",
        "set-up: the CopilotKit page is being built meanwhile (only the first time)",
        "the server is up",
        "",
    ]
    assert "run: another one" in (checkout / ".venv/page.log").read_text()


def test_on_a_terminal_each_package_is_told_in_one_line(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path, BUILDS)
    with running(checkout, command=["make", "demo"], env=env, terminal=True, columns=80) as process:
        assert process.end() == 0
    assert "\r\x1b[K  7 of 23: package7==1.0\r\x1b[K  8 of 23: package8==1.0\r\x1b[K" in process.text
    assert "  23 of 23: package23-1.0.whl" in process.text


def test_an_install_that_fails_says_why(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path, BUILDS)
    (checkout / "broken").touch()
    with running(checkout, command=["make", "demo"], env=env) as process:
        assert process.end() == 2
    assert "packages; only the first time)\nERROR: there is no package\nmore of it\nmake: ***" in process.text


def test_a_build_that_fails_is_one_line_that_names_its_log(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path, FAILS)
    with running(checkout, command=["make", "demo"], env=env) as process:
        process.wait_for("the server is up")
        process.wait_for(r"\n  The CopilotKit page could not be built \(\.venv/page\.log says why\)\.")
        (checkout / "end").write_text("")
        assert process.end() == 0
    assert "a word of npm" not in process.text
    assert "ci: a word of npm" in (checkout / ".venv/page.log").read_text()


def test_the_second_time_there_is_nothing_to_tell(tmp_path: Path) -> None:
    checkout, env = machine(tmp_path, BUILDS)
    with running(checkout, command=["make", "demo"], env=env) as process:
        assert process.end() == 0
    (checkout / "end").unlink()
    with running(checkout, command=["make", "demo"], env=env) as process:
        assert process.end() == 0
    assert process.text.split() == ["the", "server", "is", "up"]
