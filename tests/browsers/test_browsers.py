"""A page with the components does what a person would do with them, and reports it: in Firefox and in WebKit.

Debian's packages: ``apt-get install firefox-esr`` and ``apt-get install webkit2gtk-driver xvfb``. A browser that isn't
there is a failure.
"""

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from glob import glob
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_gate import create_app
from agui_gate.cli.demo.agent import support_agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import running

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
SECONDS = 180.0
BROWSERS = {
    "firefox": [["firefox-esr", "firefox"], ["--headless", "--no-remote", "--profile", "{profile}", "{url}"]],
    "webkit": [["MiniBrowser", "/usr/lib/*/webkit2gtk-4*/MiniBrowser"], ["--private", "{url}"]],
}
NAMES = {"firefox": "Firefox/", "webkit": "AppleWebKit/"}


def site(server: str, report: "asyncio.Future[dict[str, list[str]]]") -> Starlette:
    """A page of another origin than the server's, with a strict policy."""
    origin = server.rstrip("/")
    policy = f"default-src 'none'; script-src 'self' {origin}; connect-src 'self' {origin}; base-uri 'none'"

    async def page(_: Request) -> Response:
        html = (HERE / "page.html").read_text().replace("SERVER", f"{origin}/")
        return Response(html, media_type="text/html", headers={"content-security-policy": policy})

    async def script(_: Request) -> Response:
        return Response((HERE / "page.js").read_text(), media_type="text/javascript")

    async def reported(request: Request) -> Response:
        if not report.done():
            report.set_result(await request.json())
        return Response(status_code=204)

    return Starlette(routes=[Route("/", page), Route("/page.js", script), Route("/report", reported, methods=["POST"])])


@asynccontextmanager
async def browsing(browser: str, url: str, folder: Path) -> AsyncIterator[Process]:
    """The browser with this page open."""
    programs, words = BROWSERS[browser]
    found = [path for name in programs for path in [shutil.which(name) or "", *glob(name)] if path]
    assert found, f"{browser} is not installed"
    screen = [] if browser == "firefox" else ["xvfb-run", "--auto-servernum"]
    command = [*screen, found[0], *(word.format(url=url, profile=folder) for word in words)]
    env = {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        await process.wait()


@pytest.mark.parametrize("browser", BROWSERS)
async def test_a_person_decides(browser: str, tmp_path: Path) -> None:
    report: asyncio.Future[dict[str, list[str]]] = asyncio.get_running_loop().create_future()
    async with serve(Emulator()) as provider:
        model = OpenAIResponses("gpt-5.4-mini", base_url=provider, api_key="none")
        app = create_app(support_agent(model), store="memory://", settings=Settings())
        async with running(app) as server, running(site(server, report)) as url, browsing(browser, url, tmp_path):
            async with asyncio.timeout(SECONDS):
                said = await report
    assert NAMES[browser] in said["agent"]
    assert "Chrome" not in said["agent"]
    assert said["problems"] == []
    assert said["seen"] == ["edit", "approve", "reject", "live", "decided elsewhere", "styles"]
