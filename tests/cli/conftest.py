"""Leaves logging as it was, and keeps settings of the machine out of tests that run in this process."""

import logging
import os
from collections.abc import Callable, Iterator

import pytest
import structlog
from click.testing import CliRunner, Result

from agui_gate.cli.program import program
from agui_gate.cli.terminal.command_log import Stderr
from tests.cli.support import TARGETS

Cli = Callable[..., Result]


@pytest.fixture(autouse=True)
def _undisturbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("AGUI_GATE", "OPENAI"))]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(TARGETS)
    root = logging.getLogger()
    level = root.level
    yield
    structlog.reset_defaults()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, Stderr)]
    root.setLevel(level)


@pytest.fixture
def cli(tmp_path: "os.PathLike[str]", monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, **options: object) -> Result:
        return CliRunner().invoke(program, list(arguments), prog_name="agui-gate", **options)  # type: ignore[arg-type]

    return invoke
