"""Makes the moving picture of the README, docs/approval.png: `python -m tests.e2e.picture`. It needs Node and Chromium.

The screenshots are of the demo's own page (`picture.mjs`), whose server is killed and started again in between.
"""

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/approval.png"
MOST_BYTES = 1_000_000
SIGNATURE = b"\x89PNG\r\n\x1a\n"


class Frame(NamedTuple):
    """One screenshot as PNG, and for how many ms it is shown."""

    png: bytes
    ms: int


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG: kind and data. Raises `ValueError` for what is none."""
    if png[:8] != SIGNATURE:
        raise ValueError("not a PNG")
    at = 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def animated(frames: Sequence[Frame]) -> bytes:
    """The frames as one animated PNG that repeats for ever (https://www.w3.org/TR/png-3/#apng-frame-based-animation).

    Raises `ValueError` if they are not all of one size and kind.
    """
    (head,) = {data for frame in frames for kind, data in chunks(frame.png) if kind == b"IHDR"} or {b""}
    width, height = struct.unpack(">II", head[:8])
    made = [chunk(b"IHDR", head), chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for frame in frames:
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, frame.ms, 1000, 0, 0)
        made.append(chunk(b"fcTL", control))
        number += 1
        pixels = b"".join(data for kind, data in chunks(frame.png) if kind == b"IDAT")
        pixels = zlib.compress(zlib.decompress(pixels), 9)
        if number == 1:
            made.append(chunk(b"IDAT", pixels))
        else:
            made.append(chunk(b"fdAT", struct.pack(">I", number) + pixels))
            number += 1
    return SIGNATURE + b"".join([*made, chunk(b"IEND", b"")])


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def demo(port: int, store: Path, log: Path) -> "subprocess.Popen[bytes]":
    """The demo, once it serves."""
    command = [sys.executable, "-c", "from agui_gate.cli import main; main()"]
    arguments = ["demo", "--port", str(port), "--store", f"sqlite:///{store}"]
    with log.open("wb") as output:
        process = subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=output, stderr=output)
    while not re.search(rf"127\.0\.0\.1:{port}", log.read_text()):
        if process.poll() is not None:
            raise SystemExit(log.read_text())
    return process


def shot(folder: Path) -> list[Frame]:
    """The frames, in order."""
    port = free_port()
    server = demo(port, folder / "store.db", folder / "log")
    browser = subprocess.Popen(
        ["node", str(ROOT / "tests/e2e/picture.mjs"), f"http://127.0.0.1:{port}/", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert browser.stdin is not None
        assert browser.stdout is not None
        for line in browser.stdout:
            if line.strip() == b"restart":
                os.kill(server.pid, signal.SIGKILL)
                server.wait()
                server = demo(port, folder / "store.db", folder / "log")
                browser.stdin.write(b"go on\n")
                browser.stdin.flush()
        if browser.wait():
            raise SystemExit("the page didn't do as expected")
    finally:
        browser.kill()
        server.kill()
        server.wait()
    return [Frame(path.read_bytes(), int(path.stem.split("-")[1])) for path in sorted(folder.glob("*.png"))]


def main() -> None:
    """Make it."""
    with tempfile.TemporaryDirectory() as folder:
        picture = animated(shot(Path(folder)))
    if len(picture) > MOST_BYTES:
        raise SystemExit(f"The picture has {len(picture):,} bytes; at most {MOST_BYTES:,} are a page's worth.")
    PICTURE.write_bytes(picture)
    print(f"{PICTURE.relative_to(ROOT)}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
