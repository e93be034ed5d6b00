"""Sentences of docstrings and of pages, and how many words they have.

One idea a sentence: it is read by people whose English is a second language. A semicolon ends a sentence here, since
what stands behind it is an idea of its own. Code, tables' lines and drawings are no sentences; what is written as code
within one counts as a word.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.markdown import without_code

MOST = 35
"""Words that a sentence may have. Most should have no more than 25."""

_DRAWN = re.compile(r"[─-╿]|^ *\|", re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#>]\s|\d+\.\s))")
_END = re.compile(r"(?<=[.!?;])[\"”)*]*\s+")
_CODE = re.compile(r"``[^`]*``|`[^`]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|https?://\S+")


def too_long(path: Path) -> Iterator[str]:
    """The sentences of a file that have more than `MOST` words, each with their number."""
    text = path.read_text(encoding="utf-8")
    prose = [without_code(text)] if path.suffix == ".md" else _docstrings(text)
    for sentence in (sentence for said in prose for sentence in sentences(said)):
        if (words := count(sentence)) > MOST:
            yield f"{path}: {words} words: {sentence}"


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each in one line. A cell of a table is a text of its own."""
    for block in _BLOCK.split(text):
        cells = block.replace("\n", " ").split("|") if block.lstrip().startswith("|") else [block]
        for cell in cells if not _DRAWN.search(cells[0]) else ():
            plain = _CODE.sub("code", _LINK.sub(r"\1", cell))
            yield from (" ".join(sentence.split()) for sentence in _END.split(plain))


def count(sentence: str) -> int:
    """Words of a sentence: what has a letter or a digit in it."""
    return sum(any(map(str.isalnum, word)) for word in sentence.split())


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
