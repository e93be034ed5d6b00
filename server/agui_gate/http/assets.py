"""The built-in page's files, with the headers that make it safe to click on.

The page holds approve buttons, so no other page may frame it: a click on what lies under it would be a decision. It
loads nothing that we did not ship. Files are revalidated on every load (they have an ETag): modules of two versions
must never run together.

In a checkout there may be a second page, `frontend-demo/`, which is made with CopilotKit. Where it has been built it is
served as `/copilot/`, and the two pages link to each other.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGE = Path(__file__).parent / "page"
BUILT = Path(__file__).parents[3] / "frontend-demo" / "dist"
LINK = '<a class="sidebar-note" href="copilot/">The page made with CopilotKit</a>'
"""Stands in the built-in page's sidebar, for which it is a comment where there is no other page."""

HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

# CopilotKit sets styles in the page, decodes fonts and images from data URLs, and may be asked to go through a Node
# runtime on this machine.
BUILT_HEADERS = HEADERS | {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' http://127.0.0.1:* http://localhost:*; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

KEPT = {"cache-control": "public, max-age=31536000, immutable"}
"""For files whose name has the hash of what is in them."""


def page_routes(built: Path = BUILT) -> list[BaseRoute]:
    """`GET /` and what the page loads; the page in ``built`` too, from the moment it is there (the demo builds it while
    it serves already). They hold no data, so anybody may have them.
    """

    async def index(request: Request) -> Response:
        if not (built / "index.html").is_file():
            return FileResponse(PAGE / "index.html", headers=HEADERS)
        page = (PAGE / "index.html").read_text(encoding="utf-8").replace("<!-- other page -->", LINK)
        return HTMLResponse(page, headers=HEADERS)

    return [
        Route("/", index),
        Mount("/page", PageFiles(directory=PAGE)),
        Mount("/copilot/assets", PageFiles(directory=built / "assets", headers=BUILT_HEADERS | KEPT)),
        Mount("/copilot", PageFiles(directory=built, html=True, headers=BUILT_HEADERS)),
    ]


class PageFiles(StaticFiles):
    """Static files with our headers, on 304 answers too. Their folder may come later."""

    def __init__(self, *, headers: Mapping[str, str] = HEADERS, directory: Path, html: bool = False) -> None:
        super().__init__(directory=directory, html=html, check_dir=False)
        self._headers = headers

    async def check_config(self) -> None:
        """A page that was not built is not there, rather than an error of ours."""
        try:
            await super().check_config()
        except RuntimeError:  # no such folder
            raise HTTPException(404) from None

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """As `StaticFiles` does it, plus the headers."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(self._headers)
        return response
