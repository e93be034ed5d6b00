"""Gates judge what will run (T1): one value, and never a free pass by accident."""

import asyncio
import functools

import anyio
import pytest
from structlog.testing import capture_logs

from agui_gate import Gate, SchemaTool, tool
from agui_gate.core.transcript import CallPart
from agui_gate.turns import gate_evaluation
from agui_gate.turns.gate_evaluation import evaluate_gates
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T1")]


async def judged(arguments, when=None, **kind):
    """What `evaluate_gates` says of one call of a tool that deploys something."""

    @tool(gate=Gate(when=when))
    def deploy(amount: int = 5, production: bool = True) -> None:
        """Deploy."""

    call = CallPart("c1", "c1", "deploy", arguments, "m1", **kind)
    return (await evaluate_gates([call], {"deploy": deploy}))["c1"]


async def answers(value):
    await anyio.lowlevel.checkpoint()
    if isinstance(value, BaseException):
        raise value
    return value


class Later:
    """An awaitable that is no coroutine."""

    def __init__(self, value) -> None:
        self.value = value

    def __await__(self):
        return answers(self.value).__await__()


class Callable:
    async def __call__(self, arguments):
        return arguments["amount"] > 100


def raises(error):
    def when(_) -> None:
        raise error

    return when


def raises_later(error):
    async def when(_) -> None:
        raise error

    return when


@pytest.mark.parametrize(
    "arguments", ['{"production": "true"}', '{"production": 1}', '{"amount": "1_000"}', '{"amount": true}']
)
async def test_what_the_schema_does_not_say_reaches_neither_predicate_nor_person(arguments: str) -> None:
    seen = []
    found = await judged(arguments, when=seen.append)
    assert (found.needs_person, seen) == (False, [])
    assert found.problem.startswith("Invalid arguments for deploy: ")


async def test_defaults_are_judged() -> None:
    assert (await judged("{}", when=lambda a: a["production"] is True)).needs_person
    assert (await judged("{}")).arguments == '{"amount":5,"production":true}'
    assert not (await judged('{"production": false}', when=lambda a: a["production"] is True)).needs_person


@pytest.mark.parametrize(
    ("when", "asks"),
    [
        (None, True),
        (lambda a: True, True),
        (lambda a: False, False),
        (lambda a: None, True),
        (lambda a: 0, True),
        (lambda a: [], True),
        (lambda a: a["no"], True),
        (lambda: False, True),
        (raises(SystemExit(0)), True),
        (raises(KeyboardInterrupt()), True),
        (raises(GeneratorExit()), True),
        (raises(StopIteration()), True),
        (raises(asyncio.CancelledError()), True),
        (raises_later(SystemExit(0)), True),
        (raises_later(KeyboardInterrupt()), True),
        (raises_later(GeneratorExit()), True),
        (raises_later(asyncio.CancelledError()), True),
        (raises_later(ValueError()), True),
        (lambda a: answers(False), False),
        (lambda a: answers(True), True),
        (lambda a: answers(SystemExit()), True),
        (functools.partial(lambda said, a: answers(said), False), False),
        (lambda a: Later(False), False),
        (lambda a: Later(None), True),
        (Callable(), False),
    ],
)
async def test_gates_fail_closed(when, asks: bool) -> None:
    with anyio.fail_after(60):
        assert (await judged("{}", when=when)).needs_person is asks


async def test_what_is_no_object_is_never_looked_at() -> None:
    found = await judged("[1]", when=lambda _: False)
    assert (found.needs_person, found.problem) == (False, "The arguments of deploy are not a JSON object.")


async def test_a_predicate_that_cancels_itself_is_logged_like_any_that_fails() -> None:
    with capture_logs() as logs:
        assert (await judged("{}", when=raises(asyncio.CancelledError()))).needs_person
    assert [(log["event"], log["tool"]) for log in logs] == [("predicate_failed", "deploy")]


async def test_a_predicate_can_not_change_what_runs() -> None:
    def when(arguments):
        arguments.clear()
        arguments["production"] = False
        return False

    assert (await judged("{}", when=when)).arguments == '{"amount":5,"production":true}'


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_predicate_that_takes_too_long_asks_and_holds_up_nobody(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_evaluation, "PREDICATE_SECONDS", 0.05)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def blocks(_):
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(5)
        return False

    async def waits(_):
        await release.wait()
        return False

    with anyio.fail_after(60):
        assert (await judged("{}", when=blocks if kind == "sync" else waits)).needs_person
    release.set()


async def test_a_stop_is_a_stop() -> None:
    started = asyncio.Event()

    async def waits(_) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(judged("{}", when=waits))
    await started.wait()
    with capture_logs() as logs:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert logs == [], "the predicate did not fail"


async def test_only_calls_of_gated_tools_are_looked_at() -> None:
    @tool
    def free() -> None:
        """Free."""

    calls = [CallPart("c1", "c1", "free", "{}", "m1"), CallPart("c2", "c2", "unknown", "{}", "m1")]
    assert await evaluate_gates(calls, {"free": free}) == {}


async def test_what_a_provider_holds_back_needs_a_person_whatever_a_tool_of_that_name_says() -> None:
    call = CallPart("c1", "c1", "deploy", ' {"production": false}', "m1", kind="held")

    @tool(gate=Gate(when=lambda arguments: False))
    def deploy(amount: int = 5, production: bool = True) -> None:
        """Deploy."""

    found = (await evaluate_gates([call], {"deploy": deploy}))["c1"]
    assert (found.needs_person, found.arguments) == (True, call.arguments)


async def test_a_given_schemas_defaults_are_filled_in_where_they_fit_it() -> None:
    """A server fills them in anyway: what is shown is what it would take."""
    schema = {
        "properties": {
            "to": {"type": "string"},
            "production": {"type": "boolean", "default": True},
            "options": {"type": "object", "properties": {"force": {"default": True}}},
            "bad": {"type": "string", "default": None},
        }
    }

    def check(arguments):
        return "bad: has to be text" if arguments.get("bad", "") is None else None

    deploy = SchemaTool(None, name="deploy", description="", parameters=schema, check=check, gate=True)
    call = CallPart("c1", "c1", "deploy", '{"to": "x", "options": {}}', "m1")
    found = (await evaluate_gates([call], {"deploy": deploy}))["c1"]
    assert found.arguments == '{"options":{"force":true},"production":true,"to":"x"}'
