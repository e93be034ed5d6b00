"""The command line: `agui-gate`. One module a command, in `commands`, each imported when it is used."""

__all__ = ["main"]


def main() -> None:
    """Runs the command line; the entry point of the program `agui-gate`."""
    import sys

    from agui_gate.cli.program import program

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # what a terminal can't show must not end the command
    program(prog_name="agui-gate")
