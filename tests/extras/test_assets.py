"""The pages' files, before and after there is a second page."""

import os
import re
import shutil
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agui_gate.extras.components.bundle import PAGE, SOURCES, Bundle
from agui_gate.extras.page.assets import BUILT_HEADERS, KEPT, page_routes
from tests.support.unbundled import Unbundled


@pytest.mark.parametrize("path", ["/copilot/", "/copilot/index.html", "/copilot/assets/page.js"])
def test_a_page_that_was_not_built_is_not_there_until_it_is(tmp_path: Path, path: str) -> None:
    """As on every machine that installed the package: it was a 500 with a traceback in the log."""
    built = tmp_path / "dist"
    client = TestClient(Starlette(routes=page_routes(built)))
    for _ in range(2):
        assert client.get(path).status_code == 404
    (built / "assets").mkdir(parents=True)
    (built / "assets" / "page.js").write_text("export {};", encoding="utf-8")
    (built / "index.html").write_text("<title>second</title>", encoding="utf-8")
    assert client.get(path).status_code == 200


def packed(response: Response) -> bool:
    """Whether it came compressed (the client has unpacked it)."""
    return response.headers.get("content-encoding") == "gzip"


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [("gzip, deflate, br", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("identity", False), ("", False)],
)
def test_what_the_pages_load_is_compressed_for_who_takes_that(tmp_path: Path, accepted: str, compressed: bool) -> None:
    (tmp_path / "assets").mkdir()
    texts = {"page.js": "export {};\n" * 1000, "small.js": "export {};", "font.woff2": "f" * 4000}
    for name, text in texts.items():
        (tmp_path / "assets" / name).write_text(text, encoding="utf-8")
    (tmp_path / "index.html").write_text("<title>second</title>" * 100, encoding="utf-8")
    client = TestClient(Starlette(routes=page_routes(tmp_path)))
    client.headers["accept-encoding"] = accepted
    for _ in range(2):  # the second one is from memory
        response = client.get("/copilot/assets/page.js")
        assert (packed(response), response.text) == (compressed, texts["page.js"])
        assert int(response.headers["content-length"]) < len(texts["page.js"]) or not compressed
        assert (response.headers["vary"], response.headers["cache-control"]) == (
            "Accept-Encoding",
            KEPT["cache-control"],
        )
        assert response.headers["content-security-policy"] == BUILT_HEADERS["content-security-policy"]
    again = client.get("/copilot/assets/page.js", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304
    assert not packed(client.get("/copilot/assets/small.js"))
    assert not packed(client.get("/copilot/assets/font.woff2"))
    assert packed(client.get("/copilot/")) is packed(client.get("/")) is compressed
    (tmp_path / "assets" / "page.js").write_text("changed();" * 500, encoding="utf-8")
    os.utime(tmp_path / "assets" / "page.js", (1, 1))
    assert client.get("/copilot/assets/page.js").text == "changed();" * 500


def test_the_built_in_page_names_all_that_it_loads_and_that_is_kept_for_good() -> None:
    client = TestClient(Starlette(routes=page_routes(Path("nowhere"), Unbundled())))
    page = client.get("/")
    assert page.headers["cache-control"] == "no-cache"
    loaded = [name.lstrip("/") for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)]
    modules = re.findall(r'rel="modulepreload" href="page/\w+/([\w./-]+)"', page.text)
    reached: set[Path] = set()
    left = [PAGE / "app.js"]
    while left:
        if (file := left.pop()) not in reached:
            reached.add(file)
            imported = re.findall(r'from "(\.[\w./-]+)"', file.read_text(encoding="utf-8"))
            left += [(SOURCES.parent if "./components/" in name else file.parent) / name for name in imported]
    of = {file.resolve() for file in reached}
    assert of <= {(SOURCES.parent if "/" in name else PAGE) / name for name in modules}
    sizes = 0
    for name in sorted(set(loaded)):
        file = client.get(f"/{name}")
        assert (file.status_code, file.headers["cache-control"]) == (200, KEPT["cache-control"])
        sizes += int(file.headers["content-length"])
    assert sizes < 170_000, "compressed; 400,000 without"


def test_the_built_in_page_has_another_address_when_one_of_its_files_is_another(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(PAGE, folder)
    client = TestClient(Starlette(routes=page_routes(tmp_path / "none", Bundle(page=folder))))
    address = re.compile(r"page/\w+/app\.js")
    before = address.findall(client.get("/").text)
    assert client.get("/").text == client.get("/").text
    (folder / "dom.js").write_text("changed", encoding="utf-8")
    after = address.findall(client.get("/").text)
    assert before != after
    assert client.get(f"/{before[0]}").status_code == 404, "modules of two versions must never run together"
    assert client.get(f"/{after[0]}").status_code == 200
