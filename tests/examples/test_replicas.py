"""`examples/replicas/`: what its files have to say, and what its proxy does.

Whether Docker, nginx and Caddy take the files is theirs to say, where they are installed; what must be in them isn't.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.replicas.proxy import serving
from tests.examples.conftest import EXAMPLES

pytestmark = pytest.mark.anyio

REPLICAS = EXAMPLES / "replicas"
HEADERS = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"


def lines(name: str) -> list[str]:
    """What a file says, without comments and spaces at the ends."""
    text = (REPLICAS / name).read_text()
    return [line for line in (re.sub(r"\s*(?<!\S)#.*", "", line).strip() for line in text.splitlines()) if line]


# --- the files


@pytest.mark.parametrize(
    "said",
    [
        "proxy_buffering off;",
        "gzip off;",
        "proxy_read_timeout 1h;",
        "proxy_http_version 1.1;",
        'proxy_set_header Connection "";',
        "proxy_set_header Host $http_host;",
        "proxy_next_upstream error timeout;",
    ],
)
def test_nginx_lets_streams_through(said: str) -> None:
    assert said in lines("nginx.conf")


def test_nginx_sends_a_client_to_any_replica_and_a_post_to_one() -> None:
    text = "\n".join(lines("nginx.conf"))
    assert not re.search(r"ip_hash|sticky|\bhash\b|non_idempotent", text)


def test_caddy_lets_streams_through_to_any_replica() -> None:
    said = lines("Caddyfile")
    assert {"flush_interval -1", "lb_policy round_robin", "dynamic a server 8000 {"} <= set(said)
    assert not [line for line in said if re.match(r"encode|(read|response_header)_timeout|buffer", line)]


def test_the_image_is_small_has_its_own_user_and_says_how_it_is() -> None:
    said = lines("Dockerfile")
    assert [line.split()[1] for line in said if line.startswith("FROM")] == [
        "node:22-slim",
        "python:3.13-slim",
        "python:3.13-slim",
    ]
    assert said.index("USER 10001") < said.index('CMD ["agui-gate", "serve", "agent:agent"]')
    assert any("/healthz" in line for line in said), "not /readyz: an image is not started again for its database"
    assert {"server", "adapters", "components", "pyproject.toml", "hatch_build.py"} <= {
        line[1:] for line in lines("Dockerfile.dockerignore") if line.startswith("!")
    }
    for copied in re.findall(r"^COPY (?!--)(.+) \S+$", "\n".join(said), re.MULTILINE):
        for each in copied.split():
            assert (EXAMPLES.parent / each).exists(), each


def test_compose_names_what_is_there_and_keeps_no_secret() -> None:
    text = (REPLICAS / "compose.yaml").read_text()
    for name in re.findall(r"\./(\w+(?:\.\w+)?):", text):
        assert (REPLICAS / name).is_file()
    assert set(re.findall(r"^  (\w+):$", text.split("volumes:\n  threads")[0], re.MULTILINE)) == {
        "proxy",
        "caddy",
        "server",
        "postgres",
        "valkey",
    }
    for secret in ("POSTGRES_PASSWORD", "AGUI_GATE_TOKENS", "OPENAI_API_KEY"):
        assert re.search(rf"\$\{{{secret}:\?", text), "it has no default"
    assert "sticky" not in re.sub(r"#.*", "", text)
    assert '--protected-mode, "no"' in text, "or else Valkey listens to its own container alone"
    assert re.search(r"valkey: \{ condition: service_healthy, required: false \}", text), "replicas need it at once"


def test_compose_takes_its_file_where_it_is_installed() -> None:
    """In its second version, as a plugin of Docker's client; it needs no engine for that."""
    compose = ["docker", "compose"]
    if not shutil.which("docker"):
        return
    if subprocess.run([*compose, "version"], check=False, capture_output=True, timeout=60).returncode:
        return
    command = [*compose, "--file", str(REPLICAS / "compose.yaml"), "--profile", "*", "config", "--quiet"]
    secrets = {"POSTGRES_PASSWORD": "p", "AGUI_GATE_TOKENS": "alice:token", "OPENAI_API_KEY": "k"}
    for left_out in (None, *secrets):
        given = {name: value for name, value in secrets.items() if name != left_out}
        environment = {name: value for name, value in os.environ.items() if name not in secrets} | given
        taken = subprocess.run(command, check=False, env=environment, capture_output=True, timeout=60)
        assert (taken.returncode == 0) is (left_out is None), taken.stderr.decode()


def test_systemd_restarts_it_has_it_read_its_tokens_again_and_takes_the_unit_where_it_is_installed(
    tmp_path: Path,
) -> None:
    unit = lines("agui-gate.service")
    assert {"ExecReload=/bin/kill -HUP $MAINPID", "Restart=always", "KillMode=mixed"} <= set(unit)
    assert "AGUI_GATE_TOKENS_FILE=" in (REPLICAS / "agui-gate.service").read_text(), "without a file a reload is a stop"
    if shutil.which("systemd-analyze"):
        copy = tmp_path / "agui-gate.service"
        copy.write_text("\n".join(unit).replace("/srv/agui-gate/.venv/bin/agui-gate", sys.executable))
        told = subprocess.run(
            ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60, check=False
        )
        assert (told.returncode, told.stderr) == (0, "")


def test_nginx_and_caddy_take_their_files_where_they_are_installed(tmp_path: Path) -> None:
    nginx = tmp_path / "nginx.conf"
    nginx.write_text((REPLICAS / "nginx.conf").read_text().replace("server server:8000", "server 127.0.0.1:8000"))
    for command in (
        ["nginx", "-t", "-p", str(tmp_path), "-c", str(nginx), "-g", f"pid {tmp_path}/pid;"],
        ["caddy", "validate", "--adapter", "caddyfile", "--config", str(REPLICAS / "Caddyfile")],
    ):
        if shutil.which(command[0]):
            subprocess.run(command, check=True, capture_output=True, timeout=60)


# --- the proxy


@asynccontextmanager
async def server(name: bytes) -> AsyncIterator[tuple[int, list[bytes], asyncio.Event]]:
    """One that answers its name, then the rest once the event is set; and the heads that it got."""
    heads: list[bytes] = []
    more = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(HEADERS + name)
        await writer.drain()
        gone = asyncio.ensure_future(reader.read())
        going_on = asyncio.ensure_future(more.wait())
        await asyncio.wait([gone, going_on], return_when=asyncio.FIRST_COMPLETED)
        if going_on.done():
            writer.write(b" and more")
        heads.append(b"" if going_on.done() else b"gone")
        gone.cancel()
        going_on.cancel()
        writer.close()

    serves = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield serves.sockets[0].getsockname()[1], heads, more
    finally:
        serves.close()


async def ask(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: keep-alive\r\n\r\n")
    return reader, writer


async def test_each_request_goes_to_the_next_server_and_what_it_says_comes_at_once() -> None:
    async with asyncio.timeout(60), server(b"one") as one, server(b"two") as two, serving([one[0], two[0]]) as front:
        for name, (_, heads, more) in ((b"one", one), (b"two", two)):
            reader, writer = await ask(front[0])
            assert await reader.readexactly(len(HEADERS + name)) == HEADERS + name, "the rest isn't said yet"
            assert heads == [b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n"]
            more.set()
            assert await reader.read() == b" and more"
            writer.close()
        assert front[1].answered == {one[0]: 1, two[0]: 1}


async def test_a_server_that_is_gone_is_passed_over() -> None:
    async with asyncio.timeout(60), server(b"one") as one, server(b"two") as two:
        gone = two[0]
    async with asyncio.timeout(60), server(b"one") as one, serving([gone, one[0]]) as front:
        one[2].set()
        for _ in range(3):
            reader, writer = await ask(front[0])
            assert (await reader.read()).startswith(HEADERS)
            writer.close()
        assert front[1].answered == {gone: 0, one[0]: 3}
    async with asyncio.timeout(60), serving([gone]) as front:
        reader, writer = await ask(front[0])
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()


async def test_a_client_that_leaves_is_gone_for_the_server_too() -> None:
    async with asyncio.timeout(60), server(b"one") as one, serving([one[0]]) as front:
        reader, writer = await ask(front[0])
        await reader.readexactly(len(HEADERS + b"one"))
        writer.close()
        while len(one[1]) < 2:  # noqa: ASYNC110  (a list has no event)
            await asyncio.sleep(0)
        assert one[1][1] == b"gone"
