"""The table, part 3: what goes wrong in the middle of an answer's text, or only looks as if it did."""

from typing import Any

from .answers import Answer
from .fault import AUTH, LIMITED, REJECTED, SECRET, TOO_LONG, UNAVAILABLE, Fault
from .raw import END, RESET, SILENCE, Step, chunked

HALF = "Half of"
MIB = b"x" * (1 << 20)


def half(answer: Answer) -> Answer:
    """An answer in the middle of its text."""
    return answer.begin().say("Half ", "of")


def cut(name: str, *steps: Step, silent: bool = False, most: int | None = None) -> Fault:
    """The first half of a text, then this: the half stays, and nothing is tried again."""
    return Fault(name, lambda answer: half(answer).then(*steps), UNAVAILABLE, text=HALF, silent=silent, most=most)


def odd(name: str, *payloads: bytes) -> Fault:
    """Payloads between the halves of a text that do no harm."""

    def steps(answer: Answer) -> list[Step]:
        half(answer)
        for payload in payloads:
            answer.raw(payload)
        return answer.say(" it").end().finish().done()

    return Fault(name, steps, text="Half of it")


def unreadable(name: str, payload: bytes) -> Fault:
    """A payload after the first half of a text that is not JSON."""
    return Fault(name, lambda answer: half(answer).raw(payload).say(SECRET).done(), UNAVAILABLE, text=HALF)


def failing(name: str, code: str, message: Any = SECRET, error: str = "server_error") -> Fault:
    """An error event after the first half of a text."""
    return Fault(name, lambda answer: half(answer).fail(message, error).done(), code, text=HALF)


def counted(name: str, **usage: Any) -> Fault:
    """Counts that can't be right, in the names of all APIs."""
    return Fault(name, lambda answer: answer.begin().say("Hello").end().finish(**usage).done(), text="Hello")


def _sun(answer: Answer, *steps: Step) -> list[Step]:
    """A frame that is cut inside a character."""
    frames = half(answer).frames[:]
    last = answer.say("🌞").frames[-1].replace(b"\\ud83c\\udf1e", "🌞".encode())
    return chunked(*frames, last[: last.index(b"\x8c")], *steps)


def _flat(answer: Answer) -> list[Step]:
    return half(answer).event({"type": "error", "code": "server_error", "message": SECRET}).done()


CUTS = [
    cut("reset", RESET),
    cut("hung up"),
    cut("a minute of silence", SILENCE, silent=True),
    cut("words and comments, then silence", *[b": ping\n\n"] * 20, SILENCE, silent=True),
    cut("half an event, then reset", b'data: {"type": "resp', RESET),
    cut("half an event, then the end", b'data: {"type": "resp', END),
    cut("half an event as a whole one", b'data: {"type": "resp\n\n', END),
    cut("half a chunk", b"5\r\nda"),
    cut("an event of 64 MB", b"data: ", *[MIB] * 64, END, most=26_000_000),
    cut("an event of 64 MB, line by line", *[b"data: " + MIB + b"\n"] * 64, END, most=26_000_000),
    cut("an event of 300,000 lines", b"data: x\n" * 300_000, END),
    cut("a line of 64 MB that is no field", *[MIB] * 64, END, most=26_000_000),
    Fault("half a character, then reset", lambda answer: _sun(answer, RESET), UNAVAILABLE, text=HALF),
    Fault("half a character, then the end", lambda answer: _sun(answer, END), UNAVAILABLE, text=HALF),
    Fault("half a character as a whole event", lambda a: _sun(a, b'"}\n\n', END), UNAVAILABLE, text=HALF),
    Fault("the end, unsaid", lambda answer: half(answer).done(), UNAVAILABLE, text=HALF),
    Fault("the end of the text, and unsaid", lambda answer: half(answer).end().done(), UNAVAILABLE, text=HALF),
    Fault("reset before the first word", lambda answer: answer.begin().then(RESET), UNAVAILABLE, 2),
    Fault("the end before the first word", lambda answer: answer.begin().done(), UNAVAILABLE, 2),
    Fault("silence before the first word", lambda a: a.begin().then(SILENCE), UNAVAILABLE, 2, silent=True),
]

UNREADABLE = [
    unreadable("an event nested deep", b'{"type": "x", "y": ' + b"[" * 500_000 + b"]" * 500_000 + b"}"),
    unreadable(
        "an event of wrong types that breaks off", b'{"index": "0", "output_index": "0", "choices": 5, "type": "x'
    ),
    unreadable(
        "an event of wrong types with a byte that is no text",
        b'{"index": "0", "output_index": "", "choices": 5, "type": "\xff"}',
    ),
    unreadable("an event that is a word", b"hello"),
    unreadable("an event that is a page", b"<html>" + SECRET.encode()),
    unreadable(
        "an event with a byte that is no text", b'{"type": "\xff", "choices": [{"delta": {"content": "\xff"}}]}'
    ),
    unreadable("an event with a number that is none", b'{"type": "x", "logprob": NaN}'),
    unreadable("an event that ends too late", b'{"type": "x"}}'),
]

ODDITIES = [
    odd(
        "half a surrogate",
        b'{"type": "x", "choices": [{"delta": {"content": "\\ud83d"}}], "delta": "\\ud83d"}',
    ),
    odd("null", b"null"),
    odd("a list", b"[]"),
    odd("a string", b'"hello"'),
    odd("a number", b"17"),
    odd("an object without members", b"{}"),
    odd("an event that does not exist yet", b'{"type": "response.future.delta", "delta": "?", "choices": []}'),
    odd("a type that is a number", b'{"type": 5, "choices": 5}'),
    odd("a type that is null", b'{"type": null, "choices": null, "delta": null}'),
    odd("an index out of range", b'{"type": "x", "index": 1e999, "output_index": 1e999}'),
    odd("a member twice", b'{"type": "x", "type": "y"}'),
    odd("members of 1 MB", b'{"type": "x", "padding": "' + MIB + b'"}'),
    odd("NUL characters", b'{"type": "\\u0000"}'),
    odd("1,000 numbers", *[b"%d" % n for n in range(1000)]),
    Fault("text that is null", lambda a: half(a).odd(None).say(" it").end().finish().done(), text="Half of it"),
    Fault("text that is a number", lambda a: half(a).odd(5).say(" it").end().finish().done(), text="Half of it"),
    Fault(
        "text that is an object",
        lambda a: half(a).odd({"x": SECRET}).say(" it").end().finish().done(),
        text="Half of it",
    ),
    Fault("text that is empty", lambda a: half(a).odd("").say(" it").end().finish().done(), text="Half of it"),
    Fault("an index that is text", lambda a: half(a).odd(" it", index="0").end().finish().done(), text="Half of it"),
    Fault("a delta of nothing known", lambda a: a.begin().odd("Hello").finish().done(), text="Hello"),
    Fault("the end twice", lambda a: half(a).end().finish().finish().done(), text=HALF),
    Fault("text after the end", lambda a: half(a).end().finish().say(SECRET).done(), text=HALF),
    Fault("an error after the end", lambda a: half(a).end().finish().fail(SECRET).done(), text=HALF),
    Fault("the end before the text's", lambda a: half(a).finish().done(), text=HALF),
    Fault("the beginning twice", lambda a: half(a).begin().say(" it").end().finish().done(), text="Half of it"),
    Fault("no beginning", lambda a: a.say("Half of it").end().finish().done(), text="Half of it"),
    Fault(
        "20,000 empty pieces of text", lambda a: a.begin().say(*[""] * 20_000, HALF).end().finish().done(), text=HALF
    ),
    Fault("5,000 pieces of text", lambda a: a.begin().say(*["x"] * 5000).end().finish().done(), text="x" * 5000),
    Fault(
        "100 kB as one piece of text", lambda a: a.begin().say("x" * 100_000).end().finish().done(), text="x" * 100_000
    ),
    Fault("an answer of nothing", lambda a: a.begin().finish().done()),
    Fault("cut by a limit", lambda a: half(a).end().finish("length").done(), text=HALF),
    Fault("cut by a filter", lambda a: half(a).end().finish("filter").done(), text=HALF),
]

ERRORS = [
    failing("an error event", UNAVAILABLE),
    failing("an error event without words", UNAVAILABLE, None),
    failing("an error event of wrong types", UNAVAILABLE, {"x": [SECRET]}),
    failing("an error event: too many requests", LIMITED, SECRET, "rate_limit_error"),
    failing("an error event: overloaded", UNAVAILABLE, SECRET, "overloaded_error"),
    failing("an error event: the key", AUTH, SECRET, "authentication_error"),
    failing("an error event: refused", REJECTED, SECRET, "invalid_request_error"),
    failing("an error event: too long", TOO_LONG, "prompt is too long: 3 > 2", "invalid_request_error"),
    Fault("a flat error event", _flat, UNAVAILABLE, text=HALF),
    Fault(
        "an error event of text",
        lambda a: half(a).event({"type": "error", "error": SECRET}).done(),
        UNAVAILABLE,
        text=HALF,
    ),
    Fault(
        "an error event of null",
        lambda a: half(a).event({"type": "error", "error": None}).done(),
        UNAVAILABLE,
        text=HALF,
    ),
    Fault("an error event first", lambda a: a.begin().fail(SECRET).done(), UNAVAILABLE, 2),
    Fault("an error event alone", lambda a: a.fail(SECRET, "rate_limit_error").done(), LIMITED, 2),
    Fault("an error event alone, once", lambda a: a.fail(SECRET).done(), asked=2, text="Back."),
    Fault(
        "an error event, then text",
        lambda a: half(a).fail(SECRET).say(SECRET).end().finish().done(),
        UNAVAILABLE,
        text=HALF,
    ),
]

COUNTS = [
    counted(
        "negative counts", input_tokens=-5, prompt_tokens=-5, output_tokens=-5, completion_tokens=-5, total_tokens=-1
    ),
    counted("huge counts", input_tokens=10**30, prompt_tokens=10**30, output_tokens=10**30, completion_tokens=10**30),
    counted("counts in quotes", input_tokens="5", prompt_tokens="5", output_tokens="many", completion_tokens="many"),
    counted("counts that are lists", input_tokens=[1], prompt_tokens=[1], output_tokens={}, completion_tokens={}),
    counted("counts with fractions", input_tokens=1.5, prompt_tokens=1.5, output_tokens=2.0, completion_tokens=2.0),
    counted("details of nothing", input_tokens_details=5, prompt_tokens_details="x", output_tokens_details=[None]),
]

STREAMS = [*CUTS, *UNREADABLE, *ODDITIES, *ERRORS, *COUNTS]
