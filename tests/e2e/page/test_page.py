"""The built-in page: what is served and how, and the unit tests of its pure modules (in Node).

Clicking through it in a browser is not done here; these are the checks that need no browser.
"""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agui_gate.extras.components.bundle import PAGE, SOURCES
from agui_gate.extras.page.assets import BUILT_HEADERS, HEADERS, KEPT, PageIndex, page_routes
from tests.support.unbundled import Unbundled

HERE = Path(__file__).parent
FILES = f"/page/{PageIndex(Unbundled()).files.hash}"
MODULES = sorted(PAGE.glob("*.js"))
IMPORT = re.compile(r'^import .*? from "\./([^"]+)";$', re.MULTILINE | re.DOTALL)
# Namespaces are names, not addresses; in markdown.js the scheme is what links are checked for.
URL = re.compile(r"https?://(?!www\.w3\.org/)")


class Tags(HTMLParser):
    """Every tag of a document with its attributes, and the text inside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.inline += data.strip()


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=page_routes(bundle=Unbundled())))


@pytest.fixture
def index() -> Tags:
    parser = Tags()
    parser.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    return parser


def test_every_file_is_served_with_the_headers_that_protect_it(client: TestClient) -> None:
    for path in ["/", *(f"{FILES}/{file.name}" for file in PAGE.iterdir())]:
        response = client.get(path)
        assert response.status_code == 200, path
        expected = HEADERS if path == "/" else HEADERS | KEPT
        assert {name: response.headers[name] for name in expected} == expected, path


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A second page as a build leaves it."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "page.js").write_text("export {};", encoding="utf-8")
    (tmp_path / "index.html").write_text("<title>second</title>", encoding="utf-8")
    return tmp_path


def test_the_page_made_with_copilotkit_is_served_where_it_is_built(built: Path) -> None:
    client = TestClient(Starlette(routes=page_routes(built)))
    assert "second" in client.get("/copilot/").text
    for path, caching in (("/copilot/", {}), ("/copilot/assets/page.js", KEPT)):
        headers = client.get(path).headers
        expected = BUILT_HEADERS | caching
        assert {name: headers[name] for name in expected} == expected, path
        assert "unsafe-eval" not in headers["content-security-policy"]
    assert client.get("/copilot/../assets.py").status_code == 404


def test_the_pages_link_to_each_other_only_where_both_are(built: Path, tmp_path: Path) -> None:
    both = TestClient(Starlette(routes=page_routes(built))).get("/")
    alone = TestClient(Starlette(routes=page_routes(tmp_path / "nothing"))).get("/")
    assert ('href="copilot/"' in both.text, 'href="copilot/"' in alone.text) == (True, False)
    assert both.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert both.text.count("<!--") < alone.text.count("<!--")


def test_the_page_is_asked_for_each_time_and_files_are_not_sent_again(client: TestClient) -> None:
    assert client.get("/").headers["cache-control"] == "no-cache"
    first = client.get(f"{FILES}/app.js")
    again = client.get(f"{FILES}/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, KEPT["cache-control"])


def test_nothing_outside_the_page_is_served(client: TestClient) -> None:
    inside = (f"{FILES}/../../assets.py", f"{FILES}/%2e%2e/%2e%2e/assets.py", f"{FILES}/nothing.js", f"{FILES}/")
    for path in ("/page/../assets.py", "/page/%2e%2e/assets.py", "/page/app.js", "/page/", *inside):
        assert client.get(path).status_code == 404, path


def test_modules_have_a_type_that_browsers_run(client: TestClient) -> None:
    for module in MODULES:
        assert client.get(f"{FILES}/{module.name}").headers["content-type"].startswith("text/javascript")


def test_the_document_has_nothing_inline_and_every_reference_resolves(index: Tags) -> None:
    assert index.inline == ""
    for tag, attributes in index.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag
        for name in ("src", "href"):
            target = attributes.get(name)
            if target and not target.startswith("#"):
                assert target.startswith("page/"), target  # relative, so that the server can be mounted anywhere
                assert (PAGE / target.removeprefix("page/")).is_file(), target


def test_every_field_and_button_of_the_document_has_a_name(index: Tags) -> None:
    labelled = {attributes.get("for") for tag, attributes in index.tags if tag == "label"}
    for tag, attributes in index.tags:
        if tag in ("input", "textarea", "select"):
            assert attributes.get("id") in labelled or attributes.get("aria-label"), attributes


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in PAGE.iterdir():
        if file.name != "markdown.js":
            assert not URL.search(file.read_text(encoding="utf-8")), file.name


def test_modules_are_small_and_import_what_exists() -> None:
    for module in MODULES:
        source = module.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= 250, module.name
        for name in IMPORT.findall(source):
            there = SOURCES.parent / name if name.startswith("components/") else PAGE / name
            assert there.is_file(), f"{module.name} imports {name}"


def test_only_one_module_writes_html() -> None:
    sinks = re.compile(r"innerHTML|outerHTML|insertAdjacent")
    writers = [module.name for module in MODULES if sinks.search(module.read_text(encoding="utf-8"))]
    assert writers == ["messages.js"]


def test_the_pure_modules_pass_their_own_tests() -> None:
    node = shutil.which("node")
    assert node, "Node 20 or newer is needed"
    files = sorted(str(file) for file in HERE.glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
