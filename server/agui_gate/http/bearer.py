"""Bearer tokens of the settings, and where a request has one."""

import hmac
from collections.abc import Mapping

from starlette.requests import Request


class Bearer:
    """Auth by bearer token; ``tokens`` maps principals to theirs, one or several. Compared in constant time."""

    is_fixed = True
    """It says the same of a request whenever it is asked."""

    def __init__(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        every = ((name, (one,) if isinstance(one, str) else one) for name, one in tokens.items())
        self._known = [(name, token.encode()) for name, some in every for token in some]

    def __call__(self, request: Request) -> str | None:
        """Returns the principal whose token it is, or None."""
        if (token := bearer_token(request)) is None:
            return None
        offered = token.encode("latin-1")  # the bytes as they came
        found = None
        for principal, secret in self._known:  # all of them, so that time tells nothing
            if hmac.compare_digest(secret, offered):
                found = principal
        return found


def bearer_token(request: Request) -> str | None:
    """Returns the token in a request's ``Authorization``; None without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
