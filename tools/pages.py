"""Makes the tables of docs/ that are in the code already: settings, commands, errors, requirements, rules.

``python -m tools.pages`` (or ``make docs``) writes them into their pages, between two marks. What stands around a table
is written by hand. `tests/test_docs.py` fails while a page is not up to date.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import click
from prometheus_client.metrics_core import Metric

from agui_gate import errors
from agui_gate.cli.program import COMMANDS
from agui_gate.config.setting_values import READERS
from agui_gate.config.settings import PREFIX, Settings, names
from agui_gate.config.sources import SECRETS
from agui_gate.errors import AguiGateError
from agui_gate.extras.metrics.families import Families
from agui_gate.extras.metrics.state import described
from agui_gate_adapters.testkit.spec import JUDGED, RULES
from tests.conforming import DEPARTURES, NOT_BUILT
from tests.replicas import scenarios
from tests.requirements import REQUIREMENTS
from tools.marks import marked

DOCS = Path(__file__).resolve().parents[1] / "docs"
_MARKED = re.compile(r"(<!-- made: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)

HELP_WIDTH = 100
"""Columns of the help of a command."""

MOST_TESTS = 3
"""Files of tests that a rule names; the marks have them all."""

Row = tuple[str, ...]


def settings() -> str:
    """Every setting with its default, what it may be, and what it does."""
    said = _below_attributes(Settings)
    defaults = {f.name: Settings().shown(f.name) for f in fields(Settings)}
    rows = list[Row]()
    for name in names():
        variable = f"{PREFIX}{name.upper()}"
        default = f"`{defaults[name]}`" if defaults[name] else ""
        rows.append((f"`{variable}`", default, _doc(READERS[name]), said[name]))
        if name in SECRETS:
            means = (
                f"A file with the value of `{variable}`, in its place ([operations](operations.md#secrets-in-files))."
            )
            rows.append((f"`{variable}_FILE`", "", "A path.", means))
    return _table(("variable", "default", "may be", "what it does"), rows)


def commands() -> str:
    """Every command, with what its help says."""
    return "\n".join(
        f"## {' '.join(words)}\n\n```text\n{_help(command, words)}\n```\n"
        for name, (module, _) in COMMANDS.items()
        for words, command in _below((name,), import_module(module).command)
    )


def _below(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    for name, one in command.commands.items() if isinstance(command, click.Group) else ():
        yield from _below((*words, name), one)


def _help(command: click.Command, words: tuple[str, ...]) -> str:
    named = " ".join(("agui-gate", *words))
    context = click.Context(command, info_name=named, terminal_width=HELP_WIDTH, help_option_names=["-h", "--help"])
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def codes() -> str:
    """Every error that a client can get, by its code."""
    shown = [kind for kind in _tree(AguiGateError) if _doc(kind) and kind.__name__ not in _NEVER_SENT]
    rows = [(f"`{kind.code}`", _status(kind), f"`{kind.__name__}`", _doc(kind)) for kind in shown]
    return _table(("code", "HTTP", "class", "what it means, and what to do"), sorted(rows))


def requirements() -> str:
    """Every requirement, in one table a source."""
    sources = dict.fromkeys(line.source for line in REQUIREMENTS.values())
    parts = []
    for source in sources:
        rows = [(f"**{i}**", line.text) for i, line in REQUIREMENTS.items() if line.source == source]
        parts.append(f"### {_linked(source)}\n\n{_table(('id', 'promise'), rows)}")
    return "\n".join(parts)


def metrics() -> str:
    """Every metric with its labels; those that need no setting last."""
    families = Families()
    counted = [(next(one.collect()), one.labels) for one in families.all]
    rows = [
        (_metric(family), ", ".join(f"`{name}`" for name in labels), family.documentation) for family, labels in counted
    ]
    read = [_metric_row(family) for family in described()]
    return _table(("metric", "labels", "what it says"), [*rows, *read])


def _metric_row(family: Metric) -> Row:
    labels = dict.fromkeys(name for sample in family.samples for name in sample.labels)
    return _metric(family), ", ".join(f"`{name}`" for name in labels), family.documentation


def _metric(family: Metric) -> str:
    """The name as Prometheus has it."""
    return f"`{family.name}{'_total' if family.type == 'counter' else ''}`"


def replicas() -> str:
    """Every requirement of the scenarios with the tests that show it over replicas; or why none does."""
    rows = []
    for i in scenarios.WANTED:
        tests = scenarios.shown().get(i, [])
        files = ", ".join(
            f"[{Path(name).stem}](../tests/{name})" for name in dict.fromkeys(t.split("::")[0] for t in tests)
        )
        rows.append((f"**{i}**", f"{len(tests)}: {files}" if tests else f"none: {scenarios.NOT_SHOWN.get(i, '')}"))
    return _table(("id", "tests with several replicas"), rows)


def rules() -> str:
    """Every rule of the specification with where we stand, in one table a page of it."""
    shown: dict[str, list[str]] = {}
    for test in marked("conforms"):
        for rule_id in test.ids:
            shown.setdefault(rule_id, []).append(test.test.split("::")[0])
    parts = []
    for page in dict.fromkeys(rule.page for rule in RULES.values()):
        rows = [
            (f"[**{i}**]({rule.url})", rule.strength, rule.text, _standing(i, shown.get(i, [])))
            for i, rule in RULES.items()
            if rule.page == page
        ]
        parts.append(f"### {page}\n\n{_table(('id', '', 'what a server has to do', 'agui-gate'), rows)}")
    return "\n".join(parts)


def _standing(rule_id: str, tests: list[str]) -> str:
    """How a rule is kept, by the tests; or why it isn't."""
    files = list(dict.fromkeys(tests))
    shown = ", ".join(f"[{Path(name).stem}](../tests/{name})" for name in files[:MOST_TESTS])
    more = f" and {len(files) - MOST_TESTS} more" if len(files) > MOST_TESTS else ""
    if rule_id in DEPARTURES:
        return f"**departs**: {DEPARTURES[rule_id]}" + (f" Tests: {shown}{more}." if shown else "")
    if rule_id in NOT_BUILT:
        return f"not built: {NOT_BUILT[rule_id]}"
    kept = [*(["judged on every stream"] if rule_id in JUDGED else []), *([f"{shown}{more}"] if shown else [])]
    if kept:
        return f"conforms: {'; '.join(kept)}"
    return "" if RULES[rule_id].strength in ("note", "MAY") else "no test yet"


MADE: dict[str, Callable[[], str]] = {
    "settings": settings,
    "commands": commands,
    "errors": codes,
    "requirements": requirements,
    "replicas": replicas,
    "metrics": metrics,
    "rules": rules,
}
"""What a page can ask for by name."""


def filled(text: str) -> str:
    """A page with its tables as they have to be now."""
    return _MARKED.sub(lambda m: f"{m[1]}\n{MADE[m[2]]()}{m[3]}", text)


def pages() -> Iterator[tuple[Path, str]]:
    """Each page of docs/ with what has to be in it."""
    for path in sorted(DOCS.rglob("*.md")):
        yield path, filled(path.read_text(encoding="utf-8"))


# --- reading the code ------------------------------------------------------------------------------------------------
_NEVER_SENT = ("AguiGateError", "RequestError", "ProviderError", "ConfigurationError", "Unusable")
"""Roots of branches, and what is raised at the start of a server alone."""


def _below_attributes(kind: type) -> dict[str, str]:
    """What the string below each attribute of a class says."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    said = {}
    for attribute, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(attribute, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(attribute.target, ast.Name)
            assert isinstance(after.value, ast.Constant)
            said[attribute.target.id] = _one_line(after.value.value)
    return said


def _tree(kind: type[AguiGateError]) -> Iterator[type[AguiGateError]]:
    if kind.__module__ == errors.__name__:
        yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def _status(kind: type[AguiGateError]) -> str:
    return "400, 422" if kind is errors.InvalidRequest else str(kind.status)


def _doc(described: object) -> str:
    return _one_line(inspect.cleandoc(getattr(described, "__doc__", None) or ""))


def _one_line(text: object) -> str:
    """A docstring as a cell of a table: one line, our own names in one kind of quotes."""
    return " ".join(str(text).split()).replace("``", "`")


def _linked(source: str) -> str:
    """A source with its issues on GitHub as links."""
    issue = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
    return issue.sub(r"[\1#\2](https://github.com/\1/issues/\2)", source)


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main() -> int:
    """Write what is not up to date, and name it."""
    for path, text in pages():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(DOCS.parent)}: made anew\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
