"""Loads a lesson freshly, as somebody with a key and an empty directory would, with the strict emulator as provider."""

import importlib.util
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agui_gate import create_app
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import Product, client_of, running

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass
class Lesson:
    """A served example: its module, and the running product around it."""

    module: ModuleType
    product: Product


Teach = Callable[..., AbstractAsyncContextManager[Lesson]]


def load(name: str) -> ModuleType:
    """Import one example anew; nothing is left of it in `sys.modules`."""
    spec = importlib.util.spec_from_file_location(f"lesson_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("AGUI_GATE", "OPENAI"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("SESSION_SECRET", "a secret of the test")
    monkeypatch.setenv(
        "PEOPLE", '{"A": ["ada", "user"], "C": ["cat", "approver", "finance"], "E": ["eve", "approver"]}'
    )
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def teach(monkeypatch: pytest.MonkeyPatch) -> Teach:
    """Serve an example by its name; the provider follows ``script`` and must have refused nothing in the end."""

    @asynccontextmanager
    async def lesson(name: str, script: Any) -> AsyncIterator[Lesson]:
        emulator = Emulator(script=script)
        async with serve(emulator) as base_url:
            monkeypatch.setenv("OPENAI_BASE_URL", base_url)
            module = load(name)
            app = getattr(module, "app", None) or create_app(module.agent, store="memory://")
            async with running(app) as url, client_of() as client:
                yield Lesson(module, Product(emulator, app, url, client))
        assert emulator.refusals == []

    return lesson
