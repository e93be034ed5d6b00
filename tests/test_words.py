"""One meaning per word: the words of the glossary's last table are not used as names for anything else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.test_structure import ADAPTERS, MODULES, ROOT, SERVER

GLOSSARY = ROOT / "docs/glossary.md"
HEADING = "## One meaning per word"
PACKAGES = (SERVER / "agui_gate", ADAPTERS / "agui_gate_adapters")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Word:
    """A word, the folders and files in which names may have it, and how many names elsewhere still do."""

    forms: str
    places: tuple[str, ...]
    elsewhere: int
    """Exactly so many; may only become less. Zero means that the word is free of other meanings."""


WORDS = {
    "settle": Word(
        "settle settles settled",
        (
            *("core/sanitizer.py", "core/sequencer.py", "core/transcript.py"),
            *("cli/commands/ops.py", "extras/operations/", "stores/operators.py", "stores/sql/operators.py"),
        ),
        0,
    ),
    "note": Word("note notes noted", ("bus/replicas/",), 8),
    "take": Word("take takes taken took taking", ("stores/",), 12),
    "tell": Word("tell tells told telling", ("bus/", "extras/replica_signals.py"), 27),
    "dialect": Word("dialect dialects", ("core/dialect.py", "protocol/"), 0),
    "memory": Word("memory memories", ("bus/memory.py", "stores/memory", "threads/budget.py"), 1),
    "media": Word("media", ("core/content.py", "core/media.py", "errors.py"), 8),
    "judge": Word("judge judges judged judging", ("testkit/spec/",), 5),
    "say": Word("say says said saying", ("cli/", "client/", "testkit/agui/"), 6),
    "look": Word("look looks looked looking", (), 7),
    "hear": Word("hear hears heard", (), 1),
    "keep": Word("keep keeps kept keeper", (), 13),
    "know": Word("know knows known", (), 9),
    "heed": Word("heed heeds heeded", (), 0),
    "breath": Word("breath breathe", (), 0),
    "aside": Word("aside", (), 1),
    "course": Word("course courses", (), 0),
    "scope": Word("scope scopes", (), 0),
    "heart": Word("heart hearts", (), 0),
}


def names(package: Path, path: Path) -> Iterator[str]:
    """The names that a module gives to itself, its classes, functions and methods. Private ones are left out."""
    place = path.relative_to(package).as_posix()
    yield f"{place} {path.parent.name if path.name == '__init__.py' else path.stem}"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else []
        for named in (node, *inner):
            if isinstance(named, kinds) and not named.name.startswith(("_", "test_")):
                yield f"{place} {named.name}"


def misused(word: Word, found: list[str]) -> list[str]:
    """The names that have the word, outside of its places."""
    forms = set(word.forms.split())
    parts = ((name, {part.lower() for part in _PART.findall(name.split(" ")[1])}) for name in found)
    return [name for name, said in parts if said & forms and not name.startswith(word.places)]


def test_a_word_has_one_meaning() -> None:
    found = [
        name
        for package in PACKAGES
        for path in MODULES
        if path.is_relative_to(package) and package / "testkit/conformance" not in path.parents
        for name in names(package, path)
    ]
    assert len(found) > 2000
    wrong = {word: misused(rule, found) for word, rule in WORDS.items()}
    other = {word: where for word, where in wrong.items() if len(where) != WORDS[word].elsewhere}
    assert other == {}, "more: docs/glossary.md has the words to use instead; fewer: lower the number"


def test_the_glossary_has_the_same_words() -> None:
    table = GLOSSARY.read_text(encoding="utf-8").partition(HEADING)[2]
    assert re.findall(r"^\| \*\*(\w+)\*\* \|", table, re.MULTILINE) == list(WORDS)


def test_a_word_with_a_second_meaning_is_found(tmp_path: Path) -> None:
    path = tmp_path / "turns/notes.py"
    path.parent.mkdir()
    path.write_text("class NoteBook:\n    def take_note(self): ...\n    def _note(self): ...\ndef notable(): ...\n")
    found = list(names(tmp_path, path))
    assert misused(Word("note notes", (), 0), found) == [
        "turns/notes.py notes",
        "turns/notes.py NoteBook",
        "turns/notes.py take_note",
    ]
    assert misused(Word("note notes", ("turns/",), 0), found) == []
