"""Estimates what a request costs: by a file of prices (`AGUI_GATE_PRICES`), else by the package `genai-prices`.

A model that neither knows has no price. Its tokens are kept all the same.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import msgspec

from agui_gate.config.sources import read_regular
from agui_gate.errors import ConfigurationError
from agui_gate.stores.usage import NANO

PACKAGE = "genai_prices"
MILLION = 1_000_000
MOST_NAMES = 1_000
"""Prices of models that are remembered, by what providers call them."""

_Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e6)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars for a million tokens. Parts of the input without a price of their own cost as the input."""

    input: _Dollars
    output: _Dollars
    cached_input: _Dollars | None = None
    cache_write_input: _Dollars | None = None


class PriceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of prices: ``dated`` names it in what is kept, ``models`` are by name, or ``provider/name``."""

    dated: str
    models: Mapping[str, Price]


class Prices:
    """The prices of one server. ``file``: where its own are; "" for none. Raises `ConfigurationError`."""

    def __init__(self, file: str) -> None:
        self._own = _read(file) if file else None
        self._has_package = find_spec(PACKAGE) is not None
        self._names = lru_cache(MOST_NAMES)(self._found)

    @property
    def has_any(self) -> bool:
        """True if there are any prices."""
        return self._own is not None or self._has_package

    def cost(self, provider: str, model: str, tokens: Mapping[str, int | None]) -> tuple[int | None, str]:
        """Returns the cost in billionths of a dollar, and by which prices; None where the model has none, or nobody
        said how many tokens there were. ``tokens``: by kind.
        """
        if tokens.get("input") is None and tokens.get("output") is None:
            return None, ""
        price, dated = self._names(provider, model)
        if price is None:
            return None, ""
        counts = {kind: tokens.get(kind) or 0 for kind in ("input", "output", "cached_input", "cache_write_input")}
        plain = counts["input"] - counts["cached_input"] - counts["cache_write_input"]
        cached = price.input if price.cached_input is None else price.cached_input
        written = price.input if price.cache_write_input is None else price.cache_write_input
        amounts = (
            (plain, price.input),
            (counts["cached_input"], cached),
            (counts["cache_write_input"], written),
            (counts["output"], price.output),
        )
        total = sum((Decimal(count) * Decimal(str(each)) for count, each in amounts), Decimal(0))
        return int(total * NANO / MILLION), dated

    def load(self) -> None:
        """Imports the package, which takes a second or more."""
        self._names("openai", "gpt-5.4-mini")

    def _found(self, provider: str, model: str) -> tuple[Price | None, str]:
        if self._own is not None:
            own = self._own.models.get(f"{provider}/{model}") or self._own.models.get(model)
            if own is not None:
                return own, self._own.dated
        price = _packaged(provider, model) if self._has_package else None
        return price, "" if price is None else f"genai-prices {version('genai-prices')}"


def _packaged(provider: str, model: str) -> Price | None:
    """Returns what the package says that a model costs now. Prices in steps count as their lowest one."""
    genai_prices: Any = import_module(PACKAGE)

    def dollars(**tokens: int) -> Decimal | None:
        for place in ({"provider_id": provider}, {}):
            try:
                said = genai_prices.calc_price(genai_prices.Usage(**tokens), model, **place)
            except (LookupError, ValueError):
                continue
            return Decimal(said.total_price) * (MILLION // 1_000)
        return None

    found = {"input": dollars(input_tokens=1_000), "output": dollars(output_tokens=1_000)}
    if found["input"] is None or found["output"] is None:
        return None
    found["cached_input"] = dollars(input_tokens=1_000, cache_read_tokens=1_000)
    found["cache_write_input"] = dollars(input_tokens=1_000, cache_write_tokens=1_000)
    values: dict[str, Any] = {kind: None if each is None else float(each) for kind, each in found.items()}
    return Price(**values)


def _read(file: str) -> PriceFile:
    try:
        return msgspec.json.decode(read_regular(Path(file)), type=PriceFile)
    except OSError as error:
        raise ConfigurationError(f"AGUI_GATE_PRICES: {file} can't be read: {error.strerror}.") from None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"AGUI_GATE_PRICES: {file} is no file of prices (docs/usage.md): {error}.") from None
