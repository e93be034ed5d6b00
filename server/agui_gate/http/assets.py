"""The built-in page's files, with the headers that make it safe to click on.

The page holds approve buttons, so no other page may frame it (a click on what lies under it would be a decision), and
it loads nothing that we did not ship. Files are revalidated on every load (they have an ETag): modules of two versions
must never run together.
"""

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGE = Path(__file__).parent / "page"

HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def page_routes() -> list[BaseRoute]:
    """`GET /` and what the page loads. It holds no data, so anybody who may connect may have it."""
    return [Route("/", _index), Mount("/page", PageFiles(directory=PAGE))]


async def _index(request: Request) -> Response:
    return FileResponse(PAGE / "index.html", headers=HEADERS)


class PageFiles(StaticFiles):
    """Static files with our headers, on 304 answers too."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """As `StaticFiles` does it, plus `HEADERS`."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response
