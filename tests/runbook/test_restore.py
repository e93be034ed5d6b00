"""A store that is older than what happened: a backup, a point in time, a standby. What was carried out since is found,
and nothing of it is carried out twice."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.requirements import shows
from tests.runbook.cluster import Cluster, cluster
from tests.runbook.page import Page
from tests.runbook.place import Place, Server
from tests.support.servers import USER, Postgres

pytestmark = shows("K2", "B9")

PAID = "Refund R-17 of 20 EUR was made"


class Story:
    """What happens around the moment of the backup. Before: a call waits, one is at work, one is done. After: the first
    is approved and runs, the second ends, another one is asked and runs.
    """

    def __init__(self, place: Place) -> None:
        self.place, self.server = place, place.start()

    def before(self) -> None:
        ask, decide = self.server.ask, self.server.decide
        assert decide("ann", ask("ann", "t0", "refund R0")).json()["state"] == "done"
        self.waits = ask("ann", "t1", "refund R1")
        self.at_work = ask("ann", "t2", "wait W1")
        self.deciding = self.server.aside(decide, "ann", self.at_work)
        self.server.until(lambda: len(self.place.effects()) == 2, "at work")

    def after(self) -> None:
        ask, decide = self.server.ask, self.server.decide
        self.place.open_door()
        assert self.deciding.result().json()["state"] == "done"
        assert decide("ann", self.waits).json()["state"] == "done"
        self.lost = ask("bob", "t3", "refund R2")
        assert decide("bob", self.lost).json()["state"] == "done"
        self.keys = {effect["order"]: effect["key"] for effect in self.place.effects()}
        assert list(self.keys) == ["R0", "W1", "R1", "R2"]

    def is_found(self, said: str) -> str:
        """The list of what was carried out since has each of the three; the id by which the first is asked again."""
        rows = {
            row[-1] if row[-2] != "not" else "not there": row
            for row in map(str.split, said.splitlines())
            if len(row) > 7 and row[2].startswith("apr_")
        }
        assert {name: row[2] for name, row in rows.items()} == {
            "pending": f"{self.waits}.2", "unknown": self.at_work, "not there": self.lost,
        }  # fmt: skip
        return f"{self.waits}.2"

    def is_settled(self, server: Server) -> None:
        """All is known of what is there, nothing ran twice, and no answer of before is carried out."""
        assert server.record("ann", self.waits)["state"] == "rejected"
        assert server.record("ann", self.at_work)["state"] == "done"
        assert server.decide("ann", self.waits).status_code == 409
        assert server.decide("bob", self.lost).status_code == 404
        for thread in ("t0", "t1", "t2"):
            assert "Done." in server.say("ann", thread, "thanks").text
        assert [effect["order"] for effect in self.place.effects()] == ["R0", "W1", "R1", "R2"]


def look_up(story: Story, page: Page, show: int, server: Server) -> str:
    """Looks up what was carried out by the key, which is the same as before; returns the id that is asked again."""
    again = f"{story.waits}.2"
    for approval, order in ((again, "R1"), (story.at_work, "W1")):
        assert story.keys[order] in page.run("Cure", show, APPROVAL=approval)
    refused = server.decide("ann", again)
    assert (refused.status_code, "frozen" in refused.text) == (403, True), "nobody approves it meanwhile"
    return again


def test_a_backup_of_a_file(place: Place) -> None:
    file = place.folder / "gate.db"
    page = place.page(
        "restore", STORE_FILE=str(file), BACKUP=str(place.folder / "copy.db"), OLD=str(place.folder / "old")
    )
    story = Story(place)
    story.before()
    page.run("Before it happens", 1)
    time = last_of_the_log(place)
    story.after()
    story.server.end()
    size = file.stat().st_size
    file.write_bytes(b"\x00" * size)  # a disk that has lost it

    page.run("Look", 1, code=2)
    page.run("Look", 2)
    page.run("Cure", 1)
    page.run("Cure", 3)
    page.run("Cure", 4)
    story.is_found(page.run("Cure", 5, TIME=time, code=1))
    server = place.start()
    again = look_up(story, page, 6, server)
    page.run("Cure", 7, PENDING=again, SERVER=server.url, TOKEN="token-of-ann")
    page.run("Cure", 8, UNKNOWN=story.at_work)
    page.run("Cure", 9)
    page.run("Verify")
    (left,) = [line for line in page.run("Cure", 5, TIME=time, code=1).splitlines() if "not there" in line]
    assert story.lost in left
    story.is_settled(server)
    page.end(but={("Cure", 2), ("Before it happens", 2)})


def test_a_dump_of_a_database(place: Place, postgres: Postgres, database: str) -> None:
    place.env["AGUI_GATE_STORE"] = database
    restored = postgres.url(f"{database.rpartition('/')[2]}_restored")
    values = {"DUMP": "gate.dump", "DATABASE_URL": database, "ADMIN_URL": postgres.url("postgres"),
              "NEW_URL": restored, "NEW_DATABASE": restored.rpartition("/")[2]}  # fmt: skip
    user = {**USER, "cwd": postgres.folder}
    page = place.page("restore", **values)
    story = Story(place)
    story.before()
    page.run("Before it happens", 2, user=user)
    time = last_of_the_log(place)
    story.after()
    story.server.end()
    page.run("Cure", 2, user=user)
    page.env["AGUI_GATE_STORE"] = place.env["AGUI_GATE_STORE"] = restored
    page.run("Cure", 3)
    story.is_found(page.run("Cure", 5, TIME=time, code=1))
    server = place.start()
    page.run("Cure", 8, UNKNOWN=story.at_work)
    page.run("Verify")
    assert server.decide("ann", story.waits).status_code == 409
    assert len(place.effects()) == 4
    server.end()
    postgres.drop(values["NEW_DATABASE"])


def last_of_the_log(place: Place) -> str:
    """The time of its last line, and a little more."""
    *_, last = re.findall(r"^timestamp=(\S+)Z", place.log.read_text(), re.MULTILINE)
    return f"{last[:-1]}9"


def test_a_point_in_time(place: Place) -> None:
    page = place.page("point-in-time")
    with cluster(page) as there:
        there.execute("CREATE DATABASE gate")
        place.env["AGUI_GATE_STORE"] = page.env["AGUI_GATE_STORE"] = there.url("gate")
        page.values |= {
            "ADMIN_URL": there.url(), "BASE": str(there.folder / "base"), "ARCHIVE": str(there.archive),
            "DATA": str(there.data), "DATABASE_URL": there.url("gate"),
        }  # fmt: skip
        story = Story(place)
        page.run("Before it happens", user=there.user)
        story.before()
        ((time, log_time),) = there.execute(
            "SELECT now()::timestamptz(6)::text, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
        )
        story.after()
        there.execute("DELETE FROM threads", "gate")
        assert story.server.record("ann", story.waits).get("error"), "the symptom"

        page.run("Look")
        story.server.end()
        page.run("Stop the harm", user=there.user)
        page.run("Cure", 1, user=there.user, TIME=time)
        page.run("Cure", 2)
        page.run("Cure", 3)
        server = place.start()
        story.is_found(page.run("Cure", 4, LOG_TIME=log_time, code=1))
        again = look_up(story, page, 5, server)
        page.run("Cure", 6, PENDING=again, UNKNOWN=story.at_work, SERVER=server.url, TOKEN="token-of-ann")
        page.run("Cure", 7)
        page.run("Verify")
        story.is_settled(server)
        server.end()
    page.end()


@contextmanager
def with_standby(place: Place, page: Page, **settings: object) -> Iterator[Cluster]:
    """A primary and a standby, made as the page says. The store of the place is whichever of the two can be written."""
    with cluster(page, **settings) as there:
        there.execute("CREATE DATABASE gate")
        both = f"127.0.0.1:{there.url().rpartition(':')[2].partition('/')[0]},127.0.0.1:{there.standby_port}"
        place.env["AGUI_GATE_STORE"] = page.env["AGUI_GATE_STORE"] = (
            f"postgresql://postgres@{both}/gate?target_session_attrs=read-write"
        )
        page.values |= {
            "ADMIN_URL": there.url(), "STANDBY_DATA": str(there.standby), "OLD_DATA": str(there.data),
            "STANDBY_URL": f"postgresql://postgres@127.0.0.1:{there.standby_port}/gate",
        }  # fmt: skip
        page.run("Before it happens", user=there.user)
        there.configure(there.standby, port=there.standby_port)
        there.control("start", there.standby)
        yield there


def test_a_standby_takes_over(place: Place) -> None:
    page = place.page("failover")
    with with_standby(place, page, synchronous_commit="local") as there:
        server = place.start()
        waits = server.ask("ann", "t1", "refund R1")
        done = server.ask("ann", "t2", "refund R2")
        hung = server.ask("ann", "t3", "hang H1")
        server.aside(server.decide, "ann", hung)
        server.until(lambda: len(place.effects()) == 1, "at work")
        assert server.decide("ann", done).json()["state"] == "done"
        there.control("stop", there.data, "-m", "immediate")
        server.until(lambda: server.ready() == 503, "away")

        page.run("Look", 1, code=1)
        page.run("Look", 2, user=there.user)
        server.end(signal.SIGKILL)
        page.run("Stop the harm", user=there.user)
        page.run("Cure", 1, user=there.user)
        page.run("Cure", 2)
        assert "The store has all that" in page.run("Cure", 3, LOG_TIME="2026-01-01")
        page.run("Cure", 4)
        server = place.start()
        page.run("Cure", 5, APPROVAL=hung)
        page.run("Verify")
        assert server.record("ann", done)["state"] == "done", "the last one that was told is there"
        assert server.decide("ann", waits).status_code == 409
        assert server.decide("ann", f"{waits}.2").json()["state"] == "done"
        assert [effect["order"] for effect in place.effects()] == ["H1", "R2", "R1"]
        server.end()
    page.end()


def test_an_asynchronous_standby_takes_over(place: Place) -> None:
    page, next_page = place.page("failover"), place.page("point-in-time")
    with with_standby(place, page, synchronous_standby_names="") as there:
        story = Story(place)
        story.before()
        caught_up = "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication"
        story.server.until(lambda: there.execute(caught_up) == [(True,)], "replayed")
        with (there.standby / "postgresql.auto.conf").open("a") as conf:
            conf.write("primary_conninfo = ''\n")
        there.control("reload", there.standby)
        gone = "SELECT count(*) FROM pg_stat_replication"
        story.server.until(lambda: there.execute(gone) == [(0,)], "cut off")
        time = last_of_the_log(place)
        story.after()
        there.control("stop", there.data, "-m", "immediate")
        page.run("Look", 1, code=1)
        story.server.end(signal.SIGKILL)
        page.run("Stop the harm", user=there.user)
        page.run("Cure", 1, user=there.user)
        page.run("Cure", 2)
        story.is_found(page.run("Cure", 3, LOG_TIME=time, code=1))

        server, next_page.env = place.start(), page.env
        story.is_found(next_page.run("Cure", 4, LOG_TIME=time, code=1))
        again = look_up(story, next_page, 5, server)
        next_page.run("Cure", 6, PENDING=again, UNKNOWN=story.at_work, SERVER=server.url, TOKEN="token-of-ann")
        next_page.run("Cure", 7)
        page.run("Verify")
        story.is_settled(server)
        server.end()
