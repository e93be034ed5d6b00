"""Every adapter as an object: what it costs to make, what it is called, what it sends, what `doctor` hears."""

import subprocess
import sys
from typing import Any

import anyio
import httpx2
import pytest

from agui_gate.adapter import Adapter, TurnRequest
from agui_gate.errors import ConfigurationError, ProviderAuth, ProviderRejected, ProviderUnavailable
from agui_gate_adapters.testkit import Emulator, serve

from .subject import Subject, Way
from .subjects import SUBJECTS, every_adapter, every_subject
from .support import ANSWER, STREAM, Json, asked, run, user

pytestmark = pytest.mark.anyio


@every_subject
def test_it_is_an_adapter(subject: Subject) -> None:
    assert isinstance(subject.make("m"), Adapter)


@every_subject
def test_making_one_imports_no_sdk(subject: Subject) -> None:
    code = (
        f"import sys; from agui_gate_adapters.{subject} import {subject.make.__name__} as adapter; adapter('m');"
        f"sys.exit(any(name in sys.modules for name in ({subject.sdk!r}, 'httpx2')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@every_subject
async def test_a_missing_package_is_one_sentence(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, subject.sdk, None)
    model = subject.make("m", api_key="k")
    with pytest.raises(ProviderRejected) as caught:
        await asked(model)
    assert str(caught.value) == f"The package {subject.sdk} is not installed: {subject.install}."
    (finding,) = await model.check()
    assert finding.fix == subject.install


# --- address, key, client -----------------------------------------------------------------------------------------


@every_subject
@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        (None, None),
        ("http://user:pw@127.0.0.1:8099/v1?key=1", "127.0.0.1:8099"),
        ("http://127.0.0.1:8099/v1/", "127.0.0.1:8099"),
    ],
)
@pytest.mark.usefixtures("no_environment")
def test_origin(subject: Subject, base_url: str | None, host: str | None) -> None:
    model = subject.make("m", base_url=base_url)
    begins = subject.origin_elsewhere or subject.origin if host else subject.origin
    assert model.origin == f"{begins}:{host or subject.host}:m"
    assert model.origin in repr(model)
    assert "pw" not in repr(model)


@every_subject
def test_the_environment_names_the_host(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(subject.address, "http://elsewhere:1/v1")
    assert subject.make("m").origin == f"{subject.origin_elsewhere or subject.origin}:elsewhere:1:m"


@pytest.mark.parametrize(
    ("subject", "base_url"),
    [
        (subject, base_url)
        for subject in SUBJECTS
        for base_url in (None, "http://127.0.0.1:9/v1")
        if base_url is None or subject.needs_a_key_everywhere
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_environment")
async def test_no_key(subject: Subject, base_url: str | None) -> None:
    model = subject.make("m", base_url=base_url)
    with pytest.raises(ProviderAuth) as caught:
        await asked(model)
    assert str(caught.value) == f"There is no API key: set {subject.key} or pass api_key."
    (finding,) = await model.check()
    assert not finding.ok
    assert subject.key in finding.fix


@every_subject
@pytest.mark.usefixtures("no_environment")
async def test_the_environment_s_key_and_address_are_used(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Emulator(script=[ANSWER], api_key="sk-mine")) as base_url:
        monkeypatch.setenv(subject.key, "sk-mine")
        monkeypatch.setenv(subject.address, base_url)
        model = subject.make("m")
        assert (await asked(model)).text == "Sunny in both."
        await model.aclose()


@every_subject
async def test_a_caller_s_client_stays_open(subject: Subject) -> None:
    async with serve(Emulator(script=[ANSWER, ANSWER])) as base_url:
        address = base_url.removesuffix("/v1") + subject.base_path
        async with subject.client(base_url=address, api_key="k") as client:
            model = subject.make("m", client=client)
            for _ in range(2):
                assert (await asked(model)).text == "Sunny in both."
                await model.aclose()


@every_subject
def test_a_client_that_would_block_is_refused(subject: Subject) -> None:
    with pytest.raises(ConfigurationError, match="asynchronous"):
        subject.make("m", client=subject.blocking_client(api_key="k"))


# --- requests and answers -----------------------------------------------------------------------------------------


@every_subject
@pytest.mark.parametrize("end", ["whole", "without its last line"])
async def test_what_is_sent(subject: Subject, end: str) -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        body = subject.said("hi")
        return httpx2.Response(200, content=body if end == "whole" else body.rstrip(), headers=STREAM)

    turn = await asked(subject.answering(handler))
    assert turn.text == "hi"
    (request,) = seen
    assert request.url == f"http://127.0.0.1{subject.base_path}{subject.path}"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.headers["accept-encoding"] == "identity"
    assert b"null" not in request.content


@every_subject
async def test_what_is_not_json_is_refused_before_it_is_sent(subject: Subject) -> None:
    model = subject.answering(lambda _: httpx2.Response(500))
    with pytest.raises(ProviderRejected, match="JSON"):
        await run(model, TurnRequest((user("\ud800"),)))


NO_STREAMS = {
    "html": httpx2.Response(200, html="<html>welcome</html>"),
    "json": httpx2.Response(200, json={"id": "x", "choices": []}),
    "garbage": httpx2.Response(200, content=b"data: <html>\n\n", headers=STREAM),
    "empty": httpx2.Response(200, content=b"", headers=STREAM),
    "nothing said": httpx2.Response(200, content=b"data: [DONE]\n\n", headers=STREAM),
    "text": httpx2.Response(200, content=b"upstream connect error", headers=STREAM),
    "error": httpx2.Response(200, content=b'data: {"error":"no upstream"}\n\n', headers=STREAM),
}


@every_subject
@pytest.mark.parametrize("reply", NO_STREAMS)
async def test_answers_that_are_no_streams(subject: Subject, reply: str) -> None:
    calls = 0

    def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        said = NO_STREAMS[reply]
        return httpx2.Response(said.status_code, content=said.content, headers=said.headers)

    with pytest.raises(ProviderUnavailable):
        await asked(subject.answering(handler))
    assert calls == 2


@every_subject
@pytest.mark.parametrize("body", ["oops", {"error": "oops"}, {"error": [3]}, {"message": "model: x"}, []])
async def test_errors_in_another_shape(subject: Subject, body: Any) -> None:
    model = subject.answering(lambda _: httpx2.Response(400, json=body))
    with pytest.raises(ProviderRejected, match="400"):
        await asked(model)


# --- doctor -------------------------------------------------------------------------------------------------------


@every_adapter
async def test_check_is_content_with_a_provider_that_works(way: Way) -> None:
    async with way.talking([]) as (_, thread):
        (finding,) = await thread.model.check()
    assert finding.ok, finding.detail


@every_adapter
async def test_check_names_a_model_that_is_not_there(way: Way) -> None:
    async with way.talking([], emulator={"models": frozenset({"another-model"})}) as (_, thread):
        (finding,) = await thread.model.check()
    assert not finding.ok
    assert "model's name" in finding.fix


WRONG = ("key", "model", "address", "page", "gateway", "quota")


def wrong(subject: Subject, what: str) -> tuple[httpx2.Response, str]:
    """What the provider answers, and what has to be said about it."""
    key: Json = {"error": {"code": "invalid_api_key", "message": "sk-secret"}}
    quota: Json = {"error": {"code": "insufficient_quota", "message": "sk-secret"}}
    replies = {
        "key": (httpx2.Response(401, json=key), subject.key),
        "model": (httpx2.Response(404, json=subject.unknown_model), "model's name"),
        "address": (httpx2.Response(404, html="<html>"), f"base_url ({subject.address})"),
        "page": (httpx2.Response(200, html="<html>"), f"base_url ({subject.address})"),
        "gateway": (httpx2.Response(502, html="<html>"), f"base_url ({subject.address})"),
        "quota": (httpx2.Response(429, json=quota), "quota"),
    }
    return replies[what]


@every_subject
@pytest.mark.parametrize("what", WRONG)
async def test_check_names_a_fix(subject: Subject, what: str) -> None:
    reply, fix = wrong(subject, what)
    (finding,) = await subject.answering(lambda _: reply).check()
    assert finding.ok is (None if what in ("address", "page") else False)  # there, nobody can tell (T20)
    assert fix in finding.fix
    assert "secret" not in finding.detail


@every_subject
async def test_check_is_bounded(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr("agui_gate_adapters.common.doctor.LIMIT_SECONDS", 0.05)
    (finding,) = await subject.answering(hang).check()  # type: ignore[arg-type]  # httpx2 takes both kinds of handlers
    assert not finding.ok
    assert "no answer" in finding.detail
    assert finding.fix.startswith("If it answered before, the provider hangs: ")
