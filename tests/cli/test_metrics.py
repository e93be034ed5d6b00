"""`agui-gate metrics`: what is shipped for Prometheus and Grafana, as files of one's own."""

import json
from pathlib import Path

from agui_gate.cli.commands.metrics import FILES
from tests.cli.conftest import Cli

NAMES = ("alerts.yml", "board.json", "prometheus.yml")


def test_it_writes_what_is_shipped_into_a_folder(cli: Cli, tmp_path: Path) -> None:
    told = cli("metrics", "a/b")
    assert told.exit_code == 0, told.output
    assert sorted(file.name for file in (tmp_path / "a/b").iterdir()) == list(NAMES)
    for name in NAMES:
        assert (tmp_path / "a/b" / name).read_bytes() == (FILES / name).read_bytes()
        assert name in told.output
    assert json.loads((tmp_path / "a/b/board.json").read_text())["title"] == "agui-gate"
    assert "- alerts.yml" in (tmp_path / "a/b/prometheus.yml").read_text()


def test_what_somebody_has_changed_is_replaced_only_by_force(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text("mine")
    told = cli("metrics", ".")
    assert told.exit_code == 2
    assert "prometheus.yml" in told.output
    assert [file.name for file in tmp_path.iterdir()] == ["prometheus.yml"], "all or none"
    assert (tmp_path / "prometheus.yml").read_text() == "mine"
    assert cli("metrics", ".", "--force").exit_code == 0
    assert (tmp_path / "prometheus.yml").read_bytes() == (FILES / "prometheus.yml").read_bytes()


def test_a_folder_that_can_not_be_written_is_one_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = cli("metrics", "file/folder")
    assert told.exit_code == 1
    assert told.output.startswith("error: file/folder can't be written")
    assert len(told.output.splitlines()) == 1
