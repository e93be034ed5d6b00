"""The error tree is the one that its docstring draws, and its codes are the contract's."""

import re

import pytest

from agui_gate import errors
from agui_gate.http.exception_handlers import status_of

CODES = {
    "invalid_request", "unauthorized", "forbidden", "not_allowed", "frozen", "not_found", "thread_busy", "lease_lost",
    "gone", "too_large", "unsupported_media_type", "approval_pending", "approval_refused", "rate_limited",
    "provider_auth",
    "provider_rejected", "provider_unavailable", "context_length", "tool_failed", "limit_reached", "abort",
    "unavailable", "interrupted", "internal", "output_unfit",
}  # fmt: skip


def tree(root):
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


CLASSES = {error.__name__: error for error in tree(errors.AguiGateError)}


def test_every_class_is_drawn() -> None:
    drawn = set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b", errors.__doc__))
    assert set(CLASSES) <= drawn


@pytest.mark.parametrize("name", CLASSES)
def test_codes_and_statuses_are_documented_ones(name: str) -> None:
    error = CLASSES[name]
    assert error.code in CODES
    assert error.status in {400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503}
    line = next(line for line in errors.__doc__.splitlines() if re.search(rf"\b{name}\b", line))
    for status in re.findall(r"\b([45]\d\d)\b(?! when)", line)[:1]:
        assert error.status == int(status)
    if error.code != "internal" and error not in (errors.RequestError, errors.ProviderError):
        assert error.code in line


def test_every_code_has_a_class_but_the_one_that_is_no_failure() -> None:
    assert {error.code for error in CLASSES.values()} == CODES - {"abort"}


def test_what_is_well_formed_but_wrong_is_422() -> None:
    assert status_of(errors.InvalidRequest("x")) == 400
    assert status_of(errors.InvalidRequest("x", well_formed=True)) == 422
    assert status_of(errors.ThreadBusy("x")) == 409
