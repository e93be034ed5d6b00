"""The components in a new Vite app on another origin, made by following frontend-demo/README.md to the letter.

Nothing is downloaded for it. `npm create vite` is the version in this directory's lock file, and `npm install` links
the packages of the CopilotKit page, whose TypeScript is stricter about `lib` than the template's.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.e2e.stack import HERE, PAGE, ROOT, Process, Stack, program
from tests.requirements import shows
from tests.support.servers import free_port

_, TEXT = (PAGE / "README.md").read_text().split("## Copying the components")
COMMANDS, APP, SERVE = re.findall(r"```\w*\n(.*?)```", TEXT, re.DOTALL)
OPTIONS = re.findall(r'`("(?:strict|lib)": [^`]+)`', TEXT)
TOKEN = "wonderland"
PACKED, VERSION = map(json.loads((ROOT / "components/package.json").read_text()).get, ("name", "version"))
TARBALL = f"./{PACKED}-{VERSION}.tgz"
SECONDS = 300.0
"""For one command, on a busy machine."""


def node(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a Node program to its end."""
    words = ["node", *map(str, command)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False)


def follow(commands: str, place: Path) -> Path:
    """Run the README's commands in ``place``, and return the directory in which they end."""
    for command in commands.strip().splitlines():
        words = shlex.split(command)
        if words[:3] == ["npm", "create", "vite@latest"]:
            options = [word for word in words[3:] if word != "--"]
            made = node(HERE / "node_modules/create-vite/index.js", *options, "--no-interactive", cwd=place)
            assert made.returncode == 0, made.stdout + made.stderr
        elif words[0] == "cd":
            place /= words[1]
        elif words[:2] in (["npm", "ci"], ["npm", "pack"]):  # which tests/e2e/components/test_package.py does
            assert (place / words[-1] / "package.json").is_file()
        elif words[:2] == ["npm", "install"]:
            install([PACKED if word == TARBALL else word for word in words[2:]], place)
        else:
            assert words[0] == "cp", f"the README says what this test can't do: {command}"
            subprocess.run(words, cwd=place, check=True)
    return place


def install(names: list[str], app: Path) -> None:
    """Give the app its packages: these and the template's, which the CopilotKit page has to depend on as well."""
    at_hand, template = (json.loads((place / "package.json").read_text())["dependencies"] for place in (PAGE, app))
    assert not {*names, *template} - {*at_hand}
    (app / "node_modules").mkdir()
    for package in (PAGE / "node_modules").iterdir():
        if not package.name.startswith("."):
            (app / "node_modules" / package.name).symlink_to(package)


def put(text: str, old: str, new: str) -> str:
    """``text``, with the only ``old`` replaced."""
    assert text.count(old) == 1, f"{text.count(old)} times in the text: {old}"
    return text.replace(old, new)


def test_the_page_of_the_first_five_minutes_can_be_built(tmp_path: Path) -> None:
    """The whole App.jsx of docs/start.md; the server's own module is left to the browser."""
    (text,) = re.findall(r"`src/App.jsx`:\n\n```jsx\n(.*?)```", (ROOT / "docs/start.md").read_text(), re.DOTALL)
    (tmp_path / "App.jsx").write_text(text)
    (tmp_path / "node_modules").symlink_to(PAGE / "node_modules")
    options = ("--bundle", "--format=esm", "--jsx=automatic", "--external:http*", "--outfile=out.js", "--log-limit=0")
    fonts = (f"--loader:.{kind}=empty" for kind in ("woff2", "woff", "ttf"))
    esbuild = ROOT / "components/node_modules/esbuild/bin/esbuild"
    built = subprocess.run(
        [esbuild, "App.jsx", *options, *fonts], cwd=tmp_path, capture_output=True, timeout=SECONDS, check=False
    )
    assert built.returncode == 0, built.stderr.decode()
    (imported,) = re.findall(r'import \{([^}]+)\} from "http://127.0.0.1:8000/components/agui-gate.js"', text)
    ours = (ROOT / "components/agui-gate.js").read_text()
    assert [name for name in re.findall(r"\w+", imported) if not re.search(rf"\b{name}\b", ours)] == []


class NewPage:
    """The app, and the server that accepts its origin."""

    def __init__(self, place: Path, stack: Stack) -> None:
        port, page_port = str(free_port()), str(free_port())
        self.server, self.origin = f"http://127.0.0.1:{port}/", f"http://localhost:{page_port}"
        (place / "agui-gate").symlink_to(ROOT)
        self.app = follow(COMMANDS, place)
        text = put(APP, '"http://127.0.0.1:8000/"', f'"{self.server}"')
        (self.app / "src" / "App.tsx").write_text(put(text, '"…"', f'"{TOKEN}"'))
        streams = place / "streams.jsonl"
        stack.streams = (*stack.streams, streams)
        model = f"{stack.urls['provider']}/v1"
        arguments = ("server", port, model, f"sqlite:///{place}/store.db", str(streams))
        self.processes = [program(*arguments, env=self._environment()), self._vite("preview", page_port)]

    def _environment(self) -> dict[str, str]:
        """The settings that the README starts the server with."""
        text = put(put(SERVE, "http://localhost:5173", self.origin), "alice:…", f"alice:{TOKEN}")
        return dict(word.split("=", 1) for word in shlex.split(text) if "=" in word)

    def _vite(self, command: str, port: str) -> Process:
        vite = self.app / "node_modules" / "vite" / "bin" / "vite.js"
        return Process("node", str(vite), command, "--port", port, "--strictPort", cwd=self.app)

    def types(self) -> str:
        """What the type checker says, with the options that `tsconfig.app.json` has now."""
        return node("node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.app.json", cwd=self.app).stdout

    def set_options(self) -> None:
        """Set what the README says in `tsconfig.app.json`, in place of what the template has."""
        config = self.app / "tsconfig.app.json"
        text = config.read_text()
        for option in OPTIONS:
            name = option.split(":")[0]
            text = re.sub(rf"\n *{name}: .*,(?=\n)", "", text)
            text = put(text, '"compilerOptions": {', f'"compilerOptions": {{\n    {option},')
        config.write_text(text)

    def build(self) -> None:
        """`vite build`."""
        built = node("node_modules/vite/bin/vite.js", "build", cwd=self.app)
        assert built.returncode == 0, built.stdout + built.stderr

    def approvals(self) -> Any:
        """What the server has in its ledger."""
        url = f"{self.server}approvals?state=decided"
        with urlopen(Request(url, headers={"authorization": f"Bearer {TOKEN}"})) as answer:
            return json.load(answer)["approvals"]


@pytest.fixture(scope="module")
def page(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewPage]:
    """The app, ready to be built."""
    made = NewPage(tmp_path_factory.mktemp("new-page"), stack)
    yield made
    for process in made.processes:
        process.stop()


@shows("T4", "T6")
def test_it_has_types_with_the_options_that_the_readme_names(page: NewPage) -> None:
    page.set_options()
    assert page.types() == ""


@shows("T4", "T6")
def test_a_person_approves_there(page: NewPage, stack: Stack) -> None:
    page.build()
    for process in page.processes:
        process.start()
    stack.run("approvesFromAnotherOrigin", {"url": page.origin})
    (done,) = page.approvals()
    assert (done["tool"], done["state"], done["decision"]["by"]) == ("refund", "done", "alice")
    assert json.loads(done["result"])["refunded"] == 0.1
