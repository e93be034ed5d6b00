"""Tests in Node against a running server: a Python test begins the server and has the cases run."""

import asyncio
import os
import shutil
from pathlib import Path


async def run_cases(url: str, *files: str) -> None:
    """Runs the cases of these files of this folder, which find the server's ``url`` in their environment.

    Fails with what they printed. Ends when they do, so the caller bounds the time.
    """
    node = shutil.which("node")
    assert node, "Node 20 or newer is needed"
    cases = await asyncio.create_subprocess_exec(
        *(node, "--test", "--test-concurrency=1", "--test-reporter=spec", *files),
        cwd=Path(__file__).parent,
        env={**os.environ, "SERVER": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await cases.communicate()
    print(said.decode())  # `pytest -s`: how long each took
    assert cases.returncode == 0, said.decode()[-12_000:]
