"""Steps 7 to 11: rules over the merged list, context first and then input.

The merged list is what the model would see. The context part was legal when it was made, so the rules about ids look
only at the input against it. The rules about pairs look at everything: a call that nobody answered is found again there
on every later request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agui_gate_adapters.testkit.kinds import KINDS, awaits_output, kind_of
from agui_gate_adapters.testkit.responses import violations as sv
from agui_gate_adapters.testkit.responses.encrypted_reasoning import unseal
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = [
    "check_approvals",
    "check_azure",
    "check_duplicates",
    "check_pairs",
    "check_reasoning",
    "check_replay",
    "check_tool_lists",
]


def check_duplicates(context: list[Json], items: list[Json]) -> Iterator[Violation]:
    """Step 7: no item id twice, references included (R3)."""
    seen = {item["id"] for item in context if item.get("id")}
    calls = {item["id"] for item in (*context, *items) if awaits_output(item) and item.get("id")}
    for item in items:
        item_id = item.get("id")
        answers = kind_of(item) in KINDS and KINDS[kind_of(item)].answers is not None
        if item_id is None or (answers and item_id in calls):
            continue  # An output under its call's id is no duplicate but a broken pair, see check_pairs.
        if item_id in seen:
            yield sv.duplicate_item(item_id)
        seen.add(item_id)


def check_reasoning(
    state: ProviderState, context: list[Json], items: list[Json], profile: Profile
) -> Iterator[Violation]:
    """Step 8: a reasoning group goes whole or not at all (R4, R5), for ids that the store can resolve."""
    if not profile.reasoning_graph:
        return
    before = context[-1].get("id") if context else None
    for index, item in enumerate(items):
        item_id = item.get("id")
        known = state.issued.get(item_id) if item_id else None
        if known is not None and (known.stored or profile.reasoning_groups_unstored):
            after = items[index + 1].get("id") if index + 1 < len(items) else None
            if known.followed_by is not None and after != known.followed_by:
                yield sv.reasoning_alone(str(item_id))
            if known.reasoning_id is not None and before != known.reasoning_id:
                yield sv.reasoning_missing(str(item_id), str(known.item["type"]), known.reasoning_id)
        before = item_id


class _Pairs:
    """Running account of calls and outputs of one kind and id, over the merged list."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.outputs: Counter[tuple[str, str]] = Counter()
        self.unanswered: dict[tuple[str, str], None] = {}
        self.item_ids: dict[str, tuple[str, str]] = {}

    def call(self, kind: str, item: Json) -> None:
        key = (kind, str(item.get("call_id")))
        self.calls[key] += 1
        self.unanswered[key] = None
        if item.get("id"):
            self.item_ids[item["id"]] = key

    def output(self, kind: str, item: Json) -> Iterator[Violation]:
        key = self._answered(kind, item)
        if not self.calls[key]:
            label = KINDS[kind].label
            yield sv.no_call(label, key[1])
        elif self.outputs[key] >= self.calls[key]:
            yield sv.second_output(key[1])
        else:
            self.outputs[key] += 1
            if item.get("id") not in self.item_ids or kind == "local_shell_call":
                self.unanswered.pop(key, None)  # Under its call's own item id an output does not count as one.

    def _answered(self, kind: str, item: Json) -> tuple[str, str]:
        if kind == "local_shell_call":  # Pairs through `id`: of the call's id or its call id, both are seen.
            return self.item_ids.get(item["id"], (kind, item["id"]))
        return kind, str(item.get("call_id"))


def check_pairs(merged: list[Json]) -> Iterator[Violation]:
    """Step 9: outputs have calls (R2), one each, and calls have outputs (R1, R1b).

    Pairing is by occurrence: an output answers every open call with its id, and a later call with the same id needs a
    new output. Two calls with one id in a row may be answered by one output or by two.
    """
    pairs = _Pairs()
    for item in merged:
        row = KINDS.get(kind_of(item))
        if row is None:
            continue
        if awaits_output(item):
            pairs.call(row.type, item)
        elif row.answers is not None:
            yield from pairs.output(row.answers, item)
    for kind, call_id in pairs.unanswered:
        yield sv.no_output(KINDS[kind].label, call_id)


def check_approvals(merged: list[Json], profile: Profile) -> Iterator[Violation]:
    """Step 10: every MCP approval request is answered (R19), once, and answers name known requests."""
    requests = [item["id"] for item in merged if item.get("type") == "mcp_approval_request"]
    answers = [item["approval_request_id"] for item in merged if item.get("type") == "mcp_approval_response"]
    for number, request_id in enumerate(answers):
        if request_id not in requests:
            yield sv.item_not_found(request_id, profile.item_missing_status)
        elif request_id in answers[:number]:
            yield sv.second_approval(request_id)
    unanswered = [request_id for request_id in requests if request_id not in answers]
    if unanswered:
        yield sv.approvals_missing(unanswered)


def check_tool_lists(merged: list[Json], items: list[Json]) -> Iterator[Violation]:
    """Step 10, strict: a replayed approval request needs the tools of its server before it."""
    listed = {item["server_label"] for item in merged if item.get("type") == "mcp_list_tools"}
    for item in items:
        if item.get("type") == "mcp_approval_request" and item["server_label"] not in listed:
            yield sv.unlisted_server(str(item["server_label"]))


def check_azure(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Step 11: what only Azure hosts refuse."""
    reasoning = [item for item in items if item.get("type") == "reasoning"]
    if profile.reasoning_id_required and any(not item.get("id") for item in reasoning):
        yield sv.invalid_payload()
    if profile.single_sealed_turn:
        blobs = (unseal(str(item["encrypted_content"])) for item in reasoning if item.get("encrypted_content"))
        if len({content.response_id for content in blobs if content is not None}) > 1:
            yield sv.continuation_identities()


def check_replay(context: list[Json], items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Strict: a call of the context that is sent again, stripped of its id so that R3 does not see it."""
    if not profile.reject_call_id_replay:
        return
    known = {item["call_id"] for item in context if awaits_output(item) and "call_id" in item}
    for item in items:
        if awaits_output(item) and not item.get("id") and item.get("call_id") in known:
            yield sv.replayed_call(str(item["call_id"]))
