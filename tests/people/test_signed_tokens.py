"""Tokens of an issuer: what is taken, what is not, and keys that change."""

import asyncio
import http.client
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.extras.people import key_set, signed_tokens
from agui_gate.extras.people.key_set import FetchedKeys, Keys, read_keys
from agui_gate.extras.people.signed_tokens import check_keys
from agui_gate.http.auth import Admission
from agui_gate.stores.clock import StoreClock, boot_clock
from agui_gate_adapters.testkit.agui import serving
from tests.people.desk import Desk
from tests.people.issuer import AUDIENCE, FORGERIES, ISSUER, every_key, public, token, write
from tests.product.inprocess import Parrot, request, started

pytestmark = pytest.mark.anyio

SECONDS = 10.0


class JwtDesk(Desk):
    """A desk whose people are known by an issuer's tokens."""

    def __init__(self, path: Path, **more: Any) -> None:
        super().__init__({})
        self.settings = settings(path, **more)

    @asynccontextmanager
    async def open(self, store: Any = "memory://", bus: Any = None, **more: Any) -> AsyncIterator["Desk"]:
        """Within: it serves."""
        async with started(create_app(self.agent(), store=store, bus=bus, settings=self.settings)) as self.app:
            yield self


def settings(path: Path | str, **more: Any) -> Settings:
    known = {"jwt_tenant": "org", "jwt_roles": "realm.roles", "jwt_leeway": 5.0}
    return Settings(jwt_issuer=ISSUER, jwt_audience=(AUDIENCE,), jwt_jwks=str(path), **{**known, **more})


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    write(tmp_path / "keys.json", *every_key())
    return tmp_path / "keys.json"


def bearer(text: str) -> str:
    return f"Bearer {text}"


@pytest.mark.parametrize(("kind", "name"), [("RS256", "rsa"), ("PS256", "pss"), ("ES256", "ec"), ("EdDSA", "ed")])
async def test_a_token_of_the_issuer_says_who_it_is(keys: Path, kind: str, name: str) -> None:
    who = bearer(token(kind, name, sub="ada", staff="p1", team="desk", acr="mfa", amr=["otp"], auth_time=7, jti="j"))
    async with JwtDesk(keys, jwt_person="staff", jwt_acts_for="team").open() as desk:
        approval_id = await desk.ask(who)
        assert (await desk.decide(who, approval_id)).status == 200
        (ran,) = desk.ran
        assert (ran.owner, ran.principal) == ("desk", "ada")
        asked, *_, approved = [event for event in await desk.trail() if event.kind in ("asked", "approved")]
        assert (asked.principal, approved.by) == ("acme\x1fdesk", "ada")
        said = json.loads(approved.body)
        assert {name: said[name] for name in ("person", "acr", "amr", "auth_time", "jti", "address")} == {
            "person": "p1",
            "acr": "mfa",
            "amr": ["otp"],
            "auth_time": 7,
            "jti": "j",
            "address": "127.0.0.1",
        }


async def test_1_000_forged_tokens_of_20_kinds(keys: Path) -> None:
    """None is accepted, and none is a failure of ours."""
    assert len(FORGERIES) >= 20
    chance, bad = Random(23), []
    async with JwtDesk(keys).open() as desk:
        good = bearer(token())
        assert (await desk.get(good, "/approvals")).status == 200
        for kind, forge in FORGERIES.items():
            for _ in range(50):
                forged = forge(chance)
                head = {"authorization": bearer(forged).encode().decode("latin-1")}
                answer = await request(desk.app, "GET", "/approvals", headers=head)
                if answer.status != 401:
                    bad.append((kind, answer.status, forged))
        assert bad == []
        assert (await desk.get(good, "/approvals")).status == 200


@pytest.mark.parametrize("claim", ["staff", "team"])
async def test_a_claim_that_is_read_has_to_be_there(keys: Path, claim: str) -> None:
    async with JwtDesk(keys, jwt_person="staff", jwt_acts_for="team").open() as desk:
        good: dict[str, Any] = {"staff": "p1", "team": "desk"}
        assert (await desk.get(bearer(token(**good)), "/approvals")).status == 200
        assert (await desk.get(bearer(token(**(good | {claim: None}))), "/approvals")).status == 401


async def test_nobody_says_by_themselves_which_person_they_are(keys: Path) -> None:
    """Unless the settings read it, a claim of that name is left aside."""
    who = bearer(token(person="boss"))
    async with JwtDesk(keys).open() as desk:
        await desk.decide(who, await desk.ask(who))
        approved = next(event for event in await desk.trail() if event.kind == "approved")
        assert json.loads(approved.body)["person"] == "ada"


async def test_fixed_tokens_may_be_accepted_beside_it_and_overlap(keys: Path) -> None:
    tokens = {"bot": ("old-token", "new-token"), "cron": "third"}
    async with JwtDesk(keys, tokens=tokens).open() as desk:
        for text in ("old-token", "new-token", "third", token()):
            assert (await desk.get(bearer(text), "/approvals")).status == 200
        assert (await desk.get(bearer("old"), "/approvals")).status == 401


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"jwt_audience": ()}, "also need AGUI_GATE_JWT_AUDIENCE"),
        ({"jwt_issuer": ""}, "also need AGUI_GATE_JWT_ISSUER"),
        ({"jwt_jwks": ""}, "also need AGUI_GATE_JWT_JWKS"),
        ({"jwt_jwks": "http://id.example/keys"}, "must be a file or an https:// URL"),
        ({"jwt_jwks": "ftp://id.example/keys"}, "must be a file or an https:// URL"),
        ({"jwt_jwks": "https://[id.example/keys"}, "must be a file or an https:// URL"),
        ({"jwt_jwks": "https://id.example:keys/"}, "must be a file or an https:// URL"),
        ({"jwt_jwks": "https:///keys"}, "must be a file or an https:// URL"),
        ({"jwt_jwks": "nothing.json"}, "can't be read"),
        ({"jwt_revoked": "nothing.txt"}, "The revoked tokens in nothing.txt .* can't be read"),
    ],
)
def test_settings_that_lack_something_stop_the_start(keys: Path, more: dict[str, Any], message: str) -> None:
    """They never leave the server open."""
    given = {"jwt_issuer": ISSUER, "jwt_audience": (AUDIENCE,), "jwt_jwks": str(keys), **more}
    with pytest.raises(ConfigurationError, match=message):
        create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings(**given))


def nest(path: Path) -> None:
    """Writes what no issuer does."""
    path.write_text("[" * 100_000)


async def test_a_file_of_keys_that_is_nested_too_deeply_is_none(keys: Path) -> None:
    async with JwtDesk(keys).open() as desk:
        nest(keys)
        assert (await desk.get(bearer(token()), "/threads")).status == 503
    with pytest.raises(ConfigurationError, match="can't be read: ValueError: it is nested too deeply"):
        create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys))


async def test_doctor_reads_the_file_of_keys_once(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def counted(body: bytes) -> Any:
        read.append(body)
        return read_keys(body)

    monkeypatch.setattr(key_set, "read_keys", counted)
    assert (await check_keys(settings(keys))).ok
    assert len(read) == 1


# --- keys -----------------------------------------------------------------------------------------------------------


async def test_a_key_that_is_taken_out_of_the_file_ends_its_tokens_and_their_streams(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Admission.AGAIN_SECONDS <= 4.0, "a stream ends within five seconds"
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.05)
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys))
    head = {"authorization": bearer(token())}
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:
        async with client.stream("GET", "/approvals/events", headers=head) as stream:
            write(keys, public("ES256", "ec"))
            await over(stream)
        assert (await client.get("/approvals", headers=head)).status_code == 401
        assert (
            await client.get("/approvals", headers={"authorization": bearer(token("ES256", "ec"))})
        ).status_code == 200
        remove(keys)
        assert (
            await client.get("/approvals", headers={"authorization": bearer(token("ES256", "ec"))})
        ).status_code == 503


async def test_a_stream_ends_when_its_token_is_over(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.05)
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys, jwt_leeway=0.0))
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:
        head = {"authorization": bearer(token(exp=int(time.time()) + 2))}
        async with client.stream("GET", "/approvals/events", headers=head) as stream:
            assert stream.status_code == 200
            await over(stream)


async def test_a_token_that_was_over_stays_so_when_the_clock_is_set_back(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock goes back by an hour, below a server that runs."""
    tokens = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys)).state.guard.auth
    ahead = [7_200_000]
    clock = StoreClock(lambda: time.time_ns() // 1_000_000 + ahead[0])
    monkeypatch.setattr(clock, "_ticks", boot_clock)
    monkeypatch.setattr(tokens, "_clock", clock)
    assert await tokens(asking(token(exp=int(time.time()) + 3600))) is None
    ahead[0] = 0
    assert await tokens(asking(token(exp=int(time.time()) + 3600))) is None
    assert await tokens(asking(token(exp=int(time.time()) + 7500))) == "ada"


async def test_a_clock_that_is_behind_the_issuers_is_said(keys: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute, and only by what the issuer has signed: nobody else can write that into the log."""
    tokens = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys)).state.guard.auth
    later = int(time.time()) + 3600
    for name in ("forger", "rsa", "rsa"):
        future = token("RS256", name, headers={"kid": "rsa"}, iat=later, exp=later + 300)
        assert await tokens(asking(future)) is None
        assert caplog.text.count("clock_differs") == (name == "rsa")


def asking(bearer_token: str) -> Request:
    head = [(b"authorization", f"Bearer {bearer_token}".encode())]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": head})


async def test_a_token_that_is_revoked_is_refused_and_its_streams_end(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.05)
    revoked = tmp_path / "revoked"
    revoked.write_text("# the laptop that was lost\nj-0\n")
    app = create_app(
        Agent(name="a", model=Parrot()), store="memory://", settings=settings(keys, jwt_revoked=str(revoked))
    )
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:

        async def status(**claims: Any) -> int:
            head = {"authorization": bearer(token(**claims))}
            return (await client.get("/approvals", headers=head)).status_code

        assert [await status(jti=jti) for jti in ("j-0", "j-1", "j-2", "", 7)] == [401, 200, 200, 401, 401]
        assert await status() == 401
        async with client.stream("GET", "/approvals/events", headers={"authorization": bearer(token(jti="j-1"))}) as s:
            assert s.status_code == 200
            revoked.write_text("j-0\nj-1 # left the company\n")
            await over(s)
        assert [await status(jti=jti) for jti in ("j-1", "j-2")] == [401, 200]
        revoked.write_bytes(b"\xff")
        assert await status(jti="j-2") == 503
        revoked.write_text("j-0\n" * 300_000)
        assert await status(jti="j-2") == 503
        remove(revoked)
        assert await status(jti="j-2") == 503


def remove(path: Path) -> None:
    path.unlink()


async def over(stream: httpx2.Response) -> None:
    """Reads to the end, which the server may make at any byte."""
    async with asyncio.timeout(SECONDS):
        try:
            async for _ in stream.aiter_bytes():
                pass
        except httpx2.RemoteProtocolError:
            pass


class Issuer:
    """A server of keys. ``answers``: how to answer, and how often it was asked."""

    def __init__(self) -> None:
        self.status, self.body, self.asked = 200, b"", 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                if issuer.status == 302:
                    self.send_header("location", "/keys")
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"

    def has(self, *keys: Any) -> None:
        self.body = json.dumps({"keys": keys}).encode()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


class Time:
    """Seconds, moved by the test."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(key_set, "time", made)
    return made


async def test_keys_are_fetched_once_and_again_for_a_new_one(issuer: Issuer, clock: Time) -> None:
    issuer.has(public("ES256", "ec"))
    keys = FetchedKeys(issuer.url)
    found = await asyncio.gather(*(keys.find("ec") for _ in range(20)))
    assert [one and one["kid"] for one in found] == ["ec"] * 20
    assert issuer.asked == 1
    issuer.has(public("EdDSA", "ed"))
    assert await keys.find("ed") is None, "it has just been asked"
    clock.now += key_set.PAUSE_SECONDS
    assert await keys.find("ed") is not None
    assert await keys.find("ec") is None, "rotated"
    assert issuer.asked == 2


async def test_ids_that_nobody_has_do_not_make_it_fetch(issuer: Issuer, clock: Time) -> None:
    issuer.has(public("ES256", "ec"))
    keys = FetchedKeys(issuer.url)
    for number in range(100):
        assert await keys.find(f"forged-{number}") is None
    assert issuer.asked == 1


async def test_a_key_that_is_withdrawn_is_gone_after_a_while(issuer: Issuer, clock: Time) -> None:
    issuer.has(public("ES256", "ec"), public("EdDSA", "ed"))
    keys = FetchedKeys(issuer.url)
    assert await keys.find("ec") is not None
    issuer.has(public("EdDSA", "ed"))
    clock.now += key_set.RENEW_SECONDS + 1
    assert await keys.find("ec") is None


@pytest.mark.parametrize("status", [500, 302, 200])
async def test_keys_that_can_not_be_fetched_let_nobody_in_after_a_while(
    issuer: Issuer, clock: Time, status: int
) -> None:
    issuer.has(public("ES256", "ec"))
    keys = FetchedKeys(issuer.url)
    assert await keys.find("ec") is not None
    issuer.status, issuer.body = status, b"{}"
    clock.now += key_set.TRUST_SECONDS - 1
    assert await keys.find("ec") is not None
    clock.now += 2
    with pytest.raises(Unavailable):
        await keys.find("ec")
    issuer.status = 200
    issuer.has(public("ES256", "ec"))
    clock.now += key_set.PAUSE_SECONDS
    assert await keys.find("ec") is not None


async def test_what_is_no_http_ends_no_request_whose_key_is_known(
    issuer: Issuer, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.has(public("ES256", "ec"))
    keys = FetchedKeys(issuer.url)
    assert await keys.find("ec") is not None
    tries: list[str] = []

    def fails(url: str) -> bytes:
        tries.append(url)
        clock.now += key_set.PAUSE_SECONDS + 1  # it took longer than the pause between two tries
        raise http.client.BadStatusLine("hello")

    monkeypatch.setattr(key_set, "fetch", fails)
    clock.now += key_set.RENEW_SECONDS + 1
    assert await keys.find("ec") is not None
    assert await keys.find("ec") is not None
    assert len(tries) == 1, "the pause begins when a try ends"


async def test_nobody_is_let_in_before_there_are_keys(issuer: Issuer, clock: Time) -> None:
    issuer.body = b"x" * (key_set.MAX_SET + 1)
    keys = FetchedKeys(issuer.url)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await keys.find("ec")
    assert issuer.asked == 1


def test_of_two_keys_with_one_id_neither_counts() -> None:
    keys = [public("ES256", "ec"), public("EdDSA", "ed", kid="ec"), public("EdDSA", "ed")]
    assert list(read_keys(json.dumps({"keys": keys}).encode()).named) == ["ed"]


def test_a_token_that_names_no_key_has_the_only_one() -> None:
    key, other = public("ES256", "ec"), public("EdDSA", "ed")
    assert Keys({"ec": key}, []).find(None) == Keys({}, [key]).find(None) == key
    assert Keys({"ec": key, "ed": other}, []).find(None) is Keys({}, []).find(None) is None


@pytest.mark.parametrize(("key_id", "is_plain"), [("k", True), ("k" * 500, True), ("", False), ("k" * 501, False)])
def test_the_id_of_a_key_has_a_length(key_id: str, is_plain: bool) -> None:
    assert signed_tokens._is_plain({"kid": key_id}) is is_plain


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"keys":[]}', b'{"keys":[7]}', b'{"keys":{}}', b'{"keys":[{"kty":"RSA"}]}']
)
def test_what_is_no_set_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_keys(body)
