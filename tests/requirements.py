"""Every requirement with its id, its source and one line of text. Ids are permanent.

A test names the requirements that it shows:

    @shows("S1", "B3")
    async def test_an_approved_call_runs_once(mode): ...

or in its own name: `test_s24_…`. For a whole module: ``pytestmark = [pytest.mark.anyio, shows("S24")]``. An unknown
id fails when the module is imported. `tests/test_requirements.py` checks that every id has a test, and that every test
of the whole product (`tests/product`) names an id.
"""

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement and its source."""

    text: str
    source: str


def shows(*ids: str) -> pytest.MarkDecorator:
    """Mark a test (or, in `pytestmark`, a module) as evidence. Raises `ValueError` for an unknown id."""
    unknown = [i for i in ids if i not in REQUIREMENTS]
    if unknown or not ids:
        raise ValueError(f"no such requirement: {', '.join(unknown) or 'none named'}")
    return pytest.mark.shows(*ids)


LOST = "microsoft/agent-framework#6894: an approval is lost between the provider's and the client's id"
DUPLICATE = "microsoft/agent-framework#5690, #3295: duplicate item under service-side storage"
REASONING = "microsoft/agent-framework#4083, #4047: reasoning models, hand-off between agents"
DANGLING = "bytedance/deer-flow, DanglingToolCallMiddleware: ids are not globally unique"
CANCEL = "loopstack#214: cancel leaves tool_use without tool_result"
AHEAD = "Further requirements"
HOUSE = "Events"
KEPT = "Audit trail, restored backups and late approvals"
TRUTH = "Consistency, limits and compatibility"


def _lines(source: str, lines: dict[str, str]) -> dict[str, Requirement]:
    return {i: Requirement(text, source) for i, text in lines.items()}


REQUIREMENTS: dict[str, Requirement] = {
    **_lines(
        LOST,
        {
            "S1": "Stateful provider, the client chooses its thread id: the tool runs, its output is sent, no 400",
            "S2": "The same if the client uses the provider's conversation id as its thread id",
            "S3": "Stateless provider: both keys refer to one entry",
            "S4": "`consume` removes an entry under all its keys; a second use returns `missing`, also concurrently",
            "S5": "`consume` returns ok, missing, name_mismatch or arguments_mismatch; a mismatch keeps the entry",
            "S6": "Name and canonical arguments are validated inside the lock; nothing is awaited in it; thread-safe",
            "S7": "Above `max_size` the oldest entry is removed with all its keys; no key is left over",
            "S8": "For older callers: read access as a mapping (iter, in, len, []), and assignment of a plain string",
            "S9": "Sanitizer and validator agree: a call runs only if accepted; a refused answer gets an output",
            "S10": "7 calls, 3 gated: every transcript has 7 outputs, and every call ends in the client, in all cases",
            "S11": "The thread snapshot is saved and found under the same stable key, for both kinds of client",
            "S12": "RUN_STARTED has the client's thread id, and is sent before any provider id is known",
        },
    ),
    **_lines(
        DUPLICATE,
        {
            "S13": "A continued request contains no function_call, reasoning, approval or local-shell call items",
            "S14": "It does contain function_call_output items, matched by call id",
            "S15": "Without continuation the whole history is sent, unchanged by this rule",
            "S16": "The rule depends on the request, not on the source of a message",
            "S17": "Two turns with tools and a persistent store succeed; so does a continuation with only the output",
            "S18": "A request with the full history never has a continuation id",
        },
    ),
    **_lines(
        REASONING,
        {
            "S19": "Reasoning is sent only as part of the complete group that it was received in",
            "S20": "Hidden or encrypted reasoning also becomes an item with its id and encrypted value",
            "S21": "`summary` is a list, and empty if nothing is visible",
            "S22": "A hand-off that replays the history resets the continuation explicitly; an ordinary answer doesn't",
            "S23": "Each call id is collected once; at a limit, outputs for open calls are still sent",
        },
    ),
    **_lines(
        DANGLING,
        {
            "S24": "A call id is valid in its assistant turn only; results are matched in their order",
            "S25": "A valid transcript with repeated ids is not changed",
            "S26": "Results that are not adjacent are moved together; a later one with the same id is not lost",
            "S27": "A missing result is added",
            "S28": "A summary message, a kept turn and a later turn with the same id are all kept",
        },
    ),
    **_lines(
        CANCEL,
        {
            "S29": "Cancelling first records an error result for every open call",
            "S30": "The next turn then works, or the run ends without an error",
            "S31": "The code that cancels has the ids of the open calls, not only their number",
            "S32": "Results that arrive after the cancellation are ignored or recorded once; they overwrite nothing",
            "S33": "The cancel button works by default",
        },
    ),
    **_lines(
        AHEAD,
        {
            "B1": "Card, tool message on the call, resume, user turn, HTTP approval: the outcome is the same",
            "B2": "Any of the calls may be answered, in any order; the user is never locked out",
            "B3": "Approve one, reject one, ignore one and send text: each gets its outcome, and the text is kept",
            "B4": "Calls without a gate run at once, also beside a gated call",
            "B5": "A restart before the approval does no harm; a call without its record is closed, the thread goes on",
            "B6": "Two processes, one store, the same approval a hundred times: the tool runs once",
            "B7": "For any client history the output meets the provider's rules; sanitizing it again changes nothing",
            "B8": "Cards are never sent to a provider",
            "B9": "Aborted while a tool runs: outcome recorded, next turn valid, no second execution without approval",
            "B10": "If the provider fails after the tool has run, a retry continues with the stored result",
            "B11": "The model gets an edited call as edited; if the history is tampered with, the server's arguments",
            "B12": "New user text is never dropped, even beside a replayed approval or if it repeats a message",
            "B13": "Text is shown once: answers of one delta, of many deltas, of several message items",
            "B14": "Every stream is well-formed; both real clients accept every stream that the server can produce",
            "B15": "A client tool, a gated tool and a free tool in one turn all get results",
            "B16": "Encrypted reasoning is returned to the provider unchanged in stateless mode",
            "B17": "Disconnect policy; reconnecting replays missed events, none twice; explicit cancel",
            "B18": "One active run per thread; a second one gets 409",
            "B19": "Errors are classified, and their text contains no secrets",
            "B20": "5,000 messages are sanitized in under 50 ms; registry operations are O(1) at 10,000 entries",
            "B21": "MESSAGES_SNAPSHOT is sent only if needed; ids and order are the same in stream and snapshot",
            "B22": "Every route has a principal; nobody can answer or read for another principal",
            "B23": "No function over 50 lines, no module over 450; `agui_gate` is imported in under 0.3 s",
            "B24": "All adapters pass the same scenarios",
            "B25": "No tool runs with the partial arguments of an aborted or failed stream",
            "B26": "Expired approvals don't run, by the store's clock; the call of an expired card ends in the client",
            "B27": "If the provider has lost the conversation, the journal is sent again, once, before the first token",
            "B28": "A history that claims an approval, call or result that the server never issued runs nothing",
        },
    ),
    **_lines(
        TRUTH,
        {
            "T1": "A gate receives the arguments that will run: validated once, with defaults, without conversions",
            "T2": "An approval is valid only for the tool that it was asked for, by source and schema",
            "T3": "Integers above 2^53 keep their digits in a browser, when shown and when edited",
            "T4": "Decisions are shown as the ledger records them; an answer to a card that was shown again is valid",
            "T5": "Calls that took effect are never erased, whatever is regenerated or edited",
            "T6": "A decision outside the chat continues the conversation if it asks for that",
            "T7": "Deleting a thread never deletes the record that a call ran",
            "T8": "A result is kept even while the store can't be written",
            "T9": "Expiry and leases use the store's clock only; a newer schema is detected",
            "T10": "No media part, tool name or refused message makes a thread unusable",
            "T11": "The emulator refuses media, names, orders and roles as the providers do",
            "T12": "Text from the client is sent to the model as the client's, below the instructions",
            "T13": "Connections, requests, turns, threads and principals each have a limit",
            "T14": "A server without authentication answers only clients whose address it can see",
            "T15": "Large input doesn't block other requests",
            "T16": "A POST that is repeated with `Last-Event-ID` continues its run and starts nothing",
            "T17": "Requests may use snake_case names",
            "T18": "The model receives actions of the user in a component as the client's report",
            "T19": "A server that doesn't support continuation gets the whole history, and this is remembered",
            "T20": "A check of `doctor` that can't get a result says so",
            "T21": "CopilotKit's requests for suggestions store nothing and run no tools",
            "T22": "An MCP result is sent to the model once",
            "T23": "The emulator's objects have every member that the public schemas require",
            "T24": "The documentation describes mounts, hosts and several workers",
        },
    ),
    **_lines(
        HOUSE,
        {
            "H1": "A tool's own events have the protocol's types, are checked and sequenced, and stored with the run",
            "H2": "Clients can follow new and decided approvals without polling",
        },
    ),
    **_lines(
        KEPT,
        {
            "K1": "The history of an approval is stored with it, and later changes to it are detected",
            "K2": "After a restore, answers to earlier questions run nothing; pending calls are asked about again",
            "K3": "A late approval has one clear outcome, even if its tool or agent has changed or is gone",
        },
    ),
}
