"""What `serve --reload` takes for a change."""

import os
from pathlib import Path

import pytest
from uvicorn.supervisors.basereload import BaseReload

from agui_gate.cli.server.reload import Reloader
from agui_gate.cli.server.uvicorn_server import configure


@pytest.fixture
def reloader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reloader:
    """One whose children are none, and that looks at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(BaseReload, "startup", lambda _: None)
    monkeypatch.setattr(BaseReload, "restart", lambda _: None)
    config = configure("x:y", reload=True)
    config.reload_delay = 0.0
    return Reloader(config, target=lambda _: None, sockets=[])


def later(file: Path, seconds: int) -> None:
    when = file.stat().st_mtime + seconds
    os.utime(file, (when, when))


def test_a_change_is_seen_whenever_it_comes(reloader: Reloader, tmp_path: Path) -> None:
    """One that came while a child was loaded was lost, and what was served was the file as it had been."""
    file = tmp_path / "agent.py"
    file.touch()
    reloader.startup()
    later(file, 10)
    assert reloader.should_restart() == [file]
    reloader.restart()
    later(file, 10)
    assert reloader.should_restart() == [file]
    reloader.restart()
    assert reloader.should_restart() is None


def test_new_files_and_files_that_went_away_are_no_changes(reloader: Reloader, tmp_path: Path) -> None:
    gone, new, broken = tmp_path / "gone.py", tmp_path / "new.py", tmp_path / "broken.py"
    gone.touch()
    broken.symlink_to(tmp_path / "nowhere.py")
    reloader.startup()
    gone.unlink()
    new.touch()
    assert reloader.should_restart() is None
    later(new, 10)
    assert reloader.should_restart() == [new]
