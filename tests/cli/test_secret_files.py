"""Secrets in files, read again on SIGHUP; the bundle for whoever helps; what `doctor` says as JSON."""

import asyncio
import errno
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from standardwebhooks import Webhook as StandardWebhook
from starlette.applications import Starlette
from starlette.routing import Mount
from structlog.testing import capture_logs

from agui_gate import Agent, create_app, release
from agui_gate.cli.server.plan import Plan, Ready
from agui_gate.cli.server.settings_files import SettingsFiles
from agui_gate.cli.server.uvicorn_server import Server, configure
from agui_gate.config.settings import Settings, load_settings
from agui_gate.config.sources import MAX_SECRET, is_of_file
from agui_gate.core.freezes import Freeze
from agui_gate.errors import ConfigurationError
from agui_gate.extras.audit.keys import Keys, key_id, keyed, read_keys
from agui_gate.extras.audit.verification import verify
from agui_gate.extras.notices.endpoints import read_endpoints
from agui_gate.extras.people import key_set
from agui_gate.extras.people.key_set import File, read_ids
from agui_gate.extras.usage.prices import Prices
from agui_gate.http.bearer import Bearer
from agui_gate.stores import open_store
from agui_gate.stores.base import Store
from agui_gate.stores.sqlite import SQLiteStore
from tests.cli.conftest import Cli
from tests.cli.support import running
from tests.extras.test_operations import prepare
from tests.people.desk import Desk
from tests.people.issuer import AUDIENCE, ISSUER, public, token
from tests.people.issuer import write as write_keys
from tests.people.receivers import SECRET, Receiver, receiving
from tests.product.inprocess import Parrot, started


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_secret_is_read_from_its_file(tmp_path: Path) -> None:
    tokens = write(tmp_path / "tokens", "# ours\nalice:one\nalice:two\n\nbob:three\n")
    store = write(tmp_path / "store", "postgresql://gate:s3cr3t@db/gate\n")
    settings = load_settings(environ={"AGUI_GATE_TOKENS_FILE": tokens, "AGUI_GATE_STORE_FILE": store})
    assert settings.tokens == {"alice": ("one", "two"), "bob": "three"}
    assert (settings.store, settings.source("store")) == ("postgresql://gate:s3cr3t@db/gate", "AGUI_GATE_STORE_FILE")
    assert "s3cr3t" not in settings.shown("store")
    config = tmp_path / "gate.toml"
    config.write_text(f"tokens_file = {tokens!r}\n")
    read = load_settings(config, environ={})
    assert (read.tokens, read.source("tokens")) == (settings.tokens, "tokens, named in gate.toml")
    over = {"AGUI_GATE_STORE_FILE": store}
    assert load_settings(environ=over, options={"store": "memory://"}).store == "memory://"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "can't be read: No such file or directory"),
        ("a folder", "can't be read: Is a directory"),
        (b"", "is empty"),
        (b"# nothing\n", "is empty"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"x" * (MAX_SECRET + 1), "is too long"),
    ],
)
def test_a_file_that_says_nothing_is_one_sentence(tmp_path: Path, content: bytes | str | None, why: str) -> None:
    path = tmp_path / "tokens"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    with pytest.raises(ConfigurationError, match=rf"^The file that AGUI_GATE_TOKENS_FILE names {why}\.$"):
        load_settings(environ={"AGUI_GATE_TOKENS_FILE": str(path)})


READERS: dict[str, Callable[[Path], object]] = {
    "tokens": lambda path: load_settings(environ={"AGUI_GATE_TOKENS_FILE": str(path)}),
    "settings": lambda path: load_settings(path, environ={}),
    "keys of the trail": lambda path: read_keys(Settings(audit_key_file=str(path))),
    "webhooks": lambda path: read_endpoints(str(path)),
    "prices": lambda path: Prices(str(path)),
    "revoked tokens": lambda path: File(path, read_ids, "revoked tokens", "jwt_revoked"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A pipe to which nobody writes would be waited for, and a device read without end."""
    os.mkfifo(pipe := tmp_path / "pipe")
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match=r"can't be read: It is not a regular file\."):
            read(path)


def test_what_a_file_says_is_never_in_a_message(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "s3cr3t-without-colon\n")
    two = write(tmp_path / "two", "postgresql://s3cr3t\nmore\n")
    for environ in (
        {"AGUI_GATE_TOKENS_FILE": path},
        {"AGUI_GATE_STORE_FILE": two},
        {"AGUI_GATE_STORE_FILE": path},
        {"AGUI_GATE_TOKENS_FILE": "alice:s3cr3t"},
    ):
        with pytest.raises(ConfigurationError, match="AGUI_GATE_") as refused:
            load_settings(environ=environ)
        assert "s3cr3t" not in refused.value.message


def test_a_secret_is_given_once_and_only_secrets_are_in_files(tmp_path: Path) -> None:
    path = write(tmp_path / "tokens", "alice:one\n")
    for environ in (
        {"AGUI_GATE_TOKENS": "bob:x", "AGUI_GATE_TOKENS_FILE": path},
        {"AGUI_GATE_TOKENS_FILE": path, "AGUI_GATE_TOKENS": "bob:x"},
    ):
        with pytest.raises(ConfigurationError, match="not both"):
            load_settings(environ=environ)
    with pytest.raises(ConfigurationError, match="AGUI_GATE_PORT_FILE is not a setting"):
        load_settings(environ={"AGUI_GATE_PORT_FILE": path})


@pytest.mark.anyio
async def test_the_keys_of_the_trail_rotate_while_it_is_signed(tmp_path: Path) -> None:
    """Each hangup in the middle of decisions: the trail says since when a key counts, and is whole with all of them."""
    path, url = tmp_path / "keys", f"sqlite:///{tmp_path / 'gate.db'}"
    secrets = [letter * 40 for letter in "abc"]
    write(path, secrets[0])
    settings = Settings(audit_key_file=str(path))
    desk, store = Desk({"ada": "ada"}), keyed(cast(Store, open_store(url)), settings)
    async with desk.open(store):
        ready = cast(Ready, SimpleNamespace(app=desk.app, settings=settings))
        files = SettingsFiles(Plan(None, None, {"audit_key_file": str(path)}), ready)
        assert files.are_some
        for place, text in enumerate(["\n".join(reversed(secrets[: n + 1])) for n in range(3)]):
            write(path, text)
            asked = [await desk.ask("ada", thread=f"t{place}{n}") for n in range(3)]
            with capture_logs() as lines:
                deciding = [asyncio.ensure_future(desk.decide("ada", one)) for one in asked]
                files.read_again()
                assert [(await one).json()["state"] for one in deciding] == ["done"] * 3
                if files._replacing is not None:
                    await files._replacing
                assert not place or any(line.get("changed") == "audit_key" for line in lines)
        write(path, "short")
        with capture_logs() as lines:
            files.read_again()
        assert [line["event"] for line in lines] == ["settings_not_read"]
        half, reverted = secrets[2][:35], secrets[1]  # what is half written, and what is without the key that signs
        for text in (half, reverted):
            write(path, "\n".join((text, *secrets[:1])))
            with capture_logs() as lines:
                files.read_again()
                assert files._replacing is not None
                await files._replacing
            assert lines[-1]["event"] == "settings_not_read"
            assert "by which the audit trail is signed, is missing, and the file may be half" in lines[-1]["why"]
        await desk.decide("ada", await desk.ask("ada", thread="last"))
        found = await verify(cast(Any, store), (), Keys([one.encode() for one in secrets]))
        assert found.broken == []
        events = await desk.trail()
        signed = [event.key_id for event in events if event.thread_id == "last"]
        assert set(signed) == {key_id(secrets[2].encode())}
        assert [event.key_id for event in events if event.kind == "keyed"] == [key_id(one.encode()) for one in secrets]
        for named in ("d", "de", "d"):  # the key that signs is dropped at once, and so is one that doesn't
            write(path, "".join(f"{letter * 40}\n" for letter in named))
            with capture_logs() as lines:
                files.read_again()
                assert files._replacing is not None
                await files._replacing
            assert lines[-1]["changed"] == "audit_key", lines
            assert cast(Any, store).trail.keys.ids == tuple(key_id(letter.encode() * 40) for letter in named)
        await desk.decide("ada", await desk.ask("ada", thread="later"))
        later = [event for event in await desk.trail() if event.thread_id == "later"]
        assert {event.key_id for event in later} == {key_id(b"d" * 40)}
        found = await verify(cast(Any, store), (), Keys([one.encode() for one in (*secrets, "d" * 40)]))
        assert found.broken == []


@pytest.mark.anyio
async def test_the_secrets_of_webhooks_rotate_and_another_address_waits_for_the_next_start(tmp_path: Path) -> None:
    def table(url: str, *secrets: str) -> None:
        lines = f"[desk]\nurl = {url!r}\nsecrets = {list(secrets)!r}\nprivate = ['127.0.0.0/8']\n"
        (tmp_path / "webhooks.toml").write_text(lines)

    def again() -> tuple[str, str | None]:
        with capture_logs() as lines:
            files.read_again()
        (line,) = lines
        assert line["event"] == "settings_read"
        return line["changed"], line.get("means")

    new = "whsec_" + "bmV3LXNlY3JldC1vZi10aGUtcmVjZWl2ZXI="
    async with receiving(Receiver()) as receiver:
        table(receiver.url, SECRET)
        settings = Settings(webhooks=str(tmp_path / "webhooks.toml"))
        desk = Desk({"ada": "ada"})
        async with started(create_app(desk.agent(), store="memory://", auth=desk.auth, settings=settings)) as desk.app:
            ready = cast(Ready, SimpleNamespace(app=desk.app, settings=settings))
            files = SettingsFiles(Plan(None, None, {"webhooks": settings.webhooks}), ready)
            assert (files.are_some, again()) == (True, ("nothing", None))
            await desk.ask("ada", thread="before")
            await receiver.until(lambda: len(receiver.got) == 1)
            table(receiver.url, new, SECRET)
            assert again() == ("webhooks", None)
            await desk.ask("ada", thread="both")
            await receiver.until(lambda: len(receiver.got) == 2)
            table("https://elsewhere.example/hook", new)
            assert again() == ("webhooks", "These count at the next start: webhooks.")
            await desk.ask("ada", thread="after")
            await receiver.until(lambda: len(receiver.got) == 3)
            table(receiver.url, new)
            assert again() == ("webhooks", None), "the old one is dropped at once"
            await desk.ask("ada", thread="dropped")
            await receiver.until(lambda: len(receiver.got) == 4)
    assert [len(one.headers["webhook-signature"].split()) for one in receiver.got] == [1, 2, 2, 1]
    last = receiver.got[-1]
    StandardWebhook(new).verify(last.body, last.headers)


@pytest.mark.anyio
async def test_the_keys_of_an_issuer_are_read_again_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that leaked is gone from the URL, and then another place is named that never had it."""
    served, url, other = [[public("RS256", "rsa"), public("ES256", "ec")]], "https://id.example/keys", tmp_path / "keys"
    monkeypatch.setattr(key_set, "fetch", lambda url: json.dumps({"keys": served[0]}).encode())
    write_keys(other, public("EdDSA", "ed"))
    config = tmp_path / "gate.toml"
    jwt = {"jwt_issuer": ISSUER, "jwt_audience": [AUDIENCE], "jwt_tenant": "org", "jwt_roles": "realm.roles"}
    config.write_text("".join(f"{name} = {value!r}\n" for name, value in {**jwt, "jwt_jwks": url}.items()))
    settings = load_settings(config, environ={})
    tokens = [token("RS256", "rsa"), token("ES256", "ec"), token("EdDSA", "ed")]
    desk = Desk({})
    async with started(create_app(desk.agent(), store="memory://", settings=settings)) as desk.app:
        plan = Plan(None, config, {})
        files = SettingsFiles(plan, cast(Ready, SimpleNamespace(app=desk.app, settings=settings)))

        async def taken() -> list[bool]:
            return [(await desk.get(f"Bearer {one}", "/threads")).status == 200 for one in tokens]

        assert (files.are_some, await taken()) == (True, [True, True, False])
        served[0] = served[0][1:]
        assert await taken() == [True, True, False], "they are not fetched for each token"
        with capture_logs() as lines:
            files.read_again()
        assert await taken() == [False, True, False]
        config.write_text(config.read_text().replace(url, str(other)))
        with capture_logs() as lines:
            files.read_again()
        assert [(line["event"], line["changed"], line.get("means")) for line in lines] == [
            ("settings_read", "jwt_jwks", None)
        ]
        assert await taken() == [False, False, True]
        config.write_text(config.read_text().replace(str(other), str(tmp_path / "gone")))
        with capture_logs() as lines:
            files.read_again()
        assert [line["event"] for line in lines] == ["settings_not_read"]
        assert await taken() == [False, False, True]


def test_an_auth_of_the_application_is_left_alone(tmp_path: Path) -> None:
    class Own:
        def __call__(self, request: Any) -> str:
            return "ada"

        def replace(self, old: str, new: str) -> None:
            raise AssertionError

    config = tmp_path / "gate.toml"
    config.write_text("tokens = 'alice:new-token-of-alice'\n")
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", auth=Own(), settings=Settings())
    files = SettingsFiles(Plan(None, config, {}), cast(Ready, SimpleNamespace(app=app, settings=Settings())))
    with capture_logs() as lines:
        files.read_again()
    assert [(line["changed"], line["means"]) for line in lines] == [
        ("tokens", "These count at the next start: tokens.")
    ]


def test_a_hangup_is_for_settings_of_files_and_says_what_counts_later(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    plain = load_settings(environ={"AGUI_GATE_TOKENS": "alice:one-token-of-alice"})
    assert not any(map(is_of_file, plain.sources.values()))
    config = tmp_path / "gate.toml"
    config.write_text("")
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())
    files = SettingsFiles(Plan(None, config, {}), cast(Ready, SimpleNamespace(app=app, settings=Settings())))
    write(tokens, "alice:one-token-of-alice\n")
    config.write_text(f"tokens_file = {str(tokens)!r}\n")
    with capture_logs() as lines:
        files.read_again()
    assert [(line["event"], line["changed"], line["means"]) for line in lines] == [
        ("settings_read", "tokens", "These count at the next start: tokens.")
    ], "a server that began without auth is open still"


@pytest.mark.parametrize("text", ["alice:one-token-of-alice\nbob:half-a-tok", "alice:half-a-tok"])
def test_the_beginning_of_a_token_is_no_token(tmp_path: Path, text: str) -> None:
    """A file that is read while it is written: its last line has no end."""
    tokens, config = tmp_path / "tokens", tmp_path / "gate.toml"
    write(tokens, "alice:one-token-of-alice")
    config.write_text(f"tokens_file = {str(tokens)!r}\n")
    settings = load_settings(config, environ={})
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=settings)
    files = SettingsFiles(Plan(None, config, {}), cast(Ready, SimpleNamespace(app=app, settings=settings)))
    with capture_logs() as lines:
        files.read_again()
        write(tokens, text)
        files.read_again()
        write(tokens, f"{text}en-of-bob\n")
        files.read_again()
        write(tokens, f"{text}en-of-bob")  # nothing new in it
        files.read_again()
    assert [line.get("changed", line["event"]) for line in lines] == [
        *("nothing", "settings_not_read", "tokens", "nothing")
    ]
    assert "the file may be half written" in lines[1]["why"]


def test_one_of_two_applications_that_can_t_take_it_leaves_both_as_they_were(tmp_path: Path) -> None:
    class Refusing(Bearer):
        def prepare_keys(self, place: str) -> Callable[[], None]:
            raise ConfigurationError("There are no such keys.")

    class Renewed(Bearer):
        renewed = 0

        def prepare_keys(self, place: str) -> Callable[[], None]:
            return self.renew

        def renew(self) -> None:
            self.renewed += 1

    config = tmp_path / "gate.toml"
    config.write_text("tokens = 'alice:new-token-of-alice'\n")
    checks = [Renewed({"alice": "old-token-of-alice"}), Refusing({"alice": "old-token-of-alice"})]
    apps = [
        create_app(Agent(name="a", model=Parrot()), store="memory://", auth=check, settings=Settings())
        for check in checks
    ]
    both = Starlette(routes=[Mount(f"/{number}", app) for number, app in enumerate(apps)])
    files = SettingsFiles(Plan(None, config, {}), cast(Ready, SimpleNamespace(app=both, settings=Settings())))
    with capture_logs() as lines:
        files.read_again()
    assert [line["event"] for line in lines] == ["settings_not_read"]
    assert (checks[0].renewed, {token for _, token in checks[0]._known}) == (0, {b"old-token-of-alice"})  # type: ignore[attr-defined]


def test_a_server_that_nohup_started_reads_them_again_too() -> None:
    found = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        again: tuple[Callable[[], None] | None, ...] = (None, lambda: None)
        for read_again in again:
            server = Server(configure(cast(Any, None)), on_hangup=read_again)
            with server.capture_signals():
                assert (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN) is (read_again is None)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, found)


def test_a_hangup_before_the_server_serves_waits_for_it(tmp_path: Path) -> None:
    """It comes while the agent is imported, and once more while the store is opened."""
    (tmp_path / "loads.py").write_text(
        "import os, signal\nfrom cli_shop import agent\n"
        "os.kill(os.getpid(), signal.SIGHUP)\nprint('imported', flush=True)\n"
    )
    env = {"AGUI_GATE_TOKENS_FILE": write(tmp_path / "tokens", "alice:token-of-alice\n")}
    words = ("serve", "loads:agent", "--port", "0", "--store", "memory://")
    with running(tmp_path, *words, env=env) as server:
        server.wait_for("imported")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("event=server_started")
        server.wait_for("event=settings_read changed=nothing")
        assert server.stop(signal.SIGTERM) == 0
    with running(tmp_path, *words) as server:  # no file to read again: it is told to end, and does so in order
        server.wait_for("imported")
        assert server.end() == 0


def test_a_hangup_has_the_files_read_again_and_ends_nothing(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    write(tokens, "alice:old-token-of-alice\nbob:token-of-bob\n")
    env = {"AGUI_GATE_TOKENS_FILE": str(tokens)}
    words = ("serve", "cli_shop:agent", "--port", "0", "--store", "memory://")
    with running(tmp_path, *words, env=env) as server:
        url = server.wait_for(r"(http://127\.0\.0\.1:\d+)")[1]
        with httpx2.Client(base_url=url, timeout=30) as client:

            def status(token: str) -> int:
                return client.get("/threads", headers={"authorization": f"Bearer {token}"}).status_code

            assert (status("old-token-of-alice"), status("new-token-of-alice")) == (200, 401)
            with client.stream(
                "GET", "/approvals/events", headers={"authorization": "Bearer old-token-of-alice"}
            ) as stream:
                write(tokens, "alice:new-token-of-alice\nbob:token-of-bob\n")
                server.process.send_signal(signal.SIGHUP)
                server.wait_for(r"event=settings_read changed=tokens")
                assert (status("old-token-of-alice"), status("new-token-of-alice")) == (401, 200)
                assert status("token-of-bob") == 200
                with suppress(httpx2.RemoteProtocolError):  # it ends, as its token is gone
                    for _ in stream.iter_bytes():
                        pass
            for wrong in ("no pair\n", ""):
                write(tokens, wrong)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for(r"event=settings_not_read why=")
                assert status("new-token-of-alice") == 200
            tokens.unlink()
            server.process.send_signal(signal.SIGHUP)
            server.wait_for(r"event=settings_not_read .*No such file")
            assert status("token-of-bob") == 200
        assert server.stop(signal.SIGTERM) == 0
    assert "old-token" not in server.text
    assert "without completing response" not in server.text
    assert "means=\n" not in server.text


# --- doctor and the bundle


def test_doctor_says_it_as_json(cli: Cli, tmp_path: Path) -> None:
    prepare(tmp_path / "store.db")
    store = f"sqlite:///{tmp_path}/store.db"

    async def freeze() -> None:
        opened = SQLiteStore(str(tmp_path / "store.db"))
        await opened.start()
        await opened.freeze(Freeze(tool="refund"))
        await opened.aclose()

    asyncio.run(freeze())
    told = cli("doctor", "--json", "--store", store)
    found = json.loads(told.stdout)
    assert (told.exit_code, found["problems"]) == (0, 0)
    by_name = {one["what"]: one for one in found["findings"]}
    assert by_name["frozen"]["detail"].startswith("1: ")
    assert {"approved, and not running", "interrupted while they ran", "store", "bus"} <= by_name.keys()
    broken = cli("doctor", "--json", env={"AGUI_GATE_PORT": "x"})
    assert (broken.exit_code, json.loads(broken.stdout)["problems"]) == (1, 1)


PLANTED = ("alice", "s3cr3t", "apr_", "planted", "refund of 50")
LOG = """timestamp=2026-11-27T01:00:00Z level=info event=decided approved state=done tool=refund by=alice thread=planted
Traceback planted
timestamp=2026-11-27T01:00:01Z level=warning event=provider_failed why="planted words" code=rate_limited status=429
{"level": "info", "event": "decided", "approved": false, "tool": "refund", "by": "alice", "timestamp": "1"}
{"planted": 1}
"""


def test_the_bundle_names_nobody(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "read_revision", lambda: "4f2a9c81d07e")
    prepare(tmp_path / "store.db")
    log = write(tmp_path / "log", LOG)
    env = {"AGUI_GATE_TOKENS": "alice:s3cr3t", "AGUI_GATE_BUS": "redis://alice:s3cr3t@127.0.0.1:1/0"}
    told = cli("support-bundle", "bundle.json", "--log", log, "--store", f"sqlite:///{tmp_path}/store.db", env=env)
    assert told.exit_code == 0, told.output
    text = (tmp_path / "bundle.json").read_text()
    for word in PLANTED:
        assert word not in text.replace("redis://alice", ""), word
    found = json.loads(text)
    assert found["settings"]["tokens"]["value"] == "of 1 principals"
    assert found["versions"]["agui-gate"].endswith(" (4f2a9c81d07e)")
    assert (found["store"]["waiting"]["pending"]["number"], found["store"]["waiting"]["unknown"]["number"]) == (1, 1)
    assert found["log"] == [
        "timestamp=2026-11-27T01:00:00Z level=info event=decided approved=true state=done tool=refund",
        "timestamp=2026-11-27T01:00:01Z level=warning event=provider_failed code=rate_limited status=429",
        "level=info event=decided approved=false tool=refund timestamp=1",
    ]
    again = cli("support-bundle", "bundle.json", "--store", "memory://")
    assert (again.exit_code, "exists" in again.output) == (2, True)


def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    told = cli("support-bundle", "bundle.json", "--store", "sqlite:///none.db")
    assert told.exit_code == 1
    assert told.stderr == (
        "error: bundle.json can't be written: No space left on device. Nothing is left of it. Name a file elsewhere.\n"
    )
    assert os.listdir(tmp_path) == []


def test_a_log_that_is_not_there_is_a_sentence(cli: Cli) -> None:
    told = cli("support-bundle", "bundle.json", "--log", "none.log", "--store", "sqlite:///none.db")
    assert (told.exit_code, told.stderr) == (2, "error: The log none.log can't be read: No such file or directory.\n")
