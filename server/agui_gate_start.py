"""The command `agui-gate`, from its first line. It is outside of the package, which takes a moment to import."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line.

    Ctrl-C ends it at once and without a word, as it ends any program, until a command has begun what has to be ended
    in order (`agui_gate.cli.interrupts`). A `KeyboardInterrupt` comes at any line of an import, and not all pass
    it on.

    SIGHUP has `serve` read files again. One that comes before it can waits, instead of ending the process.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _command() == "serve" and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    from agui_gate.cli import main as begin

    begin()


def _command() -> str:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")
