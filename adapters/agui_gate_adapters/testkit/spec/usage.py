"""What a run says it has used."""

from collections.abc import Iterator

from agui_gate_adapters.testkit.spec.finding import Breach, Json, listed


def judge(event: Json) -> Iterator[Breach]:
    """The entries of a run's end."""
    entries = listed(event.get("usage"))
    seen: list[tuple[object, object]] = []
    for entry in entries:
        who = (entry.get("provider"), entry.get("model"))
        if who in seen:
            yield Breach("USE-1", f"two entries for provider {who[0]!r} and model {who[1]!r}")
        seen.append(who)
        yield from _sums(entry)


def _sums(entry: Json) -> Iterator[Breach]:
    number = {name: value for name, value in entry.items() if isinstance(value, int) and not isinstance(value, bool)}
    total, given, made = (number.get(name) for name in ("totalTokens", "inputTokens", "outputTokens"))
    if total is not None and given is not None and made is not None and total != given + made:
        yield Breach("USE-2", f"`totalTokens` is {total}, input and output are {given} + {made}")
    cached = number.get("cachedInputTokens", 0) + number.get("cacheWriteInputTokens", 0)
    if given is not None and cached > given:
        yield Breach("USE-1", f"{cached} cached tokens are not within `inputTokens` {given}")
    if made is not None and number.get("reasoningTokens", 0) > made:
        yield Breach("USE-1", f"`reasoningTokens` {number['reasoningTokens']} are not within `outputTokens` {made}")
