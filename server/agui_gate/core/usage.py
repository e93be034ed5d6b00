"""Token counts, by the specification's rules whatever a provider says (USE-1, USE-2, USE-3).

None means "not reported", 0 that zero was reported. What can't be a count (a text, a fraction, a negative, more than
2^53-1) is as if it were not reported. Parts are inside their whole. The total is input + output and nothing else.

Some providers count a part beside its whole. Two things show it. A part is larger than its whole. Or, for reasoning,
the provider's own total is input + output + reasoning. Then the part is added to the whole, once: not again when
counts are added up, since a sum has no total of a provider's.
"""

from typing import Any

import msgspec

MOST = 2**53 - 1
"""The largest count that every JSON reader takes."""

_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "cache_write_input_tokens")


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Token counts of one response, or of several. ``total_tokens`` is what the provider says; afterwards, the sum.

    Cached and cache-written tokens are parts of the input and exclude each other; reasoning is part of the output.
    """

    provider: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_input_tokens: int | None = None

    def __post_init__(self) -> None:
        """Makes the counts agree with each other, where they don't already: most do."""
        if not self._agrees():
            self._correct()

    def _agrees(self) -> bool:
        read, written, thought = self.input_tokens, self.output_tokens, self.reasoning_tokens or 0
        cached, stored = self.cached_input_tokens or 0, self.cache_write_input_tokens or 0
        if not (type(read) is type(written) is type(thought) is type(cached) is type(stored) is int):
            return False
        assert written is not None
        inside = 0 <= thought <= written and min(cached, stored) >= 0 and cached + stored <= read
        return inside and self.total_tokens == read + written <= MOST

    def _correct(self) -> None:
        said = token_count(self.total_tokens)
        found = {name: token_count(getattr(self, name)) for name in _COUNTS}
        read, written, thought = found["input_tokens"], found["output_tokens"], found["reasoning_tokens"]
        cached = (found["cached_input_tokens"] or 0) + (found["cache_write_input_tokens"] or 0)
        if written is not None and thought:
            beside = thought > written or said == (read or 0) + written + thought
            written = found["output_tokens"] = token_count(written + thought if beside else written)
        if read is not None and cached > read:
            read = found["input_tokens"] = token_count(read + cached)
        total = None if read is None or written is None else token_count(read + written)
        for name, value in (*found.items(), ("total_tokens", total)):
            msgspec.structs.force_setattr(self, name, value)

    @property
    def reported(self) -> bool:
        """True if there is any count."""
        counts = (self.input_tokens, self.output_tokens, self.cached_input_tokens, self.reasoning_tokens)
        return counts != (None, None, None, None) or self.cache_write_input_tokens is not None

    def plus(self, other: "Usage") -> "Usage":
        """Returns both together, with the names of this one. What only one of them knows is what that one says."""
        counts = {name: _sum(getattr(self, name), getattr(other, name)) for name in _COUNTS}
        return Usage(self.provider, self.model, **counts)


def token_count(said: Any) -> int | None:
    """Returns what is said, if that can be a number of tokens; else None."""
    if isinstance(said, float) and said.is_integer():
        said = int(said)
    return said if type(said) is int and 0 <= said <= MOST else None


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    return left + right
