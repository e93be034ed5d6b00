"""Serving: start, stop, and the program form."""

import signal
import socket
import subprocess
import sys

import anyio
import httpx2
import pytest

from agui_gate_adapters.testkit import Emulator, serve, server
from tests.support.servers import free_port
from tests.testkit.driving import MODEL, say

HEADERS = {"authorization": "Bearer k"}


@pytest.mark.anyio
async def test_stopping_does_not_wait_for_hanging_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_STOP_SECONDS", 3600)
    emulator = Emulator([say("x", fault={"kind": "hang"})])
    with anyio.fail_after(60):
        async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
            async with serve(emulator, port=free_port()) as base_url:
                body = {"model": MODEL, "input": "x", "stream": True}
                response = await http.send(http.build_request("POST", f"{base_url}/responses", json=body), stream=True)
            assert emulator.accepted[0].ended == "aborted"
            await response.aclose()
            with pytest.raises(httpx2.ConnectError):
                await http.get(f"{base_url}/models")


@pytest.mark.anyio
async def test_a_request_without_a_key_is_refused() -> None:
    async with serve(Emulator()) as base_url, httpx2.AsyncClient(timeout=60) as http:
        reply = await http.get(f"{base_url}/models")
    assert reply.status_code == 401
    assert reply.json()["error"]["message"].startswith("You didn't provide an API key.")


def test_as_a_program() -> None:
    program = "from agui_gate_adapters.testkit import main; main(0, announce=lambda url: print(url, flush=True))"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        reply = httpx2.post(
            f"{base_url}/responses", json={"model": MODEL, "input": "hello"}, headers=HEADERS, timeout=60
        )
        assert reply.json()["output"][0]["content"][0]["text"].startswith("Hello!")
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_a_taken_port_is_an_error() -> None:
    from agui_gate_adapters.testkit import main

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        main(taken.getsockname()[1])
