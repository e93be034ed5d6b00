"""The pages' files, before and after there is a second page."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agui_gate.http.assets import page_routes


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
