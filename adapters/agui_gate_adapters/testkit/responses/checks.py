"""Every rule the emulated Responses API holds a request to, in its order, without any I/O.

`check_request` is what the HTTP routes use, and it is just as usable on an adapter's outgoing body in a unit test:

    state = ProviderState()
    assert check_request(state, {"model": "m", "input": "hello"}) == []

It returns every violation of the first step that has any, in order; the first of them is what the API would answer.
Later steps are not run then, since they may rely on what the earlier one guarantees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.kinds import HOSTED, KINDS, awaits_output, kind_of
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.responses import violations as sv
from agui_gate_adapters.testkit.responses.body_checks import (
    check_envelope,
    check_fields,
    check_tool_choice,
    check_tools,
    check_types,
)
from agui_gate_adapters.testkit.responses.encrypted_reasoning import unseal
from agui_gate_adapters.testkit.responses.item_checks import check_history_names, check_items, check_media
from agui_gate_adapters.testkit.responses.profiles import PROFILES, Profile
from agui_gate_adapters.testkit.responses.state import ProviderState, StoredResponse
from agui_gate_adapters.testkit.wire import Json

# Steps 4 to 6: what the request refers to. State fields first, then emptiness, then items by id and sealed blobs.


def conversation_id(body: Json) -> str | None:
    """Return the conversation the body names, as a string or as `{"id": …}`."""
    named = body.get("conversation")
    if isinstance(named, dict):
        named = named.get("id")
    return None if named is None else str(named)


def check_continuation(state: ProviderState, body: Json, profile: Profile) -> Iterator[Violation]:
    """Checks step 4: zero retention, both fields, the conversation and its lock, the previous response."""
    previous, conversation = body.get("previous_response_id"), conversation_id(body)
    if profile.continuation == "refused" and previous is not None:
        yield sv.no_continuation("previous_response_id")
    if profile.zdr and previous is not None:
        yield sv.zero_retention("previous_response_id")
    if profile.zdr and conversation is not None:
        yield sv.zero_retention("conversation")
    if previous is not None and conversation is not None:
        yield sv.exclusive_state()
    if conversation is not None:
        found = state.conversations.get(conversation)
        if found is None:
            yield sv.conversation_not_found(conversation, profile.conversation_param)
        elif found.locked_by is not None:
            yield v.conversation_locked()
    parent = None if previous is None else state.parent(previous)
    if previous is not None and parent is None:
        yield sv.previous_not_found(previous)
    if parent is not None and _too_late(state, parent, profile):
        yield sv.outputs_too_late()


def _too_late(state: ProviderState, parent: StoredResponse, profile: Profile) -> bool:
    """Say whether the response waits for something and has stopped waiting."""
    window = profile.output_window_seconds
    waits = any(awaits_output(i) or kind_of(i) == "mcp_approval_request" for i in parent.response["output"])
    return window is not None and waits and state.clock.now() - parent.created_at > window


def check_emptiness(body: Json) -> Iterator[Violation]:
    """Checks step 5: R12."""
    if not body["input"] and not any(body.get(f) for f in ("previous_response_id", "conversation", "prompt")):
        yield sv.nothing_to_answer()


def check_references(state: ProviderState, items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Checks step 6: references, hosted items and bare reasoning must be in the store (R9)."""
    for item in items:
        item_id = item.get("id")
        if item_id is None or not _needs_store(item):
            continue
        known = state.issued.get(item_id)
        if known is None:
            yield sv.item_not_found(item_id, profile.item_missing_status)
        elif not known.stored:
            yield sv.item_not_persisted(item_id, profile.item_missing_status, profile.zdr)


def _needs_store(item: Json) -> bool:
    kind = kind_of(item)
    if kind == "reasoning":
        return not item.get("encrypted_content")
    return kind == "item_reference" or (
        kind in HOSTED and kind != "mcp_list_tools"
    )  # A list of tools is its own value.


def check_sealed(items: list[Json], model: str) -> Iterator[Violation]:
    """Checks step 6: an encrypted blob must be whole and belong to this item id and this model (R18)."""
    for item in items:
        blob = item.get("encrypted_content")
        if not isinstance(blob, str) or kind_of(item) != "reasoning":
            continue
        content = unseal(blob)
        if content is None or not content.finished or content.model != model:
            yield sv.blob_unverifiable(blob)
        elif item.get("id") not in (None, content.item_id):
            yield sv.blob_of_another_item(str(item["id"]))


# Steps 7 to 11: rules over the merged list, context first and then input.
#
# The merged list is what the model would see. The context part was legal when it was made, so the rules about ids look
# only at the input against it. The rules about pairs look at everything: a call that nobody answered is found again
# there on every later request.


def check_duplicates(context: list[Json], items: list[Json]) -> Iterator[Violation]:
    """Checks step 7: no item id twice, references included (R3)."""
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
    """Checks step 8: reasoning groups are complete or absent (R4, R5), for ids that the store can resolve."""
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
    """Checks step 9: outputs have calls (R2), one each, and calls have outputs (R1, R1b).

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
    """Checks step 10: MCP approval requests are answered (R19), once, and answers name known requests."""
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
    """Checks step 10, strict: a replayed approval request needs the tools of its server before it."""
    listed = {item["server_label"] for item in merged if item.get("type") == "mcp_list_tools"}
    for item in items:
        if item.get("type") == "mcp_approval_request" and item["server_label"] not in listed:
            yield sv.unlisted_server(str(item["server_label"]))


def check_azure(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Checks step 11: what only Azure hosts refuse."""
    reasoning = [item for item in items if item.get("type") == "reasoning"]
    if profile.reasoning_id_required and any(not item.get("id") for item in reasoning):
        yield sv.invalid_payload()
    if profile.single_sealed_turn:
        blobs = (unseal(str(item["encrypted_content"])) for item in reasoning if item.get("encrypted_content"))
        if len({content.response_id for content in blobs if content is not None}) > 1:
            yield sv.continuation_identities()


def check_replay(context: list[Json], items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Checks, strict, for calls of the context that are sent again without id, so that R3 doesn't find them."""
    if not profile.reject_call_id_replay:
        return
    known = {item["call_id"] for item in context if awaits_output(item) and "call_id" in item}
    for item in items:
        if awaits_output(item) and not item.get("id") and item.get("call_id") in known:
            yield sv.replayed_call(str(item["call_id"]))


def check_request(
    state: ProviderState,
    body: Json,
    profile: Profile = PROFILES["openai"],
    *,
    models: frozenset[str] | None = None,
) -> list[Violation]:
    """Return what the API would refuse about `POST /responses` with this body; an empty list means accepted.

    Nothing is changed: neither `state` nor `body`.
    """
    return next((found for found in map(list, _steps(state, body, profile, models)) if found), [])


def context_of(state: ProviderState, body: Json) -> list[Json]:
    """Return the items that the request continues from; empty without a state field or with an unknown one."""
    conversation = conversation_id(body)
    if conversation is not None:
        found = state.conversations.get(conversation)
        return [] if found is None else found.items
    previous = state.parent(str(body.get("previous_response_id")))
    return [] if previous is None else previous.context


def input_items(body: Json) -> list[Json]:
    """Return the input as a list of items; a string is one user message."""
    given = body["input"]
    if not isinstance(given, str):
        return list(given)
    return [{"type": "message", "role": "user", "content": given}] if given else []


def _steps(
    state: ProviderState, body: Json, profile: Profile, models: frozenset[str] | None
) -> Iterator[Iterator[Violation]]:
    """Yield the steps lazily, so that each runs only after the one before it found nothing."""
    yield check_envelope(body, models)
    yield check_types(body)
    yield check_fields(body)
    given, tools = body["input"], body.get("tools") or []
    yield chain(
        check_items(given, profile) if isinstance(given, list) else iter(()),
        check_tools(tools, profile),
        check_tool_choice(body.get("tool_choice"), tools),
    )
    yield chain(check_media(input_items(body), profile), check_history_names(input_items(body), profile))
    yield check_continuation(state, body, profile)
    yield check_emptiness(body)
    items, context = input_items(body), context_of(state, body)
    yield check_references(state, items, profile)
    yield check_sealed(items, str(body["model"]))
    yield check_duplicates(context, items)
    yield check_reasoning(state, context, items, profile)
    yield check_replay(context, items, profile)
    merged = context + resolved(state, items)
    yield check_pairs(merged)
    yield chain(check_approvals(merged, profile), check_tool_lists(merged, items))
    yield check_azure(items, profile)


def resolved(state: ProviderState, items: list[Json]) -> list[Json]:
    """Replace references by the items that they name."""
    return [state.issued[item["id"]].item if item.get("type") == "item_reference" else item for item in items]
