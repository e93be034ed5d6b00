"""Turns after the first: what is sent, and how refusals are told, is the same for all turns of a client of ours."""

from collections.abc import Iterator
from itertools import repeat

import httpx2
import pytest

from agui_gate.adapter import TurnRequest
from agui_gate.errors import ProviderError
from agui_gate_adapters.common import transport
from agui_gate_adapters.openai_responses import OpenAIResponses

from .subject import Subject
from .subjects import SUBJECTS, every_subject
from .support import STREAM, Json, Model, asked, run, user, waits

pytestmark = pytest.mark.anyio

REPLIES: tuple[Json, ...] = (
    {"status_code": 400, "json": {"error": {"code": "context_length_exceeded", "message": "too long"}}},
    {"status_code": 400, "json": {"error": {"message": "messages[0].content[1].image_url.url", "param": "x"}}},
    {"status_code": 400, "json": {"error": "just a sentence"}},
    {"status_code": 400, "json": {"message": "no wrapper", "type": "invalid_request_error"}},
    {"status_code": 422, "json": ["a", "list"]},
    {"status_code": 401, "json": {"error": {"code": "invalid_api_key"}}},
    {"status_code": 404, "text": "<html>nothing here</html>"},
    {"status_code": 429, "json": {"error": {"code": "rate_limit_exceeded"}}, "headers": {"retry-after": "3"}},
    {"status_code": 429, "json": {"error": {"code": "insufficient_quota"}}},
    {"status_code": 500, "content": b""},
    {"status_code": 503, "content": b"\xff\xfe"},
    {"status_code": 307, "headers": {"location": "http://elsewhere/"}},
    {"status_code": 200, "json": {"id": "not a stream"}},
)


class Service:
    """A provider that answers in turns; ``requests`` is what it got."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.requests: list[httpx2.Request] = []
        self.replies: Iterator[Json] = repeat(self.fine())

    def fine(self, **headers: str) -> Json:
        return {"status_code": 200, "content": self.subject.said("hi"), "headers": {**STREAM, **headers}}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(**next(self.replies))

    def model(self, monkeypatch: pytest.MonkeyPatch) -> Model:
        """An adapter whose own client comes here."""
        monkeypatch.setattr(transport, "new_carrier", lambda limits: httpx2.MockTransport(self))
        model: Model = self.subject.make("m", base_url="http://127.0.0.1/v1", api_key="sk-1")
        waits(model)
        return model


@every_subject
async def test_every_turn_is_sent_alike(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{subject.variables}_CUSTOM_HEADERS", "x-team: refunds")
    service = Service(subject)
    model = service.model(monkeypatch)
    for _ in range(3):
        await asked(model)
    first, *others = service.requests
    assert first.headers["x-team"] == "refunds"
    assert "sk-1" in first.headers.get("authorization", "") + first.headers.get("x-api-key", "")
    assert [(r.method, r.url, r.headers, r.content, r.extensions) for r in others] == [
        (first.method, first.url, first.headers, first.content, first.extensions)
    ] * 2


@every_subject
async def test_every_turn_says_how_long_it_is_itself(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(subject)
    model = service.model(monkeypatch)
    for text in ("hi", "a longer message", "ho"):
        await run(model, TurnRequest((user(text),)))
    lengths = [len(request.content) for request in service.requests]
    assert lengths[1] > lengths[0]
    assert [request.headers.get_list("content-length") for request in service.requests] == [[str(n)] for n in lengths]


@every_subject
@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: f"{reply['status_code']}")
async def test_every_turn_is_refused_alike(subject: Subject, reply: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for turns_before in (0, 1):
        with monkeypatch.context() as patch:
            service = Service(subject)
            model = service.model(patch)
            for _ in range(turns_before):
                await asked(model)
            slept, service.replies = waits(model), repeat(reply)
            with pytest.raises(ProviderError) as caught:
                await asked(model)
            waited = [seconds >= 3 for seconds in slept]  # as the provider said; the rest is by chance
            told.append((type(caught.value), caught.value.message, waited, len(service.requests) - turns_before))
    assert told[0] == told[1]


@every_subject
async def test_a_cookie_is_kept_and_goes_when_it_is_over(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(subject)
    model = service.model(monkeypatch)
    refused: Json = {"status_code": 400, "headers": {"set-cookie": "at=1; Path=/"}}
    later = (None, "at=2; Path=/", "at=2; Path=/; Max-Age=0", None)
    fine = [service.fine(**({"set-cookie": cookie} if cookie else {})) for cookie in later]
    service.replies = iter([refused, *fine])
    with pytest.raises(ProviderError):
        await asked(model)
    for _ in fine:
        await asked(model)
    assert [request.headers.get("cookie") for request in service.requests] == [None, "at=1", "at=1", "at=2", None]


async def test_a_key_that_is_asked_for_each_time_is_asked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = iter(["sk-1", "sk-2", "sk-3"])

    async def key() -> str:
        return next(keys)

    service = Service(next(subject for subject in SUBJECTS if subject.make is OpenAIResponses))
    service.model(monkeypatch)
    model = OpenAIResponses("m", base_url="http://127.0.0.1/v1", api_key=key)
    for _ in range(3):
        await asked(model)
    assert [request.headers["authorization"][-4:] for request in service.requests] == ["sk-1", "sk-2", "sk-3"]
