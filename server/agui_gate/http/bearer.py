"""Bearer tokens of the settings, and where a request has one."""

import hmac
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings


class OfSettings(ABC):
    """An ``auth`` of the settings, whose fixed tokens others can take the place of."""

    @abstractmethod
    def replace(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        """Accepts these tokens from now on, and no others."""


class Bearer(OfSettings):
    """Auth by bearer token; ``tokens`` maps principals to theirs, one or several. Compared in constant time."""

    is_fixed = True
    """It says the same of a request whenever it is asked."""

    def __init__(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        self.replace(tokens)

    def replace(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        """See `OfSettings`."""
        every = ((name, (one,) if isinstance(one, str) else one) for name, one in tokens.items())
        self._known = [(name, token.encode()) for name, some in every for token in some]

    @property
    def principals(self) -> Collection[str]:
        """The ids of all who have a token."""
        return dict.fromkeys(name for name, _ in self._known)

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


class FileBearer(OfSettings):
    """Auth by bearer tokens that may be read again: so open streams ask whether theirs is still there."""

    def __init__(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        self._bearer = Bearer(tokens)

    def replace(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        """See `OfSettings`."""
        self._bearer.replace(tokens)

    @property
    def principals(self) -> Collection[str]:
        """See `Bearer`."""
        return self._bearer.principals

    async def __call__(self, request: Request) -> str | None:
        """See `Bearer`."""
        return self._bearer(request)


def bearer_of(settings: "Settings") -> Bearer | FileBearer:
    """Returns the auth by the tokens of the settings."""
    from agui_gate.config.sources import is_of_file

    return (FileBearer if is_of_file(settings.source("tokens")) else Bearer)(settings.tokens)


def bearer_token(request: Request) -> str | None:
    """Returns the token in a request's ``Authorization``; None without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
