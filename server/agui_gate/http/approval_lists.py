"""Records as lists have them: those that a page names (`GET /approvals?id=…&id=…`), and which are frozen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from agui_gate.core.approvals import Approval
from agui_gate.errors import InvalidRequest
from agui_gate.http.approval_cards import number_fitting
from agui_gate.http.threads import MAX_PAGE
from agui_gate.http.views import compressed, json_response, listed_view, tombstone_view
from agui_gate.protocol.run_input import MAX_ID
from agui_gate.stores.base import Store
from agui_gate.stores.lookup import capabilities

if TYPE_CHECKING:
    from agui_gate.http.approvals import ApprovalRoutes
    from agui_gate.runs.engine import Engine


async def read_records(
    routes: "ApprovalRoutes", engine: "Engine", request: Request, principal: str, is_cards: bool
) -> Response:
    """Answers with ``approvals``, in the order in which they were named, and ``gone``: those that are not there, or not
    for this principal, with what is kept of a deleted one. An id that is in neither didn't fit into the answer.

    Raises `InvalidRequest` for more than `MAX_PAGE` ids.
    """
    ids = dict.fromkeys(request.query_params.getlist("id"))
    if len(ids) > MAX_PAGE:
        raise InvalidRequest(f"A request names at most {MAX_PAGE} ids.", well_formed=True)
    found, gone = [], []
    for approval_id in ids:
        if approval := await routes.find(request, principal, approval_id) if _is_id(approval_id) else None:
            found.append(approval)
        else:
            gone.append({"id": approval_id, "record": await _what_is_left(engine, principal, approval_id)})
    if is_cards:
        views = await routes.cards(request, principal, found)
    else:
        views = [listed_view(approval, engine.members) for approval in found]
    number = number_fitting(views)
    views = await with_freezes(engine.store, found[:number], views[:number])
    return await compressed(request, json_response({"approvals": views, "gone": gone}))


async def with_freezes(
    store: Store, approvals: Sequence[Approval], views: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the views, with ``frozen`` in those of calls that wait and that nobody can let go now."""
    read = getattr(store, "freezes", None)
    if read is None or not any(approval.is_pending for approval in approvals):
        return views
    freezes = await read()
    words = [[one.words for one in freezes if approval.is_pending and one.is_about(approval)] for approval in approvals]
    return [view | {"frozen": said[0]} if said else view for view, said in zip(views, words, strict=True)]


async def _what_is_left(engine: "Engine", principal: str, approval_id: str) -> dict[str, Any] | None:
    tombstones = capabilities(engine.store).tombstones
    if tombstones is None or not _is_id(approval_id):
        return None
    left = await tombstones.tombstones(principal, approval_id=approval_id)
    return tombstone_view(left[0]) if left else None


def _is_id(text: str) -> bool:
    return 0 < len(text) <= MAX_ID and text.isprintable()
