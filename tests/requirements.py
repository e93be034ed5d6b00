"""Every requirement with its id, its source and a line of text. Ids are permanent.

A test says which of them it shows:

    @shows("S1", "B3")
    async def test_an_approved_call_runs_once(mode): ...

or `test_s24_…` by its name. For a whole module: ``pytestmark = [pytest.mark.anyio, shows("S24")]``. An unknown id fails
when the module is imported; `tests/test_requirements.py` holds the rest: every id has a test, and every test
of the whole product (`tests/product`) names an id.
"""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line, and where it comes from."""

    text: str
    source: str


def shows(*ids: str) -> pytest.MarkDecorator:
    """Mark a test (or, in `pytestmark`, a module) as evidence. Raises `ValueError` for an unknown id."""
    unknown = [i for i in ids if i not in REQUIREMENTS]
    if unknown or not ids:
        raise ValueError(f"no such requirement: {', '.join(unknown) or 'none named'}")
    return pytest.mark.shows(*ids)


LOST = "microsoft/agent-framework#6894: approval lost between the provider's and the client's id"
DUPLICATE = "microsoft/agent-framework#5690, #3295: duplicate item under service-side storage"
REASONING = "microsoft/agent-framework#4083, #4047: reasoning models, hand-off between agents"
DANGLING = "bytedance/deer-flow, DanglingToolCallMiddleware: ids are not globally unique"
CANCEL = "loopstack#214: cancel leaves tool_use without tool_result"
AHEAD = "our own promises"
HOUSE = "the house, ready for more rooms"
KEPT = "what is kept, and for how long it is true"
TRUTH = "what is judged, what runs and what people see are one and the same"


def _lines(source: str, lines: dict[str, str]) -> dict[str, Requirement]:
    return {i: Requirement(text, source) for i, text in lines.items()}


REQUIREMENTS: dict[str, Requirement] = {
    **_lines(
        LOST,
        {
            "S1": "Stateful provider, client pins its own thread id: the tool runs, its output is sent, no 400",
            "S2": "The same when the client sends the provider's conversation id as its thread id",
            "S3": "Stateless provider: the two keys collapse to one entry",
            "S4": "An entry knows its keys; consuming removes all; a second use says `missing`, under concurrency too",
            "S5": "`consume` returns ok, missing, name_mismatch or arguments_mismatch; a mismatch leaves the entry",
            "S6": "Name and canonical arguments are validated inside the lock; nothing is awaited in it; thread-safe",
            "S7": "Over `max_size` the oldest entry goes with all its keys; no key is orphaned",
            "S8": "Mapping reads (iter, in, len, []) and assignment of a bare string for older callers",
            "S9": "Sanitizer and validator agree: executed only if accepted; a refused answer gets an output",
            "S10": "7 calls, 3 gated: every outgoing transcript has 7 outputs, every chip ends, whatever happens",
            "S11": "The thread snapshot is saved and found under the same stable key, for both kinds of client",
            "S12": "RUN_STARTED carries the client's thread id and is sent before any provider id is known",
        },
    ),
    **_lines(
        DUPLICATE,
        {
            "S13": "A continued request carries no function_call, reasoning, approval or local-shell call item",
            "S14": "It does carry function_call_output, paired by call id",
            "S15": "Without a continuation the whole history goes, unchanged by this rule",
            "S16": "The rule looks at the request, not at where a message came from",
            "S17": "Two turns with tools and a persistent store succeed; continuation + only the output succeeds",
            "S18": "A full replay never also presents a continuation id",
        },
    ),
    **_lines(
        REASONING,
        {
            "S19": "Reasoning is serialised only as part of the complete group it came in",
            "S20": "Hidden or encrypted reasoning still yields an item with its id and encrypted value",
            "S21": "`summary` is a list; it is empty when nothing is visible",
            "S22": "A hand-off that replays history resets the continuation explicitly; merely responding does not",
            "S23": "Calls are collected once per call id; stopping at a limit still submits outputs for open calls",
        },
    ),
    **_lines(
        DANGLING,
        {
            "S24": "An id is scoped to its assistant turn; results are consumed in order of occurrence",
            "S25": "A valid transcript with repeated ids comes out unchanged",
            "S26": "Results that are not adjacent are regrouped, and a later one with the same id is not lost",
            "S27": "A result that is really missing is repaired",
            "S28": "Summary message + preserved turn + later turn with the same id: all of it survives",
        },
    ),
    **_lines(
        CANCEL,
        {
            "S29": "Cancel records a result marked as an error for every open call before anything else happens",
            "S30": "The next turn then works, or the run ends cleanly",
            "S31": "The open call ids are at hand where cancel happens, not just a count",
            "S32": "Results that arrive after the cancel are ignored or recorded once; they overwrite nothing",
            "S33": "The cancel button works by default",
        },
    ),
    **_lines(
        AHEAD,
        {
            "B1": "Card, tool message on the call, resume, user-turn, out-of-band approval: identical outcomes",
            "B2": "Any subset of answers in any order; never a lock-out",
            "B3": "Approve one, reject one, ignore one, say something: one of each outcome, and the text is kept",
            "B4": "Free siblings of a gated call run at once",
            "B5": "Restart between pause and approval works; without the record the call is closed, the thread goes on",
            "B6": "Two processes, one store, the same approval a hundred times: one execution",
            "B7": "For any client history the output satisfies the provider's rules; sanitizing twice changes nothing",
            "B8": "Synthetic cards never reach a provider",
            "B9": "Aborted in the middle of a tool: outcome recorded, next turn legal, never run again without consent",
            "B10": "The provider fails after the tool ran: a retry continues with the stored result",
            "B11": "Edited arguments: the model sees the edited call. Tampered history: it sees the server's arguments",
            "B12": "New user text is never dropped: not beside a replayed approval, not when it repeats a message",
            "B13": "Text is shown once: one-delta answers, many deltas, several message items",
            "B14": "Every stream is well-formed; both real clients accept every stream we can produce",
            "B15": "Client tool, gated tool and free tool in one turn all resolve",
            "B16": "Encrypted reasoning survives the round trip in stateless mode",
            "B17": "Disconnect policy; reconnect replays what was missed and nothing twice; explicit cancel",
            "B18": "One active run per thread; a second gets a clear 409",
            "B19": "Errors are classified with safe text",
            "B20": "5,000 messages are sanitized in under 50 ms; registry operations are O(1) at 10,000 entries",
            "B21": "A full MESSAGES_SNAPSHOT only where needed; ids and order are stable between stream and snapshot",
            "B22": "A principal on every route; nobody answers or reads another principal's",
            "B23": "No function over 50 lines, no module over 400; import of `agui_gate` under 0.3 s",
            "B24": "All adapters pass the same scenarios",
            "B25": "A tool result of an aborted or failed stream never comes from partial arguments",
            "B26": "Expired approvals don't run, judged by the store's clock; an expired card ends its chip",
            "B27": "The provider has forgotten the conversation: replayed from ours once, before the first token",
            "B28": "A history that claims an approval, call or result we never issued causes no execution",
        },
    ),
    **_lines(
        TRUTH,
        {
            "T1": "A gate judges the arguments that will run: validated once, defaults filled in, nothing coerced",
            "T2": "An approval is for the tool it was asked for, by source and schema",
            "T3": "Integers beyond 2^53 survive a browser, shown and edited",
            "T4": "What people see of a decision is the ledger's word; an answer to a card asked again counts",
            "T5": "What took effect is not erased, whatever is regenerated or edited",
            "T6": "A decision out of band lets the conversation go on, if it says so",
            "T7": "Deleting a thread never removes the record that something ran",
            "T8": "A known result is kept, also while the store can't be written",
            "T9": "Expiry and leases go by the store's one clock; a newer schema is noticed",
            "T10": "No media part, tool name or refused message ends a thread",
            "T11": "The emulator refuses media, names, orders and roles as the providers do",
            "T12": "What a client says is told to the model as the client's word",
            "T13": "Connections, requests, turns, threads and principals each have a limit",
            "T14": "A server without auth answers nobody whose address it can't see",
            "T15": "Heavy input doesn't stall others",
            "T16": "A POST that comes again with `Last-Event-ID` goes on and starts nothing",
            "T17": "Input may be spelled in snake_case",
            "T18": "What the user did in a component reaches the model as the client's report",
            "T19": "A server that doesn't know continuation is sent everything, and remembered",
            "T20": "A check of `doctor` that can't tell says so",
            "T21": "CopilotKit's suggestions leave nothing behind and call nothing",
            "T22": "An MCP result reaches the model once",
            "T23": "The emulator's objects have every member that the public schemas require",
            "T24": "The documentation says what mounts, hosts and several workers do",
        },
    ),
    **_lines(
        HOUSE,
        {
            "H1": "A tool's own events are the protocol's types, checked, sequenced, and kept with the run",
            "H2": "Whoever decides sees approvals come and go without asking again and again",
        },
    ),
    **_lines(
        KEPT,
        {
            "K1": "What happened to an approval is kept with it, and no later change of that goes unnoticed",
            "K2": "After a restored backup nothing is carried out by an answer of before; what waited is asked again",
            "K3": "An approval after weeks has one clear outcome, whatever became of its tool and its agent",
        },
    ),
}
