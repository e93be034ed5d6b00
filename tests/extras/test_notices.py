"""The words of notices on both pages: what to do about each error that a person can meet."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agui_gate import errors
from tests.requirements import shows

pytestmark = shows("T4")

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "built-in": ROOT / "server/agui_gate/extras/page/files/notices.js",
    "copilot": ROOT / "frontend-demo/src/problems.ts",
}
OWN = {"network", "incomplete", "wrong_address"}
"""Codes that pages have for what never came from the server."""

NOT_SHOWN = {"invalid_request", "unsupported_media_type"}
"""A page of ours doesn't send what these refuse. Were it to, the default words do."""

_ADVICE = re.compile(r"const ADVICE[^=]*= \{\n(.*?)\n\};", re.DOTALL)
_LINE = re.compile(r"  (\w+): \"(.*)\",")


def codes(kind: type[errors.AguiGateError] = errors.AguiGateError) -> Iterator[str]:
    for below in kind.__subclasses__():
        if "code" in vars(below) and below.__module__ == errors.__name__:  # not the client's, which no page meets
            yield below.code
        yield from codes(below)


def advice(page: str) -> dict[str, str]:
    found = _ADVICE.search(PAGES[page].read_text())
    assert found is not None
    lines = [_LINE.fullmatch(line) for line in found[1].splitlines()]
    assert all(lines), found[1]
    return {line[1]: line[2] for line in lines if line is not None}


@pytest.mark.parametrize("page", PAGES)
def test_notices_are_about_errors_that_there_are(page: str) -> None:
    assert set(advice(page)) <= set(codes()) | OWN


def test_whatever_a_person_can_meet_has_words_of_its_own() -> None:
    assert set(codes()) - NOT_SHOWN <= set(advice("built-in"))


@pytest.mark.parametrize("page", PAGES)
def test_a_notice_says_what_to_do_and_not_again_what_happened(page: str) -> None:
    """What happened is the server's message, which stands above it: "There is no chat …", "… took longer than …"."""
    for code, words in advice(page).items():
        assert words.endswith((".", "?")), code
        assert not re.search(r"took too|too many steps|does not exist|is gone", words), code


def test_both_pages_say_the_same_about_the_same() -> None:
    ours, theirs = advice("built-in"), advice("copilot")
    different = {code for code in ours.keys() & theirs.keys() if ours[code] != theirs[code]}
    assert different <= {"thread_busy", "not_found", "incomplete"}  # each page's own word for what is on it
