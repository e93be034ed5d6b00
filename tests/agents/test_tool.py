"""Functions as tools: the schema that the model sees, what is validated, what is refused when it is made."""

import asyncio
from datetime import date
from typing import Annotated, Literal

import pydantic
import pytest

from agui_gate import Gate, SchemaTool, Tool, ToolContext, ToolError, tool
from agui_gate.core.json_text import canonical
from agui_gate.errors import ConfigurationError


class Address(pydantic.BaseModel):
    street: str
    number: int = 1


@tool
async def ship(
    order_id: Annotated[str, pydantic.Field(description="The order")],
    to: Address,
    ctx: ToolContext,
    speed: Literal["slow", "fast"] = "slow",
    *,
    tags: list[str] | None = None,
) -> str:
    """Ship an order.

    It takes a while.
    """
    return f"{ctx.call_id}:{order_id}:{to.street}:{speed}:{tags}"


def context():
    return ToolContext(thread_id="t", run_id="r", call_id="c", principal="p", idempotency_key="k")


def test_the_schema_comes_from_the_signature() -> None:
    schema = ship.parameters
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["order_id", "to"]
    assert list(schema["properties"]) == ["order_id", "to", "speed", "tags"]
    assert schema["properties"]["order_id"] == {"type": "string", "description": "The order"}
    assert "ctx" not in str(schema)
    assert (ship.name, ship.description) == ("ship", "Ship an order.\n\nIt takes a while.")
    assert repr(ship) == "<Tool ship>"


def test_a_tool_is_still_a_function() -> None:
    assert asyncio.run(ship("A1", Address(street="x"), context(), tags=["a"])) == "c:A1:x:slow:['a']"
    assert ship.__doc__.startswith("Ship an order.")


def test_arguments_become_what_the_function_declares() -> None:
    kwargs = ship.validate({"order_id": "A1", "to": {"street": "x"}})
    assert kwargs == {"order_id": "A1", "to": Address(street="x"), "speed": "slow", "tags": None}
    assert ship.bind(kwargs, context())["ctx"].call_id == "c"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "order_id: Field required"),
        ({"order_id": 5, "to": {"street": "x"}}, "order_id"),
        ({"order_id": "A1", "to": {"street": "secret", "number": "x"}}, "to.number"),
        ({"order_id": "A1", "to": {"street": "x"}, "speed": "secret"}, "speed"),
        ({"order_id": "A1", "to": {"street": "x"}, "other": "secret"}, "other"),
        ({"order_id": "A1", "to": {"street": "x"}, "ctx": {"principal": "admin"}}, "ctx"),
    ],
)
def test_what_does_not_fit_is_named_without_its_value(arguments, says: str) -> None:
    with pytest.raises(ToolError, match="Invalid arguments for ship") as caught:
        ship.validate(arguments)
    assert says in caught.value.message
    assert "secret" not in caught.value.message


def test_a_tool_without_a_gate_reads_what_models_mean() -> None:
    @tool
    def pay(amount: float, on: date, times: int = 1) -> None:
        """Pay."""

    sloppy = {"amount": "5", "on": "2026-11-21", "times": "2"}
    assert pay.validate(sloppy) == {"amount": 5.0, "on": date(2026, 11, 21), "times": 2}


def test_names_descriptions_and_defaults() -> None:
    @tool(name="other-name_2", description="  Other.\n    words", gate=True, timeout=3, idempotent=True)
    def named(untyped, limit: int = 5):
        """Not used."""
        return untyped, limit

    assert (named.name, named.description) == ("other-name_2", "Other.\nwords")
    assert (named.timeout, named.idempotent, named.is_async, named.gate) == (3, True, False, Gate())
    assert named.validate({"untyped": {"a": 1}}) == {"untyped": {"a": 1}, "limit": 5}
    assert repr(named) == "<Tool other-name_2 gated>"

    @tool
    def bare() -> None:
        pass

    assert (bare.description, bare.parameters["properties"], bare.validate({})) == ("", {}, {})


def broken(signature):
    names = {"ToolContext": ToolContext}
    exec(f"def f({signature}): pass", names)
    return names["f"]


@pytest.mark.parametrize("signature", ["*args", "**kwargs", "a, /"])
def test_signatures_that_can_not_be_tools(signature: str) -> None:
    with pytest.raises(ConfigurationError, match="plain named parameter"):
        Tool(broken(signature))


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b", "a/b", "confirm_changes", "a\n"])
def test_names_that_can_not_be(name: str) -> None:
    with pytest.raises(ConfigurationError, match="tool name"):
        Tool(lambda: None, name=name or " ")


def test_gates_that_can_not_be() -> None:
    with pytest.raises(ConfigurationError, match="list of argument names"):
        Gate(editable="amount")
    for seconds in (0, -1, float("nan"), float("inf"), 1e12):
        with pytest.raises(ConfigurationError, match="above 0"):
            Gate(expires_after=seconds)
    with pytest.raises(ConfigurationError, match="names no argument: amont"):
        tool(gate=Gate(editable=["amont"]))(broken("amount"))


@pytest.mark.parametrize(
    ("message", "unknown"),
    [
        ("Refund {amnt}?", "{amnt}"),
        ("Refund {amount:.2f} to {order_id}?", "{amount:.2f}"),
        ("{amount!r} {order_id.x} {order_id[0]}", "{amount!r}, {order_id.x}, {order_id[0]}"),
        ("{Amount}", "{Amount}"),
    ],
)
def test_a_message_that_asks_about_nothing_can_not_be(message: str, unknown: str) -> None:
    """`Gate(message="{amnt}")` showed the braces to the person who was asked."""
    with pytest.raises(ConfigurationError) as caught:
        tool(gate=Gate(message=message))(broken("order_id, amount"))
    assert f"has {unknown}, which is no argument. There are: {{order_id}}, {{amount}}" in caught.value.message


def test_braces_around_other_things_are_text() -> None:
    for message in ("Set {} to {amount}", '{"a": 1}', "{1}", "{ amount }", "{what a day}", "{{amount}}"):
        tool(gate=Gate(message=message))(broken("amount"))
    open_schema = SchemaTool(None, name="x", description="", parameters={}, gate=Gate(message="{path}"))
    assert open_schema.gate.unknown_places([]) == ["path"], "one message is for many tools there, and no error"


def test_arguments_are_named_as_models_know_them() -> None:
    @tool(gate=Gate(editable=["from"], message="From {from}?"))
    def mail(sender: Annotated[str, pydantic.Field(alias="from")]) -> None:
        """Mail."""

    assert mail.judged({"from": "a"}) == '{"from":"a"}'
    assert mail.exactly(canonical({"from": "a"})) == {"sender": "a"}
    with pytest.raises(ConfigurationError, match="names no argument: sender"):
        tool(gate=Gate(editable=["sender"]))(mail.fn)


def test_the_digest_of_a_schema_changes_with_it() -> None:
    def pay(amount: Annotated[float, pydantic.Field(description="In cents")]) -> None: ...

    def paid(amount: Annotated[float, pydantic.Field(description="In euros")]) -> None: ...

    digests = {Tool(fn, name="pay").schema_digest for fn in (pay, pay, paid)}
    assert len(digests) == 2
    assert all(len(digest) == 64 for digest in digests)
