"""Which release of agui-gate runs: its version, and the commit that the installed wheel was built from."""

from functools import cache
from importlib.metadata import version
from importlib.resources import files


@cache
def read_revision() -> str | None:
    """Returns the commit that the wheel was built from, or None: in a checkout, and where the build didn't know it.

    ``-dirty`` at its end: files had been changed since that commit.
    """
    try:
        return (files("agui_gate") / "revision.txt").read_text().strip() or None
    except FileNotFoundError:
        return None


def describe_release() -> str:
    """Returns the version, and the revision in brackets where it is known: ``0.1.0 (4f2a9c81d07e)``."""
    revision = read_revision()
    return version("agui-gate") + (f" ({revision})" if revision else "")
