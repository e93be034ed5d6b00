"""The demo's pretend model: a table of scenes, each of which says what a person may ask of the demo's agents.

A scene has the words that ask for it, the tool that it needs, and a function that takes the arguments from the words.
The clauses of the newest user message are played one after the other. What the model then tells is read from the tools'
outputs alone (see `reports`); where one of them is no success, it tells that and stops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.approvals import asks, proceed
from agui_gate_adapters.testkit.kinds import kind_of
from agui_gate_adapters.testkit.reports import Call, Result, decode, introduce, read_output, tell
from agui_gate_adapters.testkit.script import Asked, Turn, last_user_text, text_of
from agui_gate_adapters.testkit.wire import Json

__all__ = ["play_scene"]

_RECENT: Final = 60
"""How many of the last items are looked at."""
_EDGE: Final = 1_000
"""Characters at either end of a text that are read: what is asked stands before or after what was pasted. The time
that patterns take may grow with the square of a text without spaces, and the demo has one loop for everything."""


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ACTION: Final = r"(?:find|search|show|look up|refund|cancel|e-?mail|write|send|(?:ask|tell|have) the|transfer)\b"
_BREAK: Final = _words(
    rf"(?:[.;!?]\s+|\n+|,?\s+(?:and|then|also|plus)\s+)(?:then\s+)?(?=(?:please\s+)?{_ACTION})"
    r"(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)"
)
"""Between two clauses: before an action, outside quotes."""
_QUESTION: Final = _words(r"^\W*(?:did|has|had|have (?:i|you|we|they)|was|were|is|are|wh\w+|how|thanks?)\b")
_NOT: Final = _words(
    r"^\W*(?:please )?(?:don['’]?t|do not|never|undo|reverse|revert|take back"
    r"|(?:cancel|stop) (?:the|that|this|my) (?:refund|e-?mail))\b"
)
_HAPPENED: Final = _words(
    r"\bwhat\b.{0,20}\b(?:happened|did|done|changed)\b|^\W*(?:so|and|and now|why|done|ok|well)\W*\?"
    r"|\b(?:did|has|have|was|were|is) (?:it|that|this|they|those)\b"
)
_NUM: Final = r"(?<![\w.,])-?\d+(?:[.,]\d+)*"
_SPELLED: Final = {"five": "5", "ten": "10", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50"}
_VALUE: Final = _words(
    rf"(?P<percent>{_NUM})\s?%|[€$£]\s?(?P<sum>{_NUM})"
    rf"|(?P<money>{_NUM}|\b(?:{'|'.join(_SPELLED)}))\s?(?:(?:euros?|eur|dollars?|usd)\b|[€$£])"
    rf"|(?P<id>\b[A-Z]{{1,3}}-?\d+\b|(?<![\w.,-])\d{{3,9}}\b(?![.,]\d))|(?P<bare>{_NUM})"
)
"""What a word with digits may be, the surest first: `20%`, `€20`, `20 euros`, `A1` or `1003`, `20`."""
_ADDRESS: Final = r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
_WHOSE: Final = re.compile(
    rf"({_ADDRESS})|\b(?!(?i:{_ACTION}|what|that|it|let|who|where|how|there|here)\b)((?:[A-Z]\w+ )*\w+)['’]s\b"
    r"|\b(?i:for|of|from|by|does|do|has|customer|find)\s+([A-Z]\w+(?:\s[A-Z]\w+)*)"
)
_TO: Final = _words(rf"\b(?:e-?mail|mail|write|to)\s+(?:to )?(?!(?:an?|the|to|that)\b)({_ADDRESS}|\w+)")
_SAYING: Final = _words(r"\b(?:that|saying|says|telling (?:him|her|them)(?: that)?)\b:?\s+(.+)$")
_ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "last": -1}
_EVERY: Final = _words(r"\b(?:them|both|all|each|every|those|these|orders)\b")
_LINE: Final = re.compile(r'^- ([\w.-]+) (\{.*?\}) gave ("(?:[^"\\]|\\.)*")', re.MULTILINE)
"""What the instructions say of a call that ran in an answer which was replaced."""
_LEFT: Final = ("total", "amount", "left_to_refund")
"""What an order's record may call that which is left of its price, the surest last."""
_QUOTED: Final = re.compile('"([^"]+)"')
_QUOTES: Final = str.maketrans(dict.fromkeys("“”„«»", '"'))


class Step(msgspec.Struct):
    """What a clause leads to: calls, or what has to be asked before, or what needs no call."""

    calls: list[Call] = []
    question: str = ""
    note: str = ""


class Clause:
    """One thing that a person asks for, with the values in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unquoted = re.sub('"[^"]*"', '""', text)
        found = [(match.lastgroup, match[str(match.lastgroup)]) for match in _VALUE.finditer(self.unquoted)]
        numbers = [(kind, value) for kind, said in found if kind != "id" and (value := _number(said)) is not None]
        self.ids = list(dict.fromkeys(said for kind, said in found if kind == "id"))
        amounts = [value for kind, value in numbers if kind != "percent"]
        money = [value for kind, value in numbers if kind in ("sum", "money")]
        self.amounts = amounts if len(amounts) == len(self.ids) else money or amounts
        shares = [value / 100 for kind, value in numbers if kind == "percent"]
        self.share = shares[0] if shares else 0.5 if "half" in self.unquoted.lower().split() else 1
        whose = _WHOSE.search(self.unquoted)
        self.whose = whose[1] or whose[2] or whose[3] if whose else None


class Talk:
    """The conversation as a request has it: the tools, what is asked, and what came of calls."""

    def __init__(self, asked: Asked) -> None:
        self.tools = _usable_tools(asked.body)
        items = asked.merged[-_RECENT:]
        said = [item.get("role") if kind_of(item) == "message" else None for item in items]
        spoken = max((at for at, role in enumerate(said) if role == "user"), default=-1)
        told = max((at for at, role in enumerate(said) if role == "assistant"), default=-1)
        made = {item["call_id"]: item for item in items if kind_of(item) == "function_call"}
        found = [
            (at, self._read(str(call["name"]), str(call["arguments"]), text_of(item)))
            for at, item in enumerate(items)
            if kind_of(item) == "function_call_output" and (call := made.get(item["call_id"]))
        ]
        self.results = [result for at, result in found if at > spoken]
        """Of calls since the newest user message."""
        self.news = [result for at, result in found if told < at < spoken and not result.is_lookup]
        """Of calls before it, where nothing was said since."""
        lines = _LINE.findall(str(asked.body.get("instructions") or ""))
        self.replaced = [self._read(name, given, str(decode(output))) for name, given, output in lines]
        """Of calls in answers that were replaced."""
        self.earlier = self.replaced + [result for at, result in found if at < spoken]
        before = items[: max(spoken, 0)]
        texts = [
            text_of(item) if role == "user" else item.get("arguments") for role, item in zip(said, before, strict=False)
        ]
        self.mentioned = [found for text in texts for found in Clause(_edges(str(text or ""))).ids]
        """Ids of orders that a person or a call named before a clause, the latest last."""
        self.text = _edges(last_user_text(asked.merged)).translate(_QUOTES)
        if before and "Which **" in text_of(before[-1]):  # this answers what was asked back
            self.text = f"{_edges(last_user_text(before))} {self.text}"

    def _read(self, name: str, arguments: str, output: str) -> Result:
        return read_output(name, arguments, output, self.tools)

    def call(self, word: str, **arguments: Any) -> list[Call]:
        """Return a call of the tool that begins with this word, with the arguments that it takes; none without it."""
        name = next((name for name in self.tools if f"{name}_".startswith(f"{word}_")), None)
        return [Call(name, {key: it for key, it in arguments.items() if self.takes(name, key)})] if name else []

    def takes(self, tool: str, parameter: str) -> bool:
        """Return whether a tool has this parameter."""
        found = (self.tools.get(tool, {}).get("parameters") or {}).get("properties")
        return isinstance(found, dict) and parameter in found

    def left(self) -> dict[str, float]:
        """Return how much there is to refund of each order that was looked up since the newest user message."""
        values = [result.value for result in self.results if result.is_lookup]
        rows = [row for value in values for row in (value if isinstance(value, list) else [value])]
        known = [(row, name) for row in rows if isinstance(row, dict) for name in _LEFT if name in row]
        return {str(row.get("order_id")): row[name] for row, name in known if isinstance(row[name], int | float)}

    def found(self) -> list[str]:
        """Return the orders of the latest search that found something."""
        lists = [result.value for result in self.earlier + self.results if isinstance(result.value, list)]
        rows = next((rows for rows in reversed(lists) if rows), [])
        return [str(row["order_id"]) for row in rows if isinstance(row, dict) and "order_id" in row]


# -- the scenes --------------------------------------------------------------------------------------------------


def _orders(clause: Clause, talk: Talk) -> list[str] | Step:
    """Return the orders that a clause is about, named or pointed at, or what it takes to find them."""
    if clause.ids:
        return clause.ids
    searched = any(isinstance(result.value, list) for result in talk.results)
    if clause.whose and not searched and talk.call("search_orders"):
        return _search(clause, talk)
    found, every = talk.found(), _EVERY.search(clause.text)
    places = [at for word, at in _ORDINALS.items() if word in clause.text.lower().split()]
    if found and (places or every or searched):
        return found if every else [found[min([*places, 0][0], len(found) - 1)]]
    if talk.mentioned and re.search(r"\b(?:it|that|this|one)\b", clause.text):
        return talk.mentioned[-1:]
    return [] if searched else Step(question="Which **order id** should I use?")


def _refund(clause: Clause, talk: Talk) -> Step:
    orders = _orders(clause, talk)
    if isinstance(orders, Step):
        return orders
    amounts: list[int | float] = clause.amounts
    if amounts or not any(talk.takes(call.name, "amount") for call in talk.call("refund")):
        each = amounts if len(amounts) == len(orders) else (amounts or [0])[:1] * len(orders)
        pairs = zip(orders, each, strict=True)
        return Step([call for order, sum_ in pairs for call in talk.call("refund", order_id=order, amount=sum_)])
    left, step = talk.left(), Step([])
    unknown = [call for order in orders if order not in left for call in talk.call("get_order", order_id=order)]
    if unknown or not all(order in left for order in orders):
        return Step(unknown, question="" if unknown else "Which **amount** should I use?")
    for order in orders:
        if left[order]:
            step.calls += talk.call("refund", order_id=order, amount=_whole(left[order] * clause.share))
        else:
            step.note += f"Order **{order}** is already refunded. "
    step.note += "There is nothing left to do." if step.note and not step.calls else ""
    return step


def _cancel(clause: Clause, talk: Talk) -> Step:
    orders = _orders(clause, talk)
    if isinstance(orders, Step):
        return orders
    return Step([call for order in orders for call in talk.call("cancel_order", order_id=order)])


def _look_up(clause: Clause, talk: Talk) -> Step:
    return Step([call for order in clause.ids for call in talk.call("get_order", order_id=order)])


def _search(clause: Clause, talk: Talk) -> Step:
    calls = talk.call("search_orders", customer=clause.whose)
    return Step(calls) if clause.whose else Step(question="Which **customer** should I use?")


def _email(clause: Clause, talk: Talk) -> Step:
    quoted, to, saying = _QUOTED.findall(clause.text), _TO.search(clause.unquoted), _SAYING.search(clause.unquoted)
    if not to or not (quoted or saying):
        return Step(question=f"Which **{'message' if to else 'recipient'}** should I use?")
    said = _sentence(re.sub(r"\b(?:his|her|their)\b", "your", saying[1])) if saying else ""
    body = quoted[-1] if quoted else f"{said}."
    subject = quoted[0] if len(quoted) > 1 else said or "News from us"
    return Step(talk.call("send_email", to=to[1], subject=subject, body=body))


def _delegate(clause: Clause, talk: Talk) -> Step:
    name, said = _DELEGATE.findall(clause.text)[0]
    quoted = _QUOTED.findall(said)
    return Step(talk.call(name.lower(), task=quoted[-1] if quoted else f"{_sentence(said)}."))


def _transfer(clause: Clause, talk: Talk) -> Step:
    return Step(talk.call(f"transfer_to_{_TRANSFER.findall(clause.text)[0].lower()}"))


def _theme(clause: Clause, talk: Talk) -> Step:
    return Step(talk.call("set_theme", theme=_THEME.findall(clause.text)[0].lower()))


_DELEGATE: Final = _words(r"\b(?:ask|tell|have) the (\w+),? (?:to )?(.+)$")
_TRANSFER: Final = _words(r"\b(?:transfer|hand|connect)\b.*\bto (\w+)")
_THEME: Final = _words(r"\b(light|dark)\b")


class Scene(msgspec.Struct, frozen=True):
    """One row: the words that ask for it, the tool that it needs, the step that it takes, and a prompt to try."""

    words: re.Pattern[str]
    tool: str
    step: Callable[[Clause, Talk], Step]
    example: str
    changes: bool = True
    """Whether it does something: a question ("Did you refund it?") never asks for that."""


SCENES: Final = (
    Scene(_DELEGATE, "clerk", _delegate, "Ask the clerk to refund order 1001"),
    Scene(_DELEGATE, "writer", _delegate, "Ask the writer to email Ben that his parcel is on its way"),
    Scene(_TRANSFER, "transfer_to_billing", _transfer, "Transfer me to billing"),
    Scene(_words(r"\be?-?mail\b|\bwrite\b"), "send_email", _email, "Email Ben that his parcel is on its way"),
    Scene(_words(r"\brefund\b|\bmoney back\b"), "refund", _refund, "Refund 20 euros of order 1003"),
    Scene(_words(r"\bcancel\b"), "cancel_order", _cancel, "Cancel orders 1002 and 1004"),
    Scene(_THEME, "set_theme", _theme, "Switch to the dark theme"),
    Scene(_words(r"\d"), "get_order", _look_up, "Look up order 1003", changes=False),
    Scene(_words(r"\borders?\b|\bfind\b|\bsearch"), "search_orders", _search, "Find Anna's orders", changes=False),
)
"""The first row counts whose words fit, whose tool is there, and which has a step to take."""


# -- playing -----------------------------------------------------------------------------------------------------


def play_scene(asked: Asked) -> Turn:
    """Return the pretend model's turn for a request; the same request gets the same answer."""
    hosted = proceed(asked) or asks(asked)
    if hosted is not None:
        return hosted
    talk, notes = Talk(asked), []
    made = [result.issued for result in talk.results]
    for clause in map(Clause, _BREAK.split(talk.text)):
        if not all(result.is_done for result in talk.results):
            break
        step = _step(clause, talk)
        if calls := [call for call in step.calls if call not in made]:
            return _call(calls, talk)
        notes.append(step.note or step.question)
        talk.mentioned += clause.ids
    acted = [result for result in talk.results if not (result.is_lookup and result.is_done)]
    told = [tell(acted or ([] if any(notes) else talk.results)), *notes]
    if not any(told):
        if talk.tools and not talk.results and _is_forced(asked.body.get("tool_choice")):
            return _call([Call(next(iter(talk.tools)), {})], talk)
        history = tell([result for result in talk.earlier if not result.is_lookup])
        if history and _HAPPENED.search(talk.text):
            return _say(f"So far:\n\n{history}")
        told = [_chat(talk)]
    return _say(tell(talk.news), *told)


def _step(clause: Clause, talk: Talk) -> Step:
    """Return the step of the first scene that has one for a clause; else an empty one."""
    if _NOT.match(clause.text):
        return Step()
    asks_only = _QUESTION.match(clause.text)
    fitting = (scene for scene in SCENES if scene.words.search(clause.unquoted) and talk.call(scene.tool))
    steps = (scene.step(clause, talk) for scene in fitting if not (asks_only and scene.changes))
    return next((step for step in steps if step != Step()), Step())


def _call(calls: list[Call], talk: Talk) -> Turn:
    """Return a turn that calls tools, after the news, and what it is about to change."""
    ran = [one for one in talk.replaced if one.is_done and one.call.name in {call.name for call in calls}]
    text = "\n\n".join(filter(None, (tell(talk.news), introduce(calls, ran, talk.tools))))
    said = [{"type": "message", "text": text, "phase": "commentary"}] if text else []
    thought = f"The request is clear. I should call {', '.join(f'`{call.name}`' for call in calls)}."
    made = [{"type": "function_call", "name": call.name, "arguments": call.arguments} for call in calls]
    return Turn(output=({"type": "reasoning", "summary": [thought]}, *said, *made))


def _say(*told: str) -> Turn:
    text = "\n\n".join(one.strip() for one in told if one)
    return Turn(output=({"type": "message", "text": text, "phase": "final_answer"},))


def _chat(talk: Talk) -> str:
    """Answer what no scene fits: say what can be done here."""
    if re.search(r"\bthank(?:s| you)\b(?!.*\bfor\b)", talk.text, re.IGNORECASE):
        return "You're welcome! Is there anything else I can do?"
    hello = "Hello! " if re.search(r"^\s*$|\b(?:hi|hello|hey|good \w+)\b", talk.text, re.IGNORECASE) else ""
    examples = [scene.example for scene in SCENES if talk.call(scene.tool)]
    if not examples:
        return f"{hello}I'm a small demo model that knows the demo's tools only, and none of them is here."
    rows = "\n".join(f"- {example}" for example in examples)
    tried = next((one for one in examples if one.startswith("Look up")), examples[0])
    return f"{hello}I'm a small demo model, and this is what I can do here:\n\n{rows}\n\nTry: “{tried}”"


# -- values ------------------------------------------------------------------------------------------------------


def _number(said: str) -> int | float | None:
    """Return `12,50`, `1.000,50` or `twenty` as a number; None for what only looks like one."""
    said = _SPELLED.get(said.lower(), said)
    if re.search(r",\d{1,2}$", said):
        said = said.replace(".", "").replace(",", ".")
    said = said.replace(",", "")
    return _whole(float(said), 9) if re.fullmatch(r"-?\d{1,9}(?:\.\d{1,9})?", said) else None


def _whole(value: float, digits: int = 2) -> int | float:
    return int(value) if float(value).is_integer() else round(value, digits)


def _sentence(text: str) -> str:
    """Return the text without its closing punctuation, beginning with a capital."""
    text = text.strip().rstrip(".!?,;")
    return text[:1].upper() + text[1:]


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def _usable_tools(body: Json) -> dict[str, Json]:
    """Return the function tools that `tool_choice` leaves, by name."""
    tools = {str(tool["name"]): tool for tool in body.get("tools") or () if tool.get("type") == "function"}
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        return {name: tool for name, tool in tools.items() if name == choice["name"]}
    return {} if choice == "none" else tools


def _is_forced(choice: Any) -> bool:
    return choice == "required" or (isinstance(choice, dict) and choice.get("type") == "function")
