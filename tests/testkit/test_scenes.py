"""The demo's pretend model: the scenes that it knows, what it calls in them, and that it tells what came of it."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Emulator
from tests.support.timing import takes_less
from tests.testkit.driving import answer, output, user

Calls = list[tuple[str, Any]]


def tool(name: str, description: str, **types: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} if isinstance(kind, str) else {"enum": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "name": name, "description": description, "parameters": schema}


TOOLS = [
    tool("search_orders", "Find a customer's orders.", customer="string"),
    tool("refund", "Refund an order.", order_id="string", amount="number"),
    tool("send_email", "Send an email.", to="string", subject="string", body="string"),
    tool("set_theme", "Change the page's theme.", theme=["light", "dark"]),
]
LOOK_UP = tool("get_order", "Look up one order by its number.", order_id="string")
ORDERS = [{"order_id": "A1", "total": 20.0, "status": "delivered"}, {"order_id": "A2", "total": 35.5, "status": "new"}]
RECORD = {"order_id": "1002", "customer": "Anna", "amount": 38.5, "status": "on its way"}


def calls_of(response: dict[str, Any]) -> Calls:
    items = [item for item in response["output"] if item["type"] == "function_call"]
    return [(item["name"], msgspec.json.decode(item["arguments"])) for item in items]


def text_of(response: dict[str, Any]) -> str:
    return " ".join(part["text"] for item in response["output"] if "role" in item for part in item["content"])


def goes_on(emulator: Emulator, response: dict[str, Any], told: Any, *more: Any, tools: Any = TOOLS) -> dict[str, Any]:
    """What comes after the response's calls gave ``told``, as text or as JSON."""
    text = told if isinstance(told, str) else msgspec.json.encode(told).decode()
    made = [item["call_id"] for item in response["output"] if item["type"] == "function_call"]
    body = [*(output(call_id, text) for call_id in made), *more]
    return answer(emulator, previous_response_id=response["id"], input=body, tools=tools)


def refund(order: str, amount: float) -> tuple[str, Any]:
    return ("refund", {"order_id": order, "amount": amount})


def email(to: str, subject: str, body: str) -> tuple[str, Any]:
    return ("send_email", {"to": to, "subject": subject, "body": body})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Refund order A1, 20 euros", [refund("A1", 20)]),
        ("please refund order 1234, $12.50", [refund("1234", 12.5)]),
        ("refund A1 with 20 and A2 with 30", [refund("A1", 20), refund("A2", 30)]),
        ("refund 0,5 euro of 1003 then 1,5 of 1005", [refund("1003", 0.5), refund("1005", 1.5)]),
        ("What orders does Anna have?", [("search_orders", {"customer": "Anna"})]),
        ("Show me Anna's orders", [("search_orders", {"customer": "Anna"})]),
        ("call search_orders for Bob Smith", [("search_orders", {"customer": "Bob Smith"})]),
        (
            'Email anna@example.com "Your refund" "It is on its way. Refund follows."',
            [email("anna@example.com", "Your refund", "It is on its way. Refund follows.")],
        ),
        (
            "Email Ben that his parcel is on its way",
            [email("Ben", "Your parcel is on its way", "Your parcel is on its way.")],
        ),
        (
            'Email Ben "About the refund of order 1003"',
            [email("Ben", "News from us", "About the refund of order 1003")],
        ),
        (
            "Email Ben that his refund is on its way",
            [email("Ben", "Your refund is on its way", "Your refund is on its way.")],
        ),
        ("switch to the dark theme", [("set_theme", {"theme": "dark"})]),
        ("don't refund A1", []),
        ("refund my order", []),
        ("hello", []),
        ("refund A1, 20 euros, as 10.0.0.1 and version 1.2.3 say", [refund("A1", 20)]),
        (f"refund A1, 1,00,00 or {'9' * 400} or 20 euros", [refund("A1", 20)]),
    ],
)
def test_a_scene_takes_its_arguments_from_the_words(text: str, calls: Calls) -> None:
    assert calls_of(answer(Emulator(), input=text, tools=TOOLS)) == calls


def test_a_call_that_changes_something_is_said_before() -> None:
    response = answer(Emulator(), input="Refund order A1, 20 euros", tools=TOOLS)
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "function_call"]
    assert text_of(response) == "Of course, I'll refund order **A1** (amount: 20)."


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Ask the clerk to refund order 1001", "Refund order 1001."),
        ("Ask the clerk to refund 1003. Ask the writer to email Ben.", "Refund 1003."),
        ('Tell the clerk "Look up 1003"', "Look up 1003"),
    ],
)
def test_others_are_asked_in_words(text: str, task: str) -> None:
    tools = [tool("clerk", "Looks up orders.", task="string"), tool("transfer_to_billing", "Transfers.")]
    response = answer(Emulator(), input=text, tools=tools)
    assert calls_of(response) == [("clerk", {"task": task})]
    assert text_of(response).endswith("I'll ask the **clerk**.")


@pytest.mark.parametrize(
    ("said", "next_"),
    [
        ("I've refunded order **1003** (amount: 64.90 €).", [("writer", {"task": "Email Ben that it is done."})]),
        ("I did not refund order **1003** (amount: 64.90 €): it was **rejected**, and nothing was changed.", []),
    ],
)
def test_nobody_is_told_that_it_is_done_unless_it_is(said: str, next_: Calls) -> None:
    emulator, tools = Emulator(), [tool("clerk", "Refunds.", task="string"), tool("writer", "Writes.", task="string")]
    text = "Ask the clerk to refund order 1003. Ask the writer to email Ben that it is done."
    first = answer(emulator, input=text, tools=tools)
    second = goes_on(emulator, first, said, tools=tools)
    assert calls_of(second) == next_
    if not next_:
        assert text_of(second) == f"The **clerk** answers:\n\n> {said}"


def test_who_answers_after_a_hand_off_says_so() -> None:
    emulator, tools = Emulator(), [tool("transfer_to_billing", "Transfers.")]
    first = answer(emulator, input="Transfer me to billing", tools=tools)
    assert calls_of(first) == [("transfer_to_billing", {})]
    told = {"status": "transferred", "agent": "billing", "message": "billing answers from here on."}
    assert text_of(goes_on(emulator, first, told, tools=[])).startswith("You are with **billing** now.")


def test_several_steps_one_after_the_other() -> None:
    emulator = Emulator()
    first = answer(emulator, input="Find Anna's orders and refund the first one", tools=TOOLS)
    assert calls_of(first) == [("search_orders", {"customer": "Anna"})]
    second = goes_on(emulator, first, ORDERS)
    assert calls_of(second) == [refund("A1", 20)]
    third = goes_on(emulator, second, {"refunded": 20.0})
    assert calls_of(third) == []
    assert text_of(third).startswith("I've refunded order **A1** (amount: 20).")
    both = goes_on(emulator, first, ORDERS, user("refund both, 5 euros each"))
    assert calls_of(both) == [refund("A1", 5), refund("A2", 5)]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"status": "refunded"}, "I've refunded order"),
        ({"order_id": "A1", "status": "cancelled"}, "I've refunded order"),
        ({"status": "rejected", "message": "No.", "reason": "too much"}, "The reason given: “too much”."),
        ({"status": "superseded", "message": "Not executed: the user went on."}, "Not executed: the user went on."),
        ({"status": "unknown", "message": "It was interrupted."}, "I have no result of this: refund"),
        ({"status": "cancelled", "message": "It was cancelled while it ran."}, "It was cancelled while it ran."),
        ({"status": "expired", "message": "Nobody answered."}, "Nobody answered."),
        ({"error": "no such order"}, "I could not refund order **A1** (amount: 20). no such order"),
        ("The person rejected this call.", "> The person rejected this call."),
        ("Refunded 20 euros", "> Refunded 20 euros"),
    ],
)
def test_what_came_of_a_call_is_what_the_output_says(told: Any, words: str) -> None:
    emulator = Emulator()
    first = answer(emulator, input="Refund order A1, 20 euros", tools=TOOLS)
    second = goes_on(emulator, first, told)
    assert calls_of(second) == []
    assert words in text_of(second)
    assert ("I've refunded" in text_of(second)) == words.startswith("I've")


@pytest.mark.parametrize(
    ("text", "found", "first", "second"),
    [
        ("Refund order 1002", RECORD, ("get_order", "1002"), [refund("1002", 38.5)]),
        ("look up 1002 and refund it", RECORD, ("get_order", "1002"), [refund("1002", 38.5)]),
        ("refund Anna's order", [RECORD], ("search_orders", "Anna"), [refund("1002", 38.5)]),
        ("What is the state of order 1002?", RECORD, ("get_order", "1002"), []),
        ("and 1002?", RECORD, ("get_order", "1002"), []),
    ],
)
def test_things_are_looked_up_before_they_are_changed(text: str, found: Any, first: Any, second: Calls) -> None:
    emulator, tools = Emulator(), [*TOOLS, LOOK_UP]
    one = answer(emulator, input=text, tools=tools)
    assert [(name, *arguments.values()) for name, arguments in calls_of(one)] == [first]
    assert calls_of(goes_on(emulator, one, found, tools=tools)) == second


def test_it_is_what_a_person_spoke_of_and_not_what_the_model_says_to_try() -> None:
    emulator, tools = Emulator(), [*TOOLS, LOOK_UP]
    hello = answer(emulator, input="hello", tools=tools)
    assert "order 1003" in text_of(hello)
    asked = answer(emulator, previous_response_id=hello["id"], input="refund it", tools=tools)
    assert (calls_of(asked), text_of(asked)) == ([], "Which **order id** should I use?")


def test_an_answer_to_its_question_completes_the_request() -> None:
    emulator = Emulator()
    asked = answer(emulator, input="Refund my order, 20 euros", tools=TOOLS)
    assert "Which **order id**" in text_of(asked)
    made = answer(emulator, previous_response_id=asked["id"], input="A1", tools=TOOLS)
    assert calls_of(made) == [refund("A1", 20)]


@pytest.mark.parametrize("text", ["What orders does Anna have?", "Refund my order"])
def test_new_words_beside_a_superseded_call_are_followed(text: str) -> None:
    emulator = Emulator()
    first = answer(emulator, input="Refund order A1, 20 euros", tools=TOOLS)
    closed = {"status": "superseded", "message": "Not executed: the user went on without answering."}
    second = goes_on(emulator, first, closed, user(text))
    assert calls_of(second) == ([("search_orders", {"customer": "Anna"})] if "Anna" in text else [])
    assert text_of(second).startswith("I have no result of this: refund order **A1** (amount: 20). Not executed")


def test_what_was_told_before_is_not_told_again_by_who_is_sent_the_whole_conversation() -> None:
    emulator, ask = Emulator(), "Refund order A1, 20 euros"
    first = answer(emulator, input=ask, tools=TOOLS, store=False)["output"][-1]
    asked = [user(ask), first, output(first["call_id"], '{"ok": true}')]
    told = answer(emulator, input=asked, tools=TOOLS, store=False)
    assert "I've refunded" in text_of(told)
    later = answer(emulator, input=[*asked, told["output"][-1], user("Thank you")], tools=TOOLS, store=False)
    assert text_of(later) == "You're welcome! Is there anything else I can do?"


def test_what_no_scene_fits_is_answered_with_what_can_be_asked() -> None:
    said = text_of(answer(Emulator(), input="Sing a song", tools=TOOLS))
    assert said.startswith("I'm a small demo model, and this is what I can do here:\n\n- Email Ben that")
    assert "\n- Refund 20 euros of order 1003\n" in said
    assert "Cancel" not in said, "there is no tool for that"
    assert "none of them is here" in text_of(answer(Emulator(), input="Hello"))


def test_tool_choice_is_obeyed() -> None:
    text = "Refund order A1, 20 euros"
    assert calls_of(answer(Emulator(), input=text, tools=TOOLS, tool_choice="none")) == []
    forced = answer(Emulator(), input="hm", tools=TOOLS, tool_choice={"type": "function", "name": "set_theme"})
    assert [name for name, _ in calls_of(forced)] == ["set_theme"]


def test_the_same_request_gets_the_same_answer() -> None:
    one, two = (answer(Emulator(), input="refund A1 and A2, 5 euros", tools=TOOLS) for _ in range(2))
    assert one["output"] == two["output"]


@pytest.mark.parametrize("pasted", ["x" * 300_000, "1." * 150_000, "Abc " * 75_000])
def test_what_was_pasted_beside_the_request_takes_no_time(pasted: str) -> None:
    """The demo answers everything in one loop; the patterns took minutes for a long text without spaces."""

    def answered() -> None:
        for text in (f"Refund order A1, 20 euros\n{pasted}", f"{pasted}\nRefund order A1, 20 euros"):
            (call, *_) = calls_of(answer(Emulator(), input=text, tools=TOOLS))
            assert call == refund("A1", 20)

    assert takes_less(2, answered)
