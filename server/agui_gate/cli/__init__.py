"""The command line: `agui-gate`. One module a command, each imported when it is used."""

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the program `agui-gate`."""
    from agui_gate.cli.program import program

    program(prog_name="agui-gate")
