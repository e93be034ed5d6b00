"""docs/ says what is: its made tables are up to date, and its reference names what the code has."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.routing import Route

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.http.routes import ExtraRoutes
from tests.product.inprocess import Parrot
from tests.runbook import page as runbook
from tests.test_structure import MODULES, tracked_files
from tools import pages, sentences, site

TESTKIT = pages.DOCS.parent / "adapters/agui_gate_adapters/testkit"
NO_RULES = {"A1", "A2", "A3"}
"""Ids of orders in the kit's shop. They are rules, too."""


def test_the_made_tables_are_up_to_date() -> None:
    stale = [str(path.name) for path, text in pages.pages() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_a_table_that_is_not_up_to_date_is_found() -> None:
    old = "before\n<!-- made: settings -->\n\n| an old row |\n\n<!-- end -->\nafter\n"
    now = pages.filled(old)
    assert "an old row" not in now
    assert "`AGUI_GATE_STORE`" in now
    assert now.startswith("before\n")
    assert now.endswith("<!-- end -->\nafter\n")
    assert pages.filled(now) == now


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (pages.DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    there = [path for folder in (pages.DOCS, runbook.FOLDER) for path in folder.glob("*.md")]
    assert sorted(re.findall(r"[\w./-]+\.md", menu)) == sorted(
        [str(path.relative_to(pages.DOCS)) for path in there] + [f"python.{module}.md" for module in site.MODULES]
    )


def test_links_out_of_the_docs_lead_to_the_repository() -> None:
    class Page:
        class file:
            src_uri = "adr/0001-x.md"

    class Config:
        repo_url = "https://example.org/r"

    said = "[a](../../server/agui_gate) [b](../../README.md#use-it) [c](../design.md#x) "
    said += "[d](0002-y.md) [e](https://e.org) [f](../adr)"
    assert site.on_page_markdown(said, Page(), Config(), None) == (
        "[a](https://example.org/r/tree/main/server/agui_gate) [b](https://example.org/r/blob/main/README.md#use-it) "
        "[c](../design.md#x) [d](0002-y.md) [e](https://e.org) [f](https://example.org/r/tree/main/docs/adr)"
    )


def test_sentences_are_short() -> None:
    papers = [path for path in tracked_files() if path.suffix == ".md" and path.name != "CHANGELOG.md"]
    assert [line for path in (*papers, *MODULES) for line in sentences.too_long(path)] == [], "one idea a sentence"


def test_a_long_sentence_is_found(tmp_path: Path) -> None:
    long, most = "word " * sentences.MOST + "more", "word " * (sentences.MOST - 1) + "`a b c`"
    (tmp_path / "a.md").write_text(
        f"# A\n\n{most}. {most}.\n\n| {long} | b |\n\n```\n{long}\n```\n- {long}.\n", encoding="utf-8"
    )
    (tmp_path / "b.py").write_text(f'"""{long}."""\nx = 1\n"""{most}; {most}."""\ny = "{long}"\n', encoding="utf-8")
    found = [line for name in ("a.md", "b.py") for line in sentences.too_long(tmp_path / name)]
    assert [Path(line.split(":")[0]).name for line in found] == ["a.md", "a.md", "b.py"]
    assert all(f" {sentences.MOST + 1} words: " in line for line in found)


def test_the_runbook_says_what_to_do_about_each_alert() -> None:
    rules = (pages.DOCS.parent / "server/agui_gate/extras/metrics/files/alerts.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) > 5
    rows = dict(re.findall(r"^\| `(AguiGate\w+)` \| (.+) \|$", runbook.text_of("README"), re.MULTILINE))
    assert list(rows) == alerts
    urls = re.findall(r'runbook_url: "https://\S+/blob/main/docs/runbook/(\S+)"', rules)
    assert len(urls) == len(alerts)
    for alert, url in zip(alerts, urls, strict=True):
        assert url == "README.md#alerts" or f"({url})" in rows[alert], "the same page as in the table"
        assert (runbook.FOLDER / url.partition("#")[0]).is_file()


def test_each_page_of_the_runbook_has_the_same_parts_and_is_followed_by_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(runbook.__file__).parent.glob("test_*.py"))
    names = sorted(path.stem for path in runbook.FOLDER.glob("*.md") if path.stem != "README")
    assert len(names) == 13
    for name in names:
        parts = re.findall(r"^## (.+)$", runbook.text_of(name), re.MULTILINE)
        assert tuple(parts[: len(runbook.SECTIONS)]) == runbook.SECTIONS, name
        assert parts[len(runbook.SECTIONS) :] in ([], ["Before it happens"]), name
        assert f'place.page("{name}"' in tests, name
        assert f"({name}.md)" in runbook.text_of("README"), name


def test_what_the_server_says_names_pages_of_the_runbook_that_are_there() -> None:
    named = {found for path in MODULES for found in re.findall(r"docs/runbook/([\w.-]+\.md)", path.read_text())}
    assert len(named) > 3
    assert [name for name in named if not (runbook.FOLDER / name).is_file()] == []


def test_every_setting_is_described() -> None:
    rows = [line.split(" | ") for line in pages.settings().splitlines()[2:]]
    assert rows
    assert all(may and does.strip(" |") for _, _, may, does in rows)


@dataclass(frozen=True)
class Rule:
    """One line of docs/wire-rules.md."""

    code: str
    words: list[str]
    source: str


def rules() -> list[Rule]:
    """The rules in docs/wire-rules.md, in order."""
    lines = (pages.DOCS / "wire-rules.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| (\*\*[RCA]\d+[a-z]?\*\*)? \|", line)]
    quoted = re.compile(r'"((?:[^"\\]|\\.)+)"')
    return [
        Rule(code.strip("*"), [said.replace('\\"', '"') for said in quoted.findall(words)], source)
        for code, _, words, source in rows
    ]


def texts(folder: Path) -> Iterator[str]:
    """Every string in the code of a folder; what is filled into one at run time is a mark."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def says(text: str, words: str) -> bool:
    """Whether a text of the code is, or contains, these words. "…" stands for anything in them."""
    if words.strip("… ") in text.replace("\0", "…"):
        return True
    pattern = made_of(text)
    return pattern is not None and pattern.fullmatch(words) is not None


@cache
def made_of(text: str) -> re.Pattern[str] | None:
    """What a text with something filled in may look like. None where too little of it is its own to tell."""
    own = text.split("\0")
    return re.compile(".*".join(map(re.escape, own))) if len(own) > 1 and max(map(len, own)) > 12 else None


def test_every_rule_of_the_emulator_is_explained() -> None:
    cited = {text for text in texts(TESTKIT) if re.fullmatch(r"[RC]\d+[a-z]?|A\d+", text)}
    known = {rule.code for rule in rules() if rule.code}
    assert cited - known - NO_RULES == set()
    assert known - cited == set()
    assert len(known) == len([rule for rule in rules() if rule.code])


def test_the_words_of_the_rules_are_those_of_the_emulator() -> None:
    said = set(texts(TESTKIT))
    wrong = [
        (rule.code, words) for rule in rules() for words in rule.words if not any(says(text, words) for text in said)
    ]
    assert wrong == []
    assert not any(says(text, "No tool output found for function call …!") for text in said)


def test_every_rule_has_a_source_or_says_that_it_is_inferred() -> None:
    assert [rule.code for rule in rules() if not re.search(r"https://|inferred|make llama", rule.source)] == []


def described() -> set[tuple[str, str]]:
    """Methods and paths in the tables of docs/http-api.md. What an id in a path is called makes no difference."""
    text = (pages.DOCS / "http-api.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[A-Z]+ /.*?) \|", text, re.MULTILINE)
    named = [pair for cell in cells for pair in re.findall(r"`([A-Z]+) (/[^`?]*)`", cell)]
    return {(method, re.sub(r"\{\w+\}", "{}", path.rstrip("/"))) for method, path in named if "…" not in path}


def test_every_route_is_described() -> None:
    app = create_app(Agent(name="one", model=Parrot()), store="memory://", settings=Settings(usage=True))
    served = {
        (method, re.sub(r"\{\w+(:path)?\}", "{}", route.path.rstrip("/")))
        for one in app.routes
        for route in (one.routes if isinstance(one, ExtraRoutes) else [one])
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert served - described() == set()
    assert described() - served == set()
