"""Each time, interval and limit has the value that it is meant to have: `constants` is the table of all of them.

A constant that is new, or that has another value, is to be put there. Other tests set many of these to what suits
them, and so would not see that one is ten times what it was.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from agui_gate.config import limits
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.config.settings import Settings
from tests.constants import CONSTANTS, PROMISED, SETTINGS

ROOT = Path(__file__).parent.parent
KIND = re.compile(r"SECONDS|_MS$|_S$|TIMEOUT|INTERVAL|GRACE|PATIENCE|MAX|MOST|LONGEST|LIMIT|BYTES")
"""What the name of a time, an interval or a limit has in it."""

Number = int | float | tuple[int | float, ...]


def found() -> dict[str, Number]:
    """Those of all modules, by module and name, and the defaults of an engine's limits."""
    engine = {f"agui_gate.config.limits.Limits.{name}": getattr(DEFAULTS, name) for name in Limits.__struct_fields__}
    return {f"{module}.{name}": value for module, name, value in _numbers()} | {
        name: value for name, value in engine.items() if KIND.search(name.upper().rpartition(".")[2])
    }


def _numbers() -> Iterator[tuple[str, str, Number]]:
    for folder in ("server", "adapters"):
        for path in sorted((ROOT / folder).rglob("agui_gate*/**/*.py")):
            if "testkit" in path.parts or path.name.startswith("__"):
                continue
            module = ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
            names = [name for name in _names(path) if KIND.search(name)]
            values = vars(importlib.import_module(module)) if names else {}
            yield from ((module, name, values[name]) for name in names if _is_number(values[name]))


def _names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (name.id for name in names if isinstance(name, ast.Name) and name.id.isupper())


def _is_number(value: object) -> bool:
    return all(isinstance(one, int | float) for one in (value if isinstance(value, tuple) else (value,)))


def test_each_constant_has_its_value() -> None:
    now = found()
    assert now.keys() - CONSTANTS.keys() == set(), "new: to be put into tests/constants.py"
    assert CONSTANTS.keys() - now.keys() == set(), "gone"
    assert {name: value for name, value in now.items() if value != CONSTANTS[name][0]} == {}
    assert len(now) > 200


def test_each_constant_has_a_reason() -> None:
    """A sentence of its own, or the name of the constant that has it."""
    without = {name for name, (_, why) in CONSTANTS.items() if not re.fullmatch(r"[A-Z].*\.", why)}
    assert without == set(), "says nothing"
    reasons = [why for _, why in CONSTANTS.values() if not why.startswith("As ")]
    assert {why for why in reasons if reasons.count(why) > 1} == set()


def test_each_setting_has_its_default() -> None:
    plain = {f.name: getattr(Settings(), f.name) for f in fields(Settings)}
    assert {name: value for name, value in plain.items() if isinstance(value, int | float | str)} == SETTINGS


def test_what_is_promised_is_in_the_table_and_says_where() -> None:
    assert PROMISED.keys() <= CONSTANTS.keys()
    for name, (page, words) in PROMISED.items():
        assert words in " ".join((ROOT / page).read_text().split()), name


def test_a_default_stands_once() -> None:
    """The limits of an engine are the settings of the same name, also where there are no settings."""
    for name in Limits.__struct_fields__:
        assert getattr(DEFAULTS, name) == getattr(Settings(), name)
    text = (ROOT / "server/agui_gate/config/settings.py").read_text()
    names = {name.lower() for name in vars(limits) if name.isupper()} | set(Limits.__struct_fields__)
    said = {name for name in names if re.search(rf"^    {name}: (int|float) = [\d(]", text, re.MULTILINE)}
    assert said == set(), "settings.py says them again; they stand in limits.py"
