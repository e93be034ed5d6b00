"""Counts what a run takes to follow: the files that it executes, and the lines of code that are loaded for it.

``python -m tools.trunk`` prints the figures; with ``--files``, the executed files as well. A run that says "hello", and
one that asks about a gated call and is answered, each in a process with SQLite and one provider.
"""

import argparse
import ast
import asyncio
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).resolve().parents[1]
SERVER, ADAPTERS = ROOT / "server", ROOT / "adapters"
RUN_FOLDERS = ("runs", "turns", "approvals", "threads", "readers")


class Figures(msgspec.Struct, frozen=True):
    """What one run takes. ``executed``: files and how many of their functions; ``loaded``: files of loaded modules."""

    executed: dict[str, int]
    loaded: list[str]

    @property
    def server(self) -> list[str]:
        """The executed files of the server."""
        return [name for name in self.executed if name.startswith("server/")]

    @property
    def extras(self) -> list[str]:
        """The executed files of extras."""
        return [name for name in self.executed if "/extras/" in name]

    @property
    def lines(self) -> int:
        """Lines of code of the server's loaded files: without docstrings, comments, blank lines and imports."""
        return sum(code_lines(ROOT / name) for name in self.loaded if name.startswith("server/"))


def code_lines(path: Path) -> int:
    """The lines of a file that hold code."""
    text = path.read_text()
    lines: set[int] = set()
    with path.open("rb") as file:
        skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
        for token in tokenize.tokenize(file.readline):
            if token.type not in (*skip, tokenize.ENDMARKER):
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if isinstance(node, ast.Import | ast.ImportFrom) or (is_text and isinstance(node, ast.Expr)):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def import_floors() -> dict[str, int]:
    """The modules of a run's folders, each with the length of the longest chain of imports that begins with it there.

    What is imported for types alone, or within a function, is no part of a chain.
    """
    package = SERVER / "agui_gate"
    paths = {
        ".".join(path.relative_to(SERVER).with_suffix("").parts): path
        for folder in RUN_FOLDERS
        for path in (package / folder).glob("*.py")
    }
    imports = {name: _imported(path) & paths.keys() for name, path in paths.items()}
    floors: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in floors:
            floors[name] = 1  # where there is a circle, it is not gone round
            floors[name] = 1 + max(map(floor, imports[name]), default=0)
        return floors[name]

    return {name: floor(name) for name in paths}


def _imported(path: Path) -> set[str]:
    """The modules that a module imports when it is loaded, and maybe some names of theirs."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    modules = {node.module for node in found if node.module}
    return modules | {f"{node.module}.{alias.name}" for node in found for alias in node.names}


@contextmanager
def executing() -> Iterator[Counter[CodeType]]:
    """Within: which functions are called in this thread is counted."""
    codes: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes[frame.f_code] += 1

    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(None)


async def measure(gated: bool) -> Figures:
    """Run it some times. The first time, things are loaded; of the others that one counts in which the server's own
    jobs did least beside it.
    """
    from tests.bench.server import create_ours
    from tests.product.inprocess import run, run_body, started, user

    seen: list[Counter[CodeType]] = []
    with tempfile.TemporaryDirectory() as folder, _answered(gated):
        async with started(create_ours("http://127.0.0.1/v1", Path(folder))) as app:
            for number in range(5):
                with executing() as codes:
                    answer = await run(app, run_body(f"t{number}", user("hello", "m1")))
                    if gated:
                        asked = answer.events()[-1]["outcome"]["interrupts"][0]["id"]
                        resume = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
                        answer = await run(app, run_body(f"t{number}", user("hello", "m1"), resume=resume))
                assert answer.events()[-1]["type"] == "RUN_FINISHED", answer.events()
                seen.append(codes)
    files = Counter(name for code in min(seen[1:], key=len) if (name := _named(code.co_filename)))
    modules = {_named(file) for m in list(sys.modules.values()) if (file := getattr(m, "__file__", None))}
    return Figures(dict(sorted(files.items())), sorted(name for name in modules if name))


@contextmanager
def _answered(gated: bool) -> Iterator[None]:
    """Within: the provider says a few words, or asks for a refund first."""
    import httpx2

    from agui_gate_adapters.common import transport as adapter_transport
    from tests.bench.provider import event, frames

    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "refund", "status": "completed"}
    item["arguments"] = '{"order":"1001","amount":5}'
    ids = {"item_id": "fc_1", "output_index": 0}
    created, *_, completed = frames(1)
    call = [
        created,
        event("response.output_item.added", output_index=0, item={**item, "arguments": ""}, sequence_number=1),
        event("response.function_call_arguments.done", **ids, arguments=item["arguments"], sequence_number=2),
        event("response.output_item.done", output_index=0, item=item, sequence_number=3),
        completed,
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        asks = gated and b"function_call_output" not in request.content
        body = b"".join(call if asks else frames(2))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    transport = httpx2.MockTransport(answer)
    with patch.object(adapter_transport, "new_carrier", lambda limits: transport):
        yield


def _named(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(ROOT)) if path.is_relative_to(SERVER) or path.is_relative_to(ADAPTERS) else ""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the executed files")
    wanted = parser.parse_args()
    floors = import_floors()
    sys.stdout.write(f"imports: {max(floors.values())} floors in {len(floors)} modules of {', '.join(RUN_FOLDERS)}\n")
    for what, gated in (("hello", False), ("gated", True)):
        found = asyncio.run(measure(gated))
        sys.stdout.write(
            f"{what}: {sum(found.executed.values())} functions in {len(found.executed)} files "
            f"({len(found.server)} of the server, {len(found.extras)} of extras); "
            f"{found.lines:,} lines of code loaded in {sum(n.startswith('server/') for n in found.loaded)} files\n"
        )
        if wanted.files:
            sys.stdout.writelines(f"  {number:4} {name}\n" for name, number in found.executed.items())


if __name__ == "__main__":
    main()
