"""Handlers of exceptions: each error as the one shape of docs/errors.md, ``{"error": {"code": …, "message": …}}``.

Which status an error has is said by its class (`agui_gate.errors`).
"""

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agui_gate.errors import (
    AguiGateError,
    Forbidden,
    Internal,
    InvalidRequest,
    RateLimited,
    ShuttingDown,
    Unauthorized,
    Unavailable,
)
from agui_gate.extra_loader import load

log = structlog.get_logger("agui_gate.http")

_RAISED = {
    401: Unauthorized("Authentication is required."),
    403: Forbidden("Not allowed."),
    429: RateLimited("Too many requests. Try again in a moment."),
    503: Unavailable("This is not available right now. Try again in a moment."),
}
"""The errors that an application's own auth may raise, by status. Their headers are sent along."""


def error_response(status: int, code: str, message: str) -> Response:
    """Returns an error as a JSON response of that shape."""
    return JSONResponse({"error": {"code": code, "message": message}}, status)


def status_of(error: AguiGateError) -> int:
    """HTTP status: 422 instead of 400 for what is well-formed but wrong."""
    return 422 if isinstance(error, InvalidRequest) and error.well_formed else error.status


async def on_own_error(request: Request, error: Exception) -> Response:
    """Answers an error that we raised on purpose."""
    assert isinstance(error, AguiGateError)
    response = error_response(status_of(error), error.code, error.message)
    if error.retry_after is not None:
        response.headers["retry-after"] = str(error.retry_after)
    is_failure = response.status_code >= 500 and not isinstance(error, ShuttingDown)  # a deployment is none
    if is_failure or response.status_code == 429:
        load("operations.refusal_log").log_refused(request, error, response.status_code)
    if response.status_code == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answers an `HTTPException`: Starlette raises it where there is no route, and an application's `auth` to refuse.

    Of one that has no error of ours, nothing is passed on but that the request was not understood (400).
    """
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):
        return error_response(404, "not_found", f"There is no {request.method} {request.url.path[:200]} here.")
    if (own := _RAISED.get(error.status_code)) is not None:
        response = await on_own_error(request, own)
        response.headers.update(error.headers or {})
        return response
    return error_response(400, "invalid_request", "The request could not be understood.")


async def on_bug(request: Request, error: Exception) -> Response:
    """Answers a bug of ours: the log has the details, the answer has none.

    It is answered outside of the CORS middleware, and a page of an allowed origin must be able to read it too.
    """
    log.error("request_failed", status=500, method=request.method, path=request.url.path[:200], exc_info=error)
    bug = Internal()
    response = error_response(bug.status, bug.code, bug.message)
    origin = request.headers.get("origin")
    if origin is not None and request.app.state.guard.allows_origin(origin):
        response.headers["access-control-allow-origin"] = origin
        if request.app.state.guard.allows_credentials():
            response.headers["access-control-allow-credentials"] = "true"
        response.headers["vary"] = "Origin"
    return response
