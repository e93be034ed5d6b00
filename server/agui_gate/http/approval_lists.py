"""Records that a page names: `GET /approvals?id=…&id=…`."""

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from agui_gate.errors import InvalidRequest
from agui_gate.http.approval_cards import number_fitting
from agui_gate.http.threads import MAX_PAGE
from agui_gate.http.views import compressed, json_response, listed_view, tombstone_view, with_freezes
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
        is_id = 0 < len(approval_id) <= MAX_ID and approval_id.isprintable()
        approval = await routes.find(request, principal, approval_id) if is_id else None
        if approval is not None:
            found.append(approval)
        else:
            record = await what_is_left(engine.store, principal, approval_id) if is_id else None
            gone.append({"id": approval_id, "record": record})
    if is_cards:
        views = await routes.cards(request, principal, found)
    else:
        views = [listed_view(approval, engine.members) for approval in found]
    number = number_fitting(views)
    views = await with_freezes(engine.store, found[:number], views[:number])
    return await compressed(request, json_response({"approvals": views, "gone": gone}))


async def what_is_left(store: Store, principal: str, approval_id: str) -> dict[str, Any] | None:
    """Returns what is kept of a call whose thread was deleted; None if nothing is."""
    tombstones = capabilities(store).tombstones
    left = await tombstones.tombstones(principal, approval_id=approval_id) if tombstones else []
    return tombstone_view(left[0]) if left else None
