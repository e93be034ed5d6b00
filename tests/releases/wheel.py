"""Keeps the wheel of an older version, which runs beside this tree in tests: `python -m tests.releases.wheel REVISION`.

It is built from that commit of the checkout, without the components, which are for pages. Its files are packed as one:
that is half as large as a wheel, and less than a megabyte.
"""

import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj, rmtree

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
SECONDS = 120


def kept() -> Path:
    """The wheel that is kept, packed."""
    (found,) = FOLDER.glob("*.whl.xz")
    return found


def install(folder: Path) -> Path:
    """Installs it, without what it depends on, and returns where: PYTHONPATH for its processes."""
    wheel = folder / kept().name.removesuffix(".xz")
    with lzma.open(kept()) as packed, wheel.open("wb") as file:
        copyfileobj(packed, file)
    site = folder / "site"
    _pip("install", "--no-deps", "--target", site, wheel)
    return site


def build(revision: str, folder: Path) -> Path:
    """Builds the wheel of a commit. Raises `CalledProcessError` where there is none, or it can't be built."""
    tree = folder / "tree"
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True, timeout=SECONDS)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")
    rmtree(tree / "components")
    words = ["git", "rev-parse", "--short=12", f"{revision}^{{commit}}"]
    commit = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, timeout=SECONDS).stdout.strip()
    _pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, tree, revision=commit)
    (wheel,) = folder.glob("*.whl")
    return wheel


def pack(wheel: Path, to: Path) -> None:
    """Packs a wheel, whose files are stored as they are before: what they have in common is kept once."""
    stored = BytesIO()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as target:
        for info in sorted(source.infolist(), key=lambda one: (Path(one.filename).suffix, one.filename)):
            target.writestr(zipfile.ZipInfo(info.filename, info.date_time), source.read(info))
    to.write_bytes(lzma.compress(stored.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _pip(*words: str | Path, revision: str = "") -> None:
    command = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *map(str, words)]
    env = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "SOURCE_REVISION": revision}
    subprocess.run(command, check=True, env=env, timeout=SECONDS)


def main(revision: str) -> None:
    """Puts the wheel of that commit in the place of the one that is kept."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(revision, Path(folder))
        for old in FOLDER.glob("*.whl.xz"):
            old.unlink()
        pack(wheel, FOLDER / f"{wheel.name}.xz")
    print(f"{kept()}: {kept().stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
