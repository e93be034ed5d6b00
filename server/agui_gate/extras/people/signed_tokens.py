"""Bearer tokens that an issuer has signed (JWT, RFC 7519, as RFC 9068 and RFC 8725 ask for them).

A token is taken if all of this is so, and else it is nobody's:

* its header names one of the configured algorithms, all of them asymmetric, and nothing that we'd have to understand
  (``crit``); where keys are (``jwk``, ``jku``, ``x5u``) is the settings' word alone
* it is signed by a key of the issuer, by the algorithm of that key
* ``iss`` is the issuer, ``aud`` names us, ``exp`` is there and not over, ``nbf`` and ``iat`` are not in the future,
  give or take the leeway. A token that is over stays so if the machine's clock is set back meanwhile
* its id (``jti``) is not among those that were revoked; where there is a list of these, it has an id
* ``sub`` is a name, and each claim is there that the settings read: without its tenant or its roles a token says less
  than it should, and not that there are none

Whatever goes wrong while one is read means no. Only keys that can't be had are our failure (503).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jwt
import msgspec
import structlog
from starlette.requests import Request

from agui_gate.adapter import Finding
from agui_gate.core.principals import MAX_CLAIM, Principal
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.extras.people.key_set import File, key_set, read_ids
from agui_gate.http.bearer import Bearer, OfSettings, bearer_token
from agui_gate.stores.clock import StoreClock

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings

MAX_TOKEN = 16 * 1024
"""Characters of a token. Those of large directories, with hundreds of groups, have some 10,000."""

TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""Types of tokens that say who somebody is. Others, such as a logout token, are signed by the same keys."""

WARN_SECONDS = 60.0
"""Seconds between two warnings that the issuer's clock is ahead of this machine's."""

log = structlog.get_logger("agui_gate.auth")


class Rules(msgspec.Struct, frozen=True):
    """Which tokens are taken, and where in them what stands. ``leeway`` is in seconds."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    leeway: float = 10.0
    tenant: str = ""
    roles: str = ""
    person: str = ""
    acts_for: str = ""


class SignedTokens(OfSettings):
    """An ``auth`` for tokens that are signed, and for the ``fixed`` ones of the settings."""

    def __init__(
        self, rules: Rules, place: str, fixed: Bearer | None = None, revoked: File[frozenset[str]] | None = None
    ) -> None:
        self._rules, self._place, self._fixed, self._revoked = rules, place, fixed, revoked
        self._keys = key_set(place)
        self._clock = StoreClock()
        self._warned_at = float("-inf")

    async def count_keys(self) -> int:
        """Returns how many keys of the issuer there are now. Raises `Unavailable` if they can't be had."""
        return await self._keys.count()

    def replace(self, tokens: Mapping[str, str | tuple[str, ...]]) -> None:
        """See `OfSettings`."""
        self._fixed = Bearer(tokens)

    def prepare_keys(self, place: str) -> Callable[[], None]:
        """Returns what has the issuer's keys read with the next token, from there. Raises `ConfigurationError`."""
        keys = self._keys if place == self._place else key_set(place)

        def change() -> None:
            self._keys, self._place = keys, place
            keys.renew()

        return change

    def is_current(self, name: str, jti: str) -> bool:
        """Returns whether what somebody did still counts, with the token of that id: it was not revoked since. Where
        revoked ones are listed, one of no id that can be compared counts for nothing, unless it is a fixed one. Raises
        `Unavailable`.
        """
        if self._revoked is None:
            return True
        if not jti:
            return self._fixed is not None and name in self._fixed.principals
        return len(jti) < MAX_CLAIM and jti not in self._revoked.value()

    async def __call__(self, request: Request) -> str | None:
        """Returns whose token it is, or None. Raises `Unavailable` if the issuer's keys, or the ids of revoked tokens,
        can't be had.
        """
        if self._fixed is not None and (name := self._fixed(request)) is not None:
            return name
        token = bearer_token(request)
        if token is None or len(token) > MAX_TOKEN or not token.isascii():
            return None
        try:
            header = jwt.get_unverified_header(token)
            key_id, algorithm = header.get("kid"), header.get("alg")
            is_known = _is_plain(header) and algorithm in self._rules.algorithms
        except Exception:
            return None
        key = await self._keys.find(key_id) if is_known else None
        if key is None:
            return None
        revoked = self._revoked.value() if self._revoked is not None else None
        try:
            principal = self._principal(token, key, str(algorithm))
            if revoked is not None and _name(principal.claims, "jti") in revoked:
                raise ValueError("the token was revoked")
            return principal
        except Exception as error:  # whatever it is: that is no token of the issuer
            log.debug("token_refused", why=type(error).__name__)
            if isinstance(error, jwt.ImmatureSignatureError):
                self._warn()
            return None

    def _warn(self) -> None:
        """Says that the issuer has signed a token of a time that is yet to come: all of its tokens may be refused."""
        if time.monotonic() - self._warned_at >= WARN_SECONDS:
            self._warned_at = time.monotonic()
            log.warning("clock_differs", why="a token of the issuer is from the future", leeway=self._rules.leeway)

    def _principal(self, token: str, key: dict[str, Any], algorithm: str) -> Principal:
        """Returns whose token it is. Raises whatever says that it is nobody's."""
        rules = self._rules
        if key.get("alg", algorithm) != algorithm:
            raise ValueError("the key is for another algorithm")
        claims = jwt.decode(
            token,
            jwt.PyJWK(key, algorithm),
            algorithms=[algorithm],
            audience=list(rules.audience),
            issuer=rules.issuer,
            leeway=rules.leeway,
            options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
        )
        if int(claims["exp"]) <= self._clock() / 1000 - rules.leeway:  # a clock that never goes back
            raise jwt.ExpiredSignatureError("it was over before the clock was set back")
        known = dict(claims)
        if rules.person:
            known["person"] = _name(claims, rules.person)
        else:
            known.pop("person", None)  # nobody said that this is what it means
        return Principal(
            _name(claims, "sub"),
            _name(claims, rules.tenant) if rules.tenant else "",
            _names(claims, rules.roles) if rules.roles else (),
            _name(claims, rules.acts_for) if rules.acts_for else None,
            known,
        )


def _is_plain(header: Mapping[str, Any]) -> bool:
    """Returns whether a header says nothing that we'd have to understand, and is of a token that says who somebody
    is.
    """
    kind, key_id = header.get("typ", "JWT"), header.get("kid")
    is_named = key_id is None or (isinstance(key_id, str) and 0 < len(key_id) <= 500)
    return "crit" not in header and is_named and isinstance(kind, str) and kind.lower() in TYPES


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Returns the claim of that name, or the one at that place (``realm_access.roles``). Raises `KeyError`."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found[part]
    return found


def _name(claims: Mapping[str, Any], path: str) -> str:
    name = _claim(claims, path)
    if not isinstance(name, str) or not name:
        raise ValueError("a claim is no name")
    return name


def _names(claims: Mapping[str, Any], path: str) -> Iterable[str]:
    names = _claim(claims, path)
    names = names.split() if isinstance(names, str) else names
    if not isinstance(names, list) or not names:
        raise ValueError("a claim is no list of names")
    return names


def auth_of(settings: "Settings") -> SignedTokens:
    """Returns the ``auth`` that the settings describe. Raises `ConfigurationError` if they lack something."""
    needed = {name: getattr(settings, name) for name in ("jwt_issuer", "jwt_audience", "jwt_jwks")}
    if missing := [f"AGUI_GATE_{name.upper()}" for name, value in needed.items() if not value]:
        raise ConfigurationError(f"Tokens of an issuer (JWT) also need {', '.join(missing)}.")
    rules = Rules(
        settings.jwt_issuer,
        settings.jwt_audience,
        settings.jwt_algorithms,
        settings.jwt_leeway,
        settings.jwt_tenant,
        settings.jwt_roles,
        settings.jwt_person,
        settings.jwt_acts_for,
    )
    fixed = Bearer(settings.tokens) if settings.tokens else None
    listed = settings.jwt_revoked
    revoked = File(Path(listed), read_ids, "revoked tokens", "jwt_revoked") if listed else None
    return SignedTokens(rules, settings.jwt_jwks, fixed, revoked)


async def check_keys(settings: "Settings") -> Finding:
    """Returns whether the issuer's keys can be had (for `agui-gate doctor`)."""
    place = "at its URL" if "://" in settings.jwt_jwks else "in its file"
    try:
        number = await auth_of(settings).count_keys()
    except ConfigurationError as error:
        return Finding("keys of the issuer", False, error.message, "Correct the AGUI_GATE_JWT_ settings.")
    except Unavailable:
        fix = "Nobody is let in without them. Open AGUI_GATE_JWT_JWKS from this machine: it has to answer a JWK set."
        return Finding("keys of the issuer", False, "can't be fetched", fix)
    return Finding("keys of the issuer", True, f"{number} {place}")
