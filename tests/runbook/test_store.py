"""A store that has no room left, or can't be written."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.requirements import shows
from tests.runbook.place import Place
from tests.support.servers import USER, Postgres, free_port

pytestmark = shows("T8")

SIZE = 4 * 1024 * 1024
FULL = "The store is not available: the disk of the database is full."
SYSTEM = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
AS_ROOT = ("sudo", "-n") if os.geteuid() and shutil.which("sudo") else ()


@contextmanager
def mounted(folder: Path, *words: str) -> Iterator[Path]:
    """A disk of its own at ``folder``. Who may not mount one can't try this; in CI that is a failure."""
    folder.mkdir()
    if subprocess.run([*AS_ROOT, "mount", *words, str(folder)], check=False, capture_output=True).returncode:
        assert os.environ.get("CI") != "true", "nothing can be mounted"
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run([*AS_ROOT, "umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", f"size={SIZE},mode=1777", "tmpfs") as folder:
        yield folder


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Path]:
    """A disk that the kernel makes read-only once it meets an error, as it does with most."""
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 4 * SIZE)
    owner = f"root_owner={os.geteuid()}:{os.getegid()}"
    subprocess.run(["mkfs.ext4", "-q", "-e", "remount-ro", "-E", owner, str(image)], check=True, env=SYSTEM)
    attach = [*AS_ROOT, "losetup", "--find", "--show", str(image)]
    device = subprocess.run(attach, check=False, capture_output=True, text=True, env=SYSTEM).stdout.strip()
    with mounted(tmp_path / "disk", device) as folder:
        yield folder
    subprocess.run([*AS_ROOT, "losetup", "--detach", device], check=True, env=SYSTEM)


def path_of_root(folder: Path) -> str:
    """The path of who may mount: with programs in it that ask `sudo`, where that is somebody else."""
    programs = folder / "root"
    programs.mkdir()
    for name in ("mount", "umount", "fsck") if AS_ROOT else ():
        (programs / name).write_text(f'#!/bin/sh\nPATH={SYSTEM["PATH"]}\nexec {shlex.join(AS_ROOT)} {name} "$@"\n')
        (programs / name).chmod(0o755)
    return f"{programs}:{SYSTEM['PATH']}"


def fill(file: Path) -> None:
    """Leaves no room on its disk."""
    with file.open("wb", buffering=0) as out:
        try:
            while out.write(b"x" * 4096):
                pass
        except OSError:
            return


def test_a_disk_that_is_full(place: Place, disk: Path) -> None:
    place.env["AGUI_GATE_STORE"] = f"sqlite:///{disk}/gate.db"
    server = place.start()
    page = place.page("store", SERVER=server.url, FOLDER=str(disk), OLD_FILE=str(disk / "old.log"))
    index = place.page("README", STORE_OF_THE_SERVER=place.env["AGUI_GATE_STORE"])
    waits = server.ask("ann", "t1", "refund R1")
    held = server.ask("ann", "t2", "wait W1")
    deciding = server.aside(server.decide, "ann", held)
    server.until(lambda: len(place.effects()) == 1, "at work")

    index.run("First", 1)
    index.run("First", 2)
    fill(disk / "old.log")
    server.until(lambda: server.ready() == 503, "away")
    refused = server.decide("ann", waits)
    assert (refused.status_code, "the disk is full" in refused.text) == (503, True)
    place.open_door()
    server.until_logged("result_not_saved")
    assert "the disk is full" in page.run("Look", 1, code=1)
    assert "old.log" in page.run("Look", 2)
    told = index.run("First", 3, BUNDLE=str(disk / "bundle.json"), code=1)
    assert "bundle.json can't be written: No space left on device. Nothing is left of it." in told
    assert not [name for name in os.listdir(disk) if "bundle" in name]
    index.run("First", 3, BUNDLE=str(place.folder / "bundle.json"))
    assert "the disk is full" in (place.folder / "bundle.json").read_text()

    index.end()
    page.run("Cure", 1)
    server.until(lambda: server.ready() == 200, "ready")
    server.until(lambda: server.record("ann", held)["state"] == "done", "saved")
    deciding.result()
    page.run("Verify")
    assert server.decide("ann", waits).json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["W1", "R1"], "each ran once"
    page.end(but={("Cure", 2)})


def test_a_disk_that_is_read_only(place: Place, failing: Path) -> None:
    place.env |= {"AGUI_GATE_STORE": f"sqlite:///{failing}/gate.db", "PATH": path_of_root(place.folder)}
    server = place.start()
    find = ["findmnt", "--noheadings", "--output", "SOURCE", str(failing)]
    device = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
    page = place.page("store", SERVER=server.url, FOLDER=str(failing), DEVICE=device)
    waits, hung = server.ask("ann", "t1", "refund R1"), server.ask("ann", "t2", "hang H1")
    server.aside(server.decide, "ann", hung)
    server.until(lambda: len(place.effects()) == 1, "at work")
    trigger = f"/sys/fs/ext4/{Path(device).name}/trigger_fs_error"
    subprocess.run([*AS_ROOT, "tee", trigger], check=True, input=b"1", capture_output=True)
    server.until(lambda: server.ready() == 503, "away")
    refused = server.decide("ann", waits)
    assert (refused.status_code, "can't be read or written" in refused.text) == (503, True)
    assert "read-only" in page.run("Look", 1, code=1)

    server.end(signal.SIGKILL)
    page.run("Cure", 2)
    server = place.start()
    assert "Done." in server.say("ann", "t2", "thanks").text
    assert server.record("ann", hung)["state"] == "unknown"
    place.page("unknown", APPROVAL=hung).run("Cure", 1)
    page.run("Verify", SERVER=server.url)
    assert server.decide("ann", waits).json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["H1", "R1"], "each ran once"
    server.end()


@pytest.fixture
def small_database(postgres: Postgres, database: str) -> Iterator[tuple[str, Path]]:
    """A database on a small disk of its own; its log is on another one. Its URL, and the folder."""
    name, user = database.rpartition("/")[2], USER or {"user": os.geteuid(), "group": os.getegid()}
    owner = f"size=64M,mode=0700,uid={user['user']},gid={user['group']}"
    with mounted(postgres.folder / "small", "-t", "tmpfs", "-o", owner, "tmpfs") as folder:
        (folder / "data").mkdir()
        os.chown(folder / "data", user["user"], user["group"])
        postgres.execute(f"CREATE TABLESPACE small LOCATION '{folder / 'data'}'")
        postgres.execute(f"ALTER DATABASE {name} SET TABLESPACE small")
        yield database, folder
        postgres.execute(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{name}'")
        postgres.execute(f"ALTER DATABASE {name} SET TABLESPACE pg_default")
        postgres.execute("DROP TABLESPACE small")


def test_a_database_whose_disk_is_full(small_database: tuple[str, Path], place: Place) -> None:
    """A read, and a write of a row that has its place, go well meanwhile: it is learnt from a write that didn't."""
    store, folder = small_database
    place.env |= {"AGUI_GATE_STORE": store, "AGUI_GATE_METRICS": f"127.0.0.1:{free_port()}"}
    server = place.start()
    page = place.page("store", SERVER=server.url, FOLDER=str(folder), OLD_FILE=str(folder / "old.log"))

    def is_up() -> bool:
        return "agui_gate_store_up 1.0" in httpx2.get(f"http://{place.env['AGUI_GATE_METRICS']}/metrics").text

    waits = server.ask("ann", "t1", "refund R1")
    fill(folder / "old.log")
    assert (server.ready(), is_up()) == (200, True), "nothing has told it"
    saying = server.aside(server.say, "ann", "t2", f"thanks {os.urandom(50_000).hex()}")
    server.until(lambda: server.ready() == 503, "away")
    assert server.send("nobody", "GET", "/readyz").json()["error"]["message"] == FULL
    server.until(lambda: not is_up(), "down")
    assert [server.ready() for _ in range(3)] == [503] * 3, "it stays so, though a row is written"
    assert FULL in page.run("Look", 1, code=1)
    assert "old.log" in page.run("Look", 2)
    page.run("Cure", 1)
    server.until(lambda: server.ready() == 200, "ready")
    server.until(is_up, "up")
    assert saying.result().is_success
    page.run("Verify")
    assert server.decide("ann", waits).json()["state"] == "done"


def test_a_database_that_is_read_only(place: Place, postgres: Postgres, database: str) -> None:
    name = database.rpartition("/")[2]
    place.env["AGUI_GATE_STORE"] = database
    server = place.start()
    page = place.page("store", SERVER=server.url)
    waits = server.ask("ann", "t1", "refund R1")
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    server.until(lambda: server.ready() == 503, "away")
    assert server.decide("ann", waits).status_code == 503
    assert "read-only" in page.run("Look", 1, code=1)
    assert place.effects() == []
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    server.until(lambda: server.ready() == 200, "ready")
    page.run("Verify")
    assert server.decide("ann", waits).json()["state"] == "done"
    assert len(place.effects()) == 1
