"""The table, part 4: calls that are cut, nameless, doubled, or not what the API says a call is."""

from typing import Any

from .answers import Answer
from .fault import APIS, SECRET, UNAVAILABLE, Fault
from .raw import END, RESET, SILENCE, Step

ADA = '{"q": "ada"}'
DONE = "Back."


def calling(answer: Answer, *pieces: Any, name: str = "search", **more: Any) -> Answer:
    """An answer in the middle of a call."""
    return answer.begin().call(name, *pieces, **more)


def cut(name: str, pieces: list[str], *steps: Step, silent: bool = False) -> Fault:
    """A call with these arguments, then this: it does not run, not even where they happen to be whole."""
    return Fault(name, lambda answer: calling(answer, *pieces).then(*steps), UNAVAILABLE, chips=1, silent=silent)


def broken(name: str, *pieces: Any, garbled: bool = False) -> Fault:
    """A whole call whose arguments are none: it does not run, the model is told so and goes on."""

    def steps(answer: Answer) -> list[Step]:
        return calling(answer, *pieces).end().finish("tools").done()

    return Fault(name, steps, asked=2, text=DONE, chips=1, garbled=garbled)


def misnamed(name: str, called: str) -> Fault:
    """A call of a tool that there is not, and whose name a provider may not take back."""

    def steps(answer: Answer) -> list[Step]:
        return calling(answer, ADA, name=called).end().finish("tools").done()

    return Fault(name, steps, asked=2, text=DONE, chips=1)


def running(name: str, *pieces: Any, ran: tuple[str, ...] = ("ada",), reason: str = "tools", **more: Any) -> Fault:
    """A call that is odd, and runs all the same."""
    return Fault(
        name,
        lambda answer: calling(answer, *pieces, **more).end().finish(reason).done(),
        asked=2,
        text=DONE,
        ran=ran,
        chips=1,
    )


def limited(name: str, reason: str, *pieces: str, only: tuple[str, ...] = APIS) -> Fault:
    """A call that a limit or a filter cut: the answer is over, and it does not run."""
    return Fault(name, lambda a: calling(a, *pieces).finish(reason).done(), asked=1, chips=1, only=only)


CUTS = [
    cut("a call without arguments, then reset", [], RESET),
    cut("half the arguments, then reset", ['{"q": "a'], RESET),
    cut("half the arguments, then hung up", ['{"q": "a']),
    cut("half the arguments, then the end", ['{"q": "a'], END),
    cut("half the arguments, then silence", ['{"q": "a'], SILENCE, silent=True),
    cut("an empty object, then reset", ["{}"], RESET),
    cut("whole arguments, then reset", [ADA], RESET),
    cut("whole arguments, then the end", [ADA], END),
    cut("half an escape, then reset", ['{"q": "\\ud83'], RESET),
    cut("half an event of arguments", ['{"q": '], b'data: {"type": "response.func', RESET),
]

BETWEEN = [
    Fault("a whole call, then reset", lambda a: calling(a, ADA).end().then(RESET), UNAVAILABLE, chips=1),
    Fault("a whole call, then the end", lambda a: calling(a, ADA).end().done(), UNAVAILABLE, chips=1),
    Fault("a whole call, then an error", lambda a: calling(a, ADA).end().fail(SECRET).done(), UNAVAILABLE, chips=1),
    Fault(
        "a whole call and half a second, then reset",
        lambda a: calling(a, ADA).end().call("search", '{"q"', call_id="call_2").then(RESET),
        UNAVAILABLE,
        chips=2,
    ),
    Fault(
        "a whole call and some text, then reset",
        lambda a: calling(a, ADA).end().say("Half").then(RESET),
        UNAVAILABLE,
        text="Half",
        chips=1,
    ),
    Fault(
        "some text and half a call, then reset",
        lambda a: a.begin().say("Half").end().call("search", '{"q"').then(RESET),
        UNAVAILABLE,
        text="Half",
        chips=1,
    ),
    Fault(
        "a whole call, and text after it",
        lambda a: calling(a, ADA).end().say("Look. ").end().finish("tools").done(),
        asked=2,
        text=f"Look. {DONE}",
        ran=("ada",),
        chips=1,
    ),
]

ARGUMENTS = [
    broken("arguments that are half", '{"q": "a'),
    broken("arguments that are a word", "ada"),
    broken("arguments that are null", "null"),
    broken("arguments that are a list", '["ada"]'),
    broken("arguments that are text", '"ada"'),
    broken("arguments that are no arguments", ""),
    broken("arguments that lack one", "{}"),
    broken("arguments of wrong types", '{"q": ["ada"]}'),
    broken("arguments with half a surrogate", '{"q": "\\ud83d"}'),
    broken("arguments with a number that is none", '{"q": "ada", "n": NaN}'),
    broken("arguments twice", ADA, ADA, garbled=True),
    broken("arguments nested deep", '{"q": ' + "[" * 20_000 + "]" * 20_000 + "}"),
    broken("arguments that are a page", "<p>Oh no</p>"),
    running("arguments of 100 kB", '{"q": "' + "x" * 100_000 + '"}', ran=("x" * 100_000,)),
    running("arguments in 5,000 pieces", *'{"q": "', *"x" * 5000, '"}', ran=("x" * 5000,)),
    running("arguments with a member twice", '{"q": "bob", "q": "ada"}'),
    running("arguments that are padded", "\n  " + ADA + "\n\n"),
    running("empty pieces of arguments", "", '{"q": ', "", '"ada"}', ""),
]

NAMES = [
    misnamed("a tool that there is not", "delete_all"),
    misnamed("a name of 10 kB", "n" * 10_000),
    misnamed("a name with spaces", "search it!"),
    misnamed("a name in Chinese", "搜索"),
    Fault("no name", lambda a: calling(a, ADA, name="").end().finish("tools").done()),
    running("an id of 10 kB", ADA, call_id="c" * 10_000),
    running("an id with spaces", ADA, call_id="call 1 / ada"),
    running("an id in Chinese", ADA, call_id="呼叫"),
]


def _twice(answer: Answer, call_id: str = "call_1") -> list[Step]:
    calling(answer, ADA).end().call("search", '{"q": "bob"}', call_id=call_id).end()
    return answer.finish("tools").done()


def _many(answer: Answer) -> list[Step]:
    answer.begin()
    for number in range(100):
        answer.call("search", f'{{"q": "{number:02}"}}', call_id="call_1").end()
    return answer.finish("tools").done()


IDS = [
    Fault("an id twice in a turn", _twice, asked=2, text=DONE, ran=("ada", "bob"), chips=2),
    Fault("an id a hundred times", _many, asked=2, text=DONE, ran=tuple(f"{n:02}" for n in range(100)), chips=100),
]

ENDS = [
    limited("half the arguments at a limit", "length", '{"q": "a'),
    limited("half the arguments at a filter", "filter", '{"q": "a'),
    # What a classifier stopped is not acted on where it may have been this call.
    limited("whole arguments at a filter", "filter", ADA, only=("responses", "messages")),
    Fault(
        "whole arguments at a limit",
        lambda a: calling(a, ADA).end().call("search", '{"q": "b', call_id="call_2").finish("length").done(),
        ran=("ada",),
        chips=2,
        asked=1,
    ),
    limited("a call without arguments at a limit", "length"),
    running("a call, and the end of a text", ADA, reason="stop"),
]

CALLS = [*CUTS, *BETWEEN, *ARGUMENTS, *NAMES, *IDS, *ENDS]
