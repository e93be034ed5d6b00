"""The demo brain: picks tools from the prompt, fills arguments, tells how it went; always the same way."""

import time
from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Emulator
from tests.testkit.driving import answer, output, user


def tool(name: str, description: str, **types: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} if isinstance(kind, str) else {"enum": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "name": name, "description": description, "parameters": schema}


TOOLS = [
    tool("search_orders", "Find a customer's orders.", customer="string"),
    tool("refund", "Refund an order.", order_id="string", amount="number"),
    tool("send_email", "Send an email.", to="string", subject="string", body="string"),
    tool("set_theme", "Change the page's theme.", theme=["light", "dark"]),
    tool("get_weather", "Get the weather for a city.", city="string", days="integer"),
]
ORDERS = [{"order_id": "A1", "total": 20.0, "status": "delivered"}, {"order_id": "A2", "total": 35.5, "status": "new"}]


def calls_of(response: dict[str, Any]) -> list[tuple[str, Any]]:
    items = [item for item in response["output"] if item["type"] == "function_call"]
    return [(item["name"], msgspec.json.decode(item["arguments"])) for item in items]


def text_of(response: dict[str, Any]) -> str:
    return " ".join(part["text"] for item in response["output"] if "role" in item for part in item["content"])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Refund order A1, 20 euros", [("refund", {"order_id": "A1", "amount": 20})]),
        ("please refund order 1234, $12.50", [("refund", {"order_id": "1234", "amount": 12.5})]),
        (
            "refund A1 with 20 and A2 with 30",
            [("refund", {"order_id": "A1", "amount": 20}), ("refund", {"order_id": "A2", "amount": 30})],
        ),
        ("What orders does Anna have?", [("search_orders", {"customer": "Anna"})]),
        ("Show me Anna's orders", [("search_orders", {"customer": "Anna"})]),
        (
            'Email anna@example.com "Your refund" "It is on its way. Bye."',
            [("send_email", {"to": "anna@example.com", "subject": "Your refund", "body": "It is on its way. Bye."})],
        ),
        ("switch to the dark theme", [("set_theme", {"theme": "dark"})]),
        ("What's the weather in Paris for 3 days?", [("get_weather", {"city": "Paris", "days": 3})]),
        ("call search_orders for Bob Smith", [("search_orders", {"customer": "Bob Smith"})]),
        ("don't refund A1", []),
        ("refund my order", []),
        ("hello", []),
        ("refund A1, 20 euros, as 10.0.0.1 and version 1.2.3 say", [("refund", {"order_id": "A1", "amount": 20})]),
        (f"refund A1, 1,00,00 or {'9' * 400} or 20 euros", [("refund", {"order_id": "A1", "amount": 20})]),
    ],
)
def test_picks_tools_and_arguments(text: str, calls: list[tuple[str, Any]]) -> None:
    assert calls_of(answer(Emulator(), input=text, tools=TOOLS)) == calls


def test_a_call_comes_with_a_thought_and_a_preamble() -> None:
    response = answer(Emulator(), input="Refund order A1, 20 euros", tools=TOOLS)
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "function_call"]
    assert "order_id=A1" in response["output"][0]["summary"][0]["text"]
    assert text_of(response) == "Of course, I'll refund order **A1** (amount: 20)."


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Ask the clerk to refund order 1001", "Refund order 1001."),
        ("Ask the clerk to refund 1003. Ask the writer to email Ben.", "Refund 1003."),
        ('Tell the clerk "Look up 1003"', "Look up 1003"),
    ],
)
def test_what_others_are_asked_is_said_in_words(text: str, task: str) -> None:
    tools = [tool("clerk", "Looks up orders.", task="string"), tool("transfer_to_billing", "Transfers.")]
    response = answer(Emulator(), input=text, tools=tools)
    assert calls_of(response) == [("clerk", {"task": task})]
    assert text_of(response).endswith("I'll ask the **clerk**.")


def test_who_answers_after_a_hand_off_says_so() -> None:
    emulator = Emulator()
    tools = [tool("transfer_to_billing", "Transfers.")]
    first = answer(emulator, input="Transfer me to billing", tools=tools)
    assert calls_of(first) == [("transfer_to_billing", {})]
    told = output(first["output"][-1]["call_id"], '{"status": "transferred", "agent": "billing"}')
    second = answer(emulator, previous_response_id=first["id"], input=[told], tools=tools)
    assert text_of(second).startswith("You are with **billing** now.")


def test_several_steps_one_after_the_other() -> None:
    emulator = Emulator()
    first = answer(emulator, input="Find Anna's orders and refund the first one", tools=TOOLS)
    assert calls_of(first) == [("search_orders", {"customer": "Anna"})]
    found = output(first["output"][-1]["call_id"], msgspec.json.encode(ORDERS).decode())
    second = answer(emulator, previous_response_id=first["id"], input=[found], tools=TOOLS)
    assert calls_of(second) == [("refund", {"order_id": "A1", "amount": 20})]
    done = output(second["output"][-1]["call_id"], '{"refunded": true}')
    third = answer(emulator, previous_response_id=second["id"], input=[done], tools=TOOLS)
    assert calls_of(third) == []
    assert "A1" in text_of(third)
    both = answer(emulator, previous_response_id=first["id"], input=[found, user("refund both")], tools=TOOLS)
    assert [arguments["order_id"] for _, arguments in calls_of(both)] == ["A1", "A2"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("Refunded 20 euros", "refunded"),
        ('{"status": "refunded"}', "I've refunded"),
        ("The person rejected this call.", "rejected"),
        ("Superseded: the user said something new; nobody denied it.", "undone"),
        ('{"status": "unknown", "message": "It was interrupted."}', "can't tell"),
        ('{"order_id": "A1", "status": "cancelled"}', "I've refunded"),
        ("Cancelled by the user.", "cancelled"),
        ("The approval expired.", "expired"),
        ('{"error": "no such order"}', "could not"),
        ('{"error": {"code": "rejected", "message": "rejected by a person"}}', "rejected"),
    ],
)
def test_reacts_to_outputs(told: str, words: str) -> None:
    emulator = Emulator()
    first = answer(emulator, input="Refund order A1, 20 euros", tools=TOOLS)
    made = first["output"][-1]["call_id"]
    second = answer(emulator, previous_response_id=first["id"], input=[output(made, told)], tools=TOOLS)
    assert calls_of(second) == []
    assert words in text_of(second)


STEPS = [*TOOLS, tool("get_order", "Look up one order by its number.", order_id="string")]
RECORD = '{"order_id": "1002", "customer": "Anna", "amount": 38.5, "status": "on its way"}'


@pytest.mark.parametrize(
    ("text", "found", "first", "second"),
    [
        ("Refund order 1002", RECORD, ("get_order", "1002"), {"order_id": "1002", "amount": 38.5}),
        ("look up 1002 and refund it", RECORD, ("get_order", "1002"), {"order_id": "1002", "amount": 38.5}),
        ("refund Anna's order", f"[{RECORD}]", ("search_orders", "Anna"), {"order_id": "1002", "amount": 38.5}),
        ("What is the state of order 1002?", RECORD, ("get_order", "1002"), None),
        ("and 1002?", RECORD, ("get_order", "1002"), None),
    ],
)
def test_looks_things_up_before_it_changes_them(text: str, found: str, first: Any, second: Any) -> None:
    emulator = Emulator()
    one = answer(emulator, input=text, tools=STEPS)
    assert [(name, *arguments.values()) for name, arguments in calls_of(one)] == [first]
    told = output(one["output"][-1]["call_id"], found)
    two = answer(emulator, previous_response_id=one["id"], input=[told], tools=STEPS)
    assert calls_of(two) == ([] if second is None else [("refund", second)])


def test_an_answer_to_its_question_completes_the_request() -> None:
    emulator = Emulator()
    asked = answer(emulator, input="Refund my order, 20 euros", tools=TOOLS)
    assert "Which **order id**" in text_of(asked)
    made = answer(emulator, previous_response_id=asked["id"], input="A1", tools=TOOLS)
    assert calls_of(made) == [("refund", {"order_id": "A1", "amount": 20})]


def test_new_words_beside_a_superseded_call_are_followed() -> None:
    emulator = Emulator()
    first = answer(emulator, input="Refund order A1, 20 euros", tools=TOOLS)
    closed = output(first["output"][-1]["call_id"], "Superseded by a new message.")
    body: dict[str, Any] = {"previous_response_id": first["id"], "tools": TOOLS}
    second = answer(emulator, input=[closed, user("What orders does Anna have?")], **body)
    assert calls_of(second) == [("search_orders", {"customer": "Anna"})]
    assert "undone" in text_of(second)


def test_what_was_told_before_is_not_told_again_by_who_is_sent_the_whole_conversation() -> None:
    emulator = Emulator()
    first = answer(emulator, input="Refund order A1, 20 euros", tools=TOOLS, store=False)
    asked = [
        user("Refund order A1, 20 euros"),
        first["output"][-1],
        output(first["output"][-1]["call_id"], '{"ok": true}'),
    ]
    told = answer(emulator, input=asked, tools=TOOLS, store=False)
    assert "I've refunded" in text_of(told)
    later = answer(emulator, input=[*asked, told["output"][-1], user("Thank you")], tools=TOOLS, store=False)
    assert text_of(later) == "You're welcome! Is there anything else I can do?"


def test_plain_talk_says_what_can_be_done() -> None:
    said = text_of(answer(Emulator(), input="What can you do?", tools=TOOLS))
    assert "**refund**: refund an order" in said
    assert "Refund order A1, 20 euros" in said
    assert "without tools" in text_of(answer(Emulator(), input="Hello"))


def test_tool_choice_is_obeyed() -> None:
    text = "Refund order A1, 20 euros"
    assert calls_of(answer(Emulator(), input=text, tools=TOOLS, tool_choice="none")) == []
    forced = answer(Emulator(), input="hm", tools=TOOLS, tool_choice={"type": "function", "name": "set_theme"})
    assert [name for name, _ in calls_of(forced)] == ["set_theme"]


def test_the_same_request_gets_the_same_answer() -> None:
    one, two = (answer(Emulator(), input="refund A1 and A2", tools=TOOLS) for _ in range(2))
    assert one["output"] == two["output"]


@pytest.mark.parametrize("pasted", ["x" * 300_000, "1." * 150_000, "Abc " * 75_000])
def test_what_was_pasted_beside_the_request_takes_no_time(pasted: str) -> None:
    """The demo answers everything in one loop; the patterns took minutes for a long text without spaces."""
    begun = time.process_time()
    for text in (f"Refund order A1, 20 euros\n{pasted}", f"{pasted}\nRefund order A1, 20 euros"):
        (call, *_) = calls_of(answer(Emulator(), input=text, tools=TOOLS))
        assert call == ("refund", {"order_id": "A1", "amount": 20})
    assert time.process_time() - begun < 2
