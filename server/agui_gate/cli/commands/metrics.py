"""`agui-gate metrics`: Prometheus's configuration, its alert rules, and Grafana's board, as files."""

import sys
from pathlib import Path

import click

from agui_gate.cli.program import Failure, debug_option
from agui_gate.cli.terminal.layout import fit
from agui_gate.errors import ConfigurationError

FILES = Path(__file__).parents[2] / "extras" / "metrics" / "files"

HELP = """Write the files that Prometheus and Grafana need into FOLDER, which is made if it is not there.

\b
prometheus.yml   reads two replicas of this machine: change the addresses to those of AGUI_GATE_METRICS
alerts.yml       alert rules, each with its page of the runbook
board.json       a board: in Grafana, Dashboards, New, Import

\b
Examples:
  agui-gate metrics .
  agui-gate metrics monitoring --force     after an upgrade; Git shows what has changed

Exit codes: 0 the files are there; 1 they could not be written; 2 usage error, or one exists.
"""


@click.command("metrics", help=HELP)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--force", is_flag=True, help="Replace files that exist.")
@debug_option
def command(folder: Path, force: bool) -> None:
    """Write them; none of them if one exists."""
    files = sorted(FILES.iterdir())
    if not force and (there := [file.name for file in files if (folder / file.name).exists()]):
        raise ConfigurationError(f"{folder} has {', '.join(there)} already. Name another folder, or use --force.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file.name).write_bytes(file.read_bytes())
    except OSError as error:
        raise Failure(f"{folder} can't be written: {error.strerror}.") from None
    click.echo(fit(f"{', '.join(file.name for file in files)} are in {folder}.", sys.stdout))
    click.echo(f"Next: prometheus --config.file={folder / 'prometheus.yml'} --web.listen-address=:9099")
    click.echo("and in Grafana: Dashboards, New, Import, board.json.")
