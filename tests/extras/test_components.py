"""The components as they are served: from a bundle of what is there, else from the sources; to pages of any origin."""

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agui_gate.extras.components.assets import component_routes
from agui_gate.extras.components.bundle import FOLDERS, PAGE, SOURCES, Bundle
from agui_gate.extras.page.assets import KEPT, page_routes


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A copy of the sources, of which nothing was bundled."""
    for folder in FOLDERS:
        if (SOURCES / folder).is_dir():
            shutil.copytree(SOURCES / folder, tmp_path / "components" / folder)
    for file in SOURCES.glob("*.js"):
        shutil.copy(file, tmp_path / "components")
    shutil.copytree(PAGE, tmp_path / "page")
    return Bundle(tmp_path / "components", tmp_path / "page")


def bundled(bundle: Bundle) -> None:
    """Do as `components/build/bundle.js` does."""
    files = [("page", file) for file in bundle.page.iterdir()]
    files += [("components", file) for file in bundle.sources.glob("*.js")]
    files += [(f"components/{name}", file) for name in FOLDERS for file in (bundle.sources / name).glob("*.js")]
    told = sha256()
    for name, file in sorted((f"{folder}/{file.name}", file) for folder, file in files):
        told.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    (bundle.sources / "dist" / "page").mkdir(parents=True)
    for name in ("agui-gate.js", "auto.js", "page/app.js"):
        (bundle.sources / "dist" / name).write_text(f"/* bundled {name} */" * 100, encoding="utf-8")
    shutil.copy(bundle.page / "index.html", bundle.sources / "dist" / "page")
    (bundle.sources / "dist" / "made.json").write_text(json.dumps({"sources": told.hexdigest()}), encoding="utf-8")


def test_a_page_of_any_origin_loads_the_sources_where_nothing_is_bundled(bundle: Bundle) -> None:
    client = TestClient(Starlette(routes=component_routes(bundle)))
    reached: set[str] = set()
    left = ["/components/auto.js"]
    while left:
        if (name := left.pop()) in reached:
            continue
        reached.add(name)
        file = client.get(name)
        assert file.status_code == 200, name
        assert file.headers["content-type"].startswith("text/javascript")
        assert file.headers["access-control-allow-origin"] == "*"
        assert file.headers["cross-origin-resource-policy"] == "cross-origin"
        kept = "no-cache" if name == "/components/auto.js" else KEPT["cache-control"]
        assert file.headers["cache-control"] == kept
        imported = re.findall(r'^(?:import(?: .*? from)?|export .*? from) "([^"\n]+)";$', file.text, re.MULTILINE)
        assert not [other for other in imported if other[0] != "."], "browsers know no packages"
        left += [str(file.url.join(other).path) for other in imported]
    assert not [name for name in reached if "/dist/" in name]
    assert [name for name in reached if name.endswith("/vendor/lit.js")]


def test_what_was_bundled_is_served_as_long_as_it_is_of_these_sources(bundle: Bundle) -> None:
    client = TestClient(Starlette(routes=[*component_routes(bundle), *page_routes(Path("none"), bundle)]))

    def module() -> str:
        (name,) = re.findall(r'"\./(\w+/agui-gate\.js)"', client.get("/components/agui-gate.js").text)
        return f"/components/{name}"

    sources = module()
    assert "bundled" not in client.get(sources).text
    bundled(bundle)
    packed = client.get(module())
    assert packed.text.startswith("/* bundled agui-gate.js")
    assert packed.headers["content-encoding"] == "gzip"
    (bundle.sources / "dist" / "agui-gate.js.br").write_bytes(b"as brotli has it")
    with client.stream("GET", module(), headers={"accept-encoding": "gzip, br"}) as made:
        assert (made.headers["content-encoding"], b"".join(made.iter_raw())) == ("br", b"as brotli has it")
    assert client.get(module(), headers={"accept-encoding": "br;q=0"}).text == packed.text
    assert client.get(sources).status_code == 404, "modules of two versions must never run together"
    (app,) = re.findall(r'src="(page/\w+/app\.js)"', client.get("/").text)
    assert client.get(f"/{app}").text.startswith("/* bundled page/app.js")
    (bundle.page / "app.js").write_text("changed();", encoding="utf-8")
    assert module() == sources
    (app,) = re.findall(r'src="(page/\w+/app\.js)"', client.get("/").text)
    assert client.get(f"/{app}").text == "changed();"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"7"])
def test_a_bundle_that_is_half_written_is_none(bundle: Bundle, text: bytes) -> None:
    bundled(bundle)
    (bundle.sources / "dist" / "made.json").write_bytes(text)
    assert bundle.folder is None


@pytest.mark.parametrize(
    "name", ["other.js", "{hash}/package.json", "{hash}/build/bundle.js", "{hash}/../package.json"]
)
def test_nothing_else_of_the_folder_is_served(bundle: Bundle, name: str) -> None:
    client = TestClient(Starlette(routes=component_routes(bundle)))
    (hashed,) = re.findall(r'"\./(\w+)/', client.get("/components/auto.js").text)
    assert client.get(f"/components/{name.format(hash=hashed)}").status_code == 404
