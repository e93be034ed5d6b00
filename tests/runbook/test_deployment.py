"""An upgrade that goes wrong is taken back: the older version, whose wheel is kept, beside this tree's."""

from pathlib import Path

import pytest

from tests.releases import wheel
from tests.requirements import shows
from tests.runbook.place import Place

pytestmark = shows("B17")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the older version is."""
    return wheel.install(tmp_path_factory.mktemp("older"))


def test_a_bad_deployment_is_taken_back(place: Place, database: str, older: Path) -> None:
    place.env["AGUI_GATE_STORE"] = database
    page = place.page("deployment")
    before = place.start(older)
    early = before.ask("ann", "t1", "refund R1")

    bad = place.start(PROVIDER=f"{place.provider}/nowhere")  # which migrates
    waits = before.ask("ann", "t2", "refund R2")
    assert "RUN_ERROR" in bad.say("ann", "t3", "refund R3").text, "the symptom"
    assert bad.decide("ann", early).json()["state"] == "done"
    page.run("Look")
    before.end()

    back = place.start(older)
    assert bad.end() == 0
    assert back.ready() == 200
    page.run("Verify")
    assert back.decide("ann", waits).json()["state"] == "done"
    assert "Done." in back.say("ann", "t1", "thanks").text
    again = back.ask("ann", "t3", "refund R3")
    assert back.decide("ann", again).json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["R1", "R2", "R3"], "each ran once"
    page.end()


def test_a_file_that_was_migrated_goes_back_by_a_backup(place: Place, older: Path) -> None:
    """As the page says: the older version doesn't open it; restored, what waited is asked again."""
    file, copy = place.folder / "gate.db", place.folder / "copy.db"
    before = place.start(older)
    waits = before.ask("ann", "t1", "refund R1")
    restore = place.page("restore", STORE_FILE=str(file), BACKUP=str(copy), OLD=str(place.folder / "old"))
    before.end()
    place.command(older, "backup", str(copy))
    place.start().end()
    with pytest.raises(AssertionError, match="newer"):
        place.start(older)
    restore.run("Cure", 1)
    assert "has begun" in place.command(older, "migrate", "--restored")
    back = place.start(older)
    assert back.decide("ann", waits).status_code == 409
    assert back.decide("ann", f"{waits}.2").json()["state"] == "done"
    assert [effect["order"] for effect in place.effects()] == ["R1"]
