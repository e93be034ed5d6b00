"""A page of the runbook as a script: its commands are run as they are written there, with the values of a case.

A block of `sh` is run by a shell; a `text` block after it is what one sees, in which `…` stands for anything. So a page
and its test can't part: a command that does something else, or shows something else, fails.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.support import TIMEOUT, call, environment
from tests.support.servers import programs

FOLDER = Path(__file__).parents[2] / "docs/runbook"
SECTIONS = ("Symptom", "Look", "Stop the harm", "Cure", "Verify", "Why it happens", "Tell")
"""What each page has, in this order; some have more behind it."""
BLOCK = re.compile(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


class Block(NamedTuple):
    """Commands, and what one sees of them; "" if the page doesn't say."""

    section: str
    commands: str
    shown: str


def text_of(name: str) -> str:
    """The text of a page, by its name."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    """The commands of a page, in order."""
    parts = re.split(r"^## (.+)$", text_of(name), flags=re.MULTILINE)
    return [
        Block(section, *found)
        for section, text in zip(parts[1::2], parts[2::2], strict=True)
        for found in BLOCK.findall(text)
    ]


class Page:
    """A page that somebody follows, in ``folder`` and with these variables. ``values``: of the words in capitals."""

    def __init__(self, name: str, folder: Path, env: Mapping[str, str], **values: str) -> None:
        self.name, self.folder, self.env, self.values = name, folder, dict(env), values
        self._left = dict.fromkeys(blocks(name))

    def run(
        self,
        section: str,
        number: int | None = None,
        *,
        code: int | None = 0,
        env: Mapping[str, str] | None = None,
        user: Mapping[str, Any] | None = None,
        **values: str,
    ) -> str:
        """Runs the commands of a section, or of one of its blocks (from 1 on); returns what they said. ``code``: their
        exit code, None where it is a matter of time. ``env``: variables that differ. ``user``: as whom they run, for
        `subprocess`.
        """
        found = self._of(section)
        assert found, f"{self.name} has no commands in {section!r}"
        said = ""
        for block in found if number is None else [found[number - 1]]:
            self._left.pop(block, None)
            commands = filled(block.commands, {**self.values, **values})
            told, ended = self._shell(commands, {**self.env, **(env or {})}, user or {})
            assert ended == code or code is None, f"{self.name}: {block.commands}{told}"
            assert shows(told, block.shown), f"{self.name}: it says\n{told}and not\n{block.shown}"
            said += told
        return said

    def end(self, but: Container[tuple[str, int]] = ()) -> None:
        """Raises `AssertionError` if something of the page was not run. ``but``: sections and numbers of blocks."""
        left = [block for block in blocks(self.name) if block in self._left]
        sections = {block.section for block in blocks(self.name)}
        numbers = {block: number for section in sections for number, block in enumerate(self._of(section), start=1)}
        assert [(block.section, numbers[block]) for block in left if (block.section, numbers[block]) not in but] == []

    def _of(self, section: str) -> list[Block]:
        return [block for block in blocks(self.name) if block.section == section]

    def _shell(self, commands: str, variables: Mapping[str, str], user: Mapping[str, Any]) -> tuple[str, int]:
        """Runs commands as a shell does. Those of ours alone are run by processes that have begun already."""
        lines = commands.strip().splitlines()
        if not user and all(re.fullmatch(r"agui-gate [^|<>;&$*`(]+", line) for line in lines):
            said = ""
            for line in lines:
                done = call(self.folder, *shlex.split(line)[1:], env=variables)
                said += done.stdout + done.stderr
                if done.returncode:
                    return said, done.returncode
            return said, 0
        env = environment(**variables)
        env["PATH"] = f"{programs() if user else Path(sys.executable).parent}:{env['PATH']}"
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=user.get("cwd", self.folder), env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False,
            **{name: value for name, value in user.items() if name != "cwd"},
        )  # fmt: skip
        return run.stdout + run.stderr, run.returncode


def filled(commands: str, values: Mapping[str, str]) -> str:
    """Commands with values in the place of the words in capitals."""
    for name, value in values.items():
        commands = re.sub(rf"(?<!\w){name}(?!\w)", lambda _, value=value: value, commands)  # type: ignore[misc]
    return commands


def shows(said: str, shown: str) -> bool:
    """Whether each line that a page shows is one that was said, whatever stands for `…` and between words."""
    return all(
        re.search(r"\s+".join(re.escape(word).replace("…", ".*?") for word in line.split()), said)
        for line in shown.splitlines()
        if line.strip() not in ("", "…")
    )
