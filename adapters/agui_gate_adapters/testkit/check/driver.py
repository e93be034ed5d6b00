"""Runs a check: looks for a server, then runs one scenario after the other."""

from collections.abc import Awaitable, Callable, Mapping

from agui_gate_adapters.testkit.check import inputs, questions, runs
from agui_gate_adapters.testkit.check.bench import OPTIONAL, SENTENCES, Bench, GaveUp, Talk
from agui_gate_adapters.testkit.check.peer import Answer, Peer, Unreachable
from agui_gate_adapters.testkit.check.report import Report, report

Scenario = Callable[[Bench], Awaitable[None]]

SCENARIOS: dict[str, Scenario] = {
    "a second turn": runs.a_second_turn,
    "own tools": runs.own_tools,
    "frontend tools": runs.frontend_tools,
    "parts in results": runs.parts_in_results,
    "leaving": runs.leaving,
    "coming back": runs.coming_back,
    "the binary binding": runs.the_binary_binding,
    "an answer": questions.an_answer,
    "silence": questions.silence,
    "part of the answers": questions.part_of_the_answers,
    "abandoning": questions.abandoning,
    "foreign answers": questions.foreign_answers,
    "older clients": inputs.older_clients,
    "versions": inputs.versions,
    "unknown": inputs.unknown,
    "malformed": inputs.malformed,
    "media": inputs.media,
    "members": inputs.members,
    "capabilities": runs.capabilities,
}


class CantCheck(Exception):
    """What is at the address can't be checked; says why."""


async def check(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    seconds: float = 30.0,
    say: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Try everything at one address. ``seconds`` for each answer; ``say``: other sentences than `SENTENCES`.

    Raises `CantCheck`. It gives up after three answers that didn't come in time, or after twenty times ``seconds``.
    """
    async with Peer(url, headers or {}, seconds) as peer:
        bench = Bench(peer, {**SENTENCES, **(say or {})}, progress)
        stopped = ""
        try:
            await _first(bench)
            for name, scenario in SCENARIOS.items():
                bench.scenario = name
                progress(name)
                await scenario(bench)
        except GaveUp as error:
            stopped = f"not tried: {error}"
        return report(url, bench.version, bench.seen, bench.tried, bench.untried, stopped, peer.requests)


async def _first(bench: Bench) -> None:
    """Runs the simplest request. Raises `CantCheck` if nothing can be checked, `GaveUp` if it hangs."""
    bench.scenario = "plain text"
    bench.progress(bench.scenario)
    talk = await _tried(bench)
    if talk.answer.status in (400, 422) or talk.answer.status >= 500 or talk.last.get("type") == "RUN_ERROR":
        bench.full = True
        full = await _tried(bench)
        if full.finished:
            await _needed(bench, talk)
            talk = full
    else:
        bench.tried.add("IN-5")
    _require(bench, talk)


async def _needed(bench: Bench, bare: Talk) -> None:
    """Finds which optional members the server requires."""
    alone = {}
    for name in OPTIONAL:
        body = bench.asking(bench.user("text"))
        del body[name]
        talk = await bench.run(body)
        if not talk.finished:
            alone[name] = talk
    for name, talk in alone.items():
        bench.broke("IN-5", f"an input without `{name}`, which may be left out, is not accepted: {talk.says()}", talk)
    if not alone:
        names = ", ".join(f"`{name}`" for name in OPTIONAL)
        bench.broke("IN-5", f"an input without {names}, which may be left out, is not accepted: {bare.says()}", bare)


async def _tried(bench: Bench) -> Talk:
    try:
        return await bench.run(bench.asking(bench.user("text")))
    except Unreachable as error:
        raise CantCheck(f"{bench.peer.url} can't be checked: {error}.") from None


def _require(bench: Bench, talk: Talk) -> None:
    if reason := _no_server(talk.answer):
        raise CantCheck(f"{bench.peer.url} can't be checked: {reason}.")
    if not talk.events:
        raise CantCheck(f"{bench.peer.url} can't be checked: it sends a stream in which no event can be read.")
    if talk.last.get("type") == "RUN_ERROR":
        raise CantCheck(f"{bench.peer.url} can't be checked: its runs fail ({str(talk.last.get('message'))[:300]}).")
    if talk.answer.end in ("late", "large", "broken"):
        raise GaveUp("the first run had no end")


EXAMPLE = "http://127.0.0.1:8000/ or http://127.0.0.1:8000/agents/NAME"


def _no_server(answer: Answer) -> str:
    if answer.status in (301, 302, 303, 307, 308):
        return f"it redirects to {answer.location[:200] or 'nowhere'}; give that address"
    if answer.status in (401, 403):
        return f"it answers with {answer.status}; give credentials with --header 'Authorization: Bearer …'"
    if answer.status in (404, 405):
        return f"it answers a POST with {answer.status}; give the address that accepts runs, such as {EXAMPLE}"
    if answer.status != 200:
        said = answer.body[:200].decode(errors="replace").strip()
        return f"it answers with status {answer.status or 'none'}{f': {said}' if said else ''}"
    if answer.media != "text/event-stream":
        return f"it answers with {answer.media or 'no type'}, not text/event-stream"
    return ""
