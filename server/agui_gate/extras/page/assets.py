"""The built-in page's files, with the headers that make it safe to click on.

The page holds approve buttons, so no other page may frame it: a click on what lies under it would be a decision. It
loads nothing that we did not ship. What the pages load is kept for good: its address has the hash of what is in it. The
built-in page's has that of all its files, since modules of two versions must never run together; the page itself is
asked for on every load, and names all of them, so that a browser needn't read one to know of the next. Where they were
bundled they are two (`extras/components/bundle.py`). What is text
goes out compressed where the browser takes that. Streams of events are none of this module's, and never compressed.

In a checkout there may be a second page, `frontend-demo/`, built with CopilotKit. Where it has been built it is
served as `/copilot/`, and the two pages link to each other.

The inbox of people who decide, `/inbox`, and the page of operators, `/admin`, are pages of their own, of the same
files.
"""

import gzip
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from agui_gate.extras.components.bundle import Bundle, Files, components, named
from agui_gate.extras.page.compression import accepts
from agui_gate.http.views import COMPRESSED

BUILT = Path(__file__).parents[4] / "frontend-demo" / "dist"
LINK = '<a class="sidebar-note" href="copilot/">The CopilotKit page</a>'
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
"""Headers of files whose name has the hash of what is in them."""


TEXTS = frozenset({".css", ".html", ".js", ".json", ".svg"})
UNNAMED = frozenset(
    {
        *("admin.js", "adminwords.js", "approvals.js", "approvalwords.js", "colleagues.js", "deputies.js", "desk.js"),
        *("adminserver.js", "desklists.js", "forms.js", "grantrows.js"),
        *("components/auto.js", "components/core/german.js", "early.js", "german.js", "theme.js"),
    }
)
"""Scripts that the page's modules don't import, or only where they are needed."""


def routes(server: object) -> list[BaseRoute]:
    """Returns the routes. They need nothing of the server."""
    return page_routes()


def page_routes(built: Path = BUILT, bundle: Bundle | None = None) -> list[BaseRoute]:
    """`GET /` and what the page loads; the page in ``built`` too, from the moment it is there (the demo builds it while
    it serves already). They hold no data, so anybody may have them.
    """
    page = PageIndex(bundle or Bundle())

    async def index(request: Request) -> Response:
        text = page.text()
        if (built / "index.html").is_file():
            text = text.replace("<!-- other page -->", LINK)
        return html(request, text)

    async def inbox(request: Request) -> Response:
        return html(request, page.desk("Inbox", "approvals.js", "The server works with any AG-UI client."))

    async def admin(request: Request) -> Response:
        return html(request, page.desk("Operations", "admin.js", "<code>agui-gate ops</code> does the same."))

    def html(request: Request, text: str) -> Response:
        headers = HEADERS | {"vary": "Accept-Encoding"}
        if not accepts("gzip", request.headers):
            return HTMLResponse(text, headers=headers)
        return HTMLResponse(gzip.compress(text.encode(), mtime=0), headers=headers | {"content-encoding": "gzip"})

    return [
        Route("/", index),
        Route("/inbox", inbox),
        Route("/admin", admin),
        Mount("/page", page.files),
        Mount("/copilot/assets", PageFiles(directory=built / "assets", headers=BUILT_HEADERS | KEPT)),
        Mount("/copilot", PageFiles(directory=built, html=True, headers=BUILT_HEADERS)),
    ]


class PageFiles(StaticFiles):
    """Static files with our headers, on 304 answers too. Their folder may come later."""

    def __init__(self, *, headers: Mapping[str, str] = HEADERS, directory: Path, html: bool = False) -> None:
        super().__init__(directory=directory, html=html, check_dir=False)
        self._headers = headers
        self._packed: dict[Path, tuple[float, bytes]] = {}
        """Files that were asked for compressed: when each was written, and what it is then."""

    async def check_config(self) -> None:
        """Raises 404 for a page that was not built, rather than an error of ours."""
        try:
            await super().check_config()
        except RuntimeError:  # no such folder
            raise HTTPException(404) from None

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Returns the response of `StaticFiles`, plus the headers."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(self._headers)
        response.headers["etag"] = f"W/{response.headers['etag']}"  # the same for both forms of the file
        response.headers.add_vary_header("Accept-Encoding")
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Returns the response of `StaticFiles`, compressed where that is taken and of use."""
        response = await super().get_response(path, scope)
        if not isinstance(response, FileResponse):
            return response
        file, stat, accepted = Path(response.path), response.stat_result, Headers(scope=scope)
        if stat is None or stat.st_size < COMPRESSED or file.suffix not in TEXTS:
            return response
        if accepts("br", accepted) and (made := file.with_name(f"{file.name}.br")).is_file():
            body = await anyio.to_thread.run_sync(made.read_bytes)
            return Response(body, response.status_code, _of_body(response.headers) | {"content-encoding": "br"})
        if not accepts("gzip", accepted):
            return response
        written, body = self._packed.get(file, (0.0, b""))
        if written != stat.st_mtime:
            body = await anyio.to_thread.run_sync(self._pack, file)
            self._packed[file] = stat.st_mtime, body
        return Response(body, response.status_code, _of_body(response.headers) | {"content-encoding": "gzip"})

    def _pack(self, file: Path) -> bytes:
        return gzip.compress(file.read_bytes(), mtime=0)


def _of_body(headers: Headers) -> dict[str, str]:
    """Returns the headers that a file's body has, also where that is another one than the file's."""
    return {name: value for name, value in headers.items() if name not in ("content-length", "accept-ranges")}


class HashedFiles(PageFiles):
    """Named files below the hash of them all: modules of two versions never run together.

    ``found`` returns where they are. In a checkout they may change; then so does the hash.
    """

    def __init__(self, found: Callable[[], Mapping[str, Path]], headers: Mapping[str, str]) -> None:
        super().__init__(directory=Path(__file__).parent, headers={**headers, **KEPT})
        self._found, self._files = found, Files()

    @property
    def hash(self) -> str:
        """The hash of the files as they are now."""
        return self._files.hash_of(*self._found().items())[:16]

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Returns where a file is; nothing else that lies beside it is found."""
        file = self._found().get(Path(path).as_posix())
        return ("", None) if file is None else (str(file), file.stat())

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Returns a file of this hash. One of another is not there: it may not fit to the others."""
        folder, _, name = Path(path).as_posix().partition("/")
        if folder != self.hash:
            raise HTTPException(404)
        response = await super().get_response(name, scope)
        if isinstance(response, FileResponse) and Path(response.path).parent.name == "elements":
            return Response(with_lit(Path(response.path)), response.status_code, _of_body(response.headers))
        return response

    def _pack(self, file: Path) -> bytes:
        return gzip.compress(with_lit(file), mtime=0)


_LIT = re.compile(rb'from "lit(?:/[^"]*)?"')


def with_lit(file: Path) -> bytes:
    """Returns a module, in which lit is the file that is vendored: browsers know no packages."""
    body = file.read_bytes()
    return _LIT.sub(b'from "../vendor/lit.js"', body) if file.parent.name == "elements" else body


class PageIndex:
    """The built-in page and what it loads: bundled, or its own modules and those of the components that they import."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self.files = HashedFiles(self._found, HEADERS)

    def _found(self) -> dict[str, Path]:
        if (folder := self._bundle.folder) is not None:
            return {name: file for name, file in named(folder / "page", "", "*") if file.suffix != ".br"}
        return {**dict(named(self._bundle.page, "", "*")), **dict(components(self._bundle.sources))}

    def text(self, name: str = "index.html") -> str:
        """Returns the built-in page, which names every module, or the one that `desk` fills in."""
        found = self._found()
        text = found[name].read_text(encoding="utf-8")
        modules = sorted(name for name in found if name.endswith(".js") and name not in UNNAMED)
        links = "\n    ".join(f'<link rel="modulepreload" href="page/{name}">' for name in modules)
        return text.replace("<!-- modules -->", links).replace('"page/', f'"page/{self.files.hash}/')

    def desk(self, title: str, script: str, instead: str) -> str:
        """Returns a page of people who decide or operate. ``instead``: what there is without JavaScript, as HTML."""
        return self.text("desk.html").format(title=title, script=script, instead=instead)
