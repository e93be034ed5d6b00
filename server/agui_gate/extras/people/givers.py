"""Givers: what somebody gave to others, a standing grant or a deputy's right, ends with the right by which they did.

The server sees in tokens alone what somebody may do. So when somebody makes a request, the grants that they gave and
the deputies that they named are looked at before it is answered (`Givers.see`). Those end for which their token has no
right any more. That is a revocation (`core/grants.py`, `core/deputies.py`): no claim on any replica is made by them
from then on. Of two that see the same, or of one and a claim, the store lets one be first.

What nobody sees in a request is asked at the claim (`is_current`): whether the giver's token was revoked, and whether
they still have one where all are in the settings.
"""

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import structlog

from agui_gate.core.deputies import Deputy
from agui_gate.core.grants import MAX_STANDING, Grant
from agui_gate.core.principals import Principal, owner_key
from agui_gate.errors import Unavailable
from agui_gate.extra_loader import load
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.bearer import Bearer, FileBearer
from agui_gate.stores.lookup import takes

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings
    from agui_gate.http.auth import Auth
    from agui_gate.runs.engine import Engine

SEEN_SECONDS = 5.0
"""Seconds in which somebody with the same rights as before isn't looked up again: they may have given something on
another replica meanwhile, with another token."""
MOST_SEEN = 1_000
"""Principals of whom a process remembers that they were looked up."""

_DECIDES = frozenset({"user", "approver"})

log = structlog.get_logger("agui_gate.gates")


class Givers:
    """Those who make requests of one server, as far as they have given grants or named deputies."""

    def __init__(self, engine: "Engine", auth: "Auth | None") -> None:
        self._engine, self._auth = engine, auth
        self._seen: dict[tuple[str, str], tuple[Any, float]] = {}
        _GIVERS[engine.store] = ref(self)

    async def see(self, who: Principal) -> None:
        """Ends what somebody gave by a right that they don't have any more. Raises `Unavailable`: then that is not
        known, and the next request asks again.
        """
        name, rights, now = (who.tenant, who.id), who.rights, time.monotonic()
        before, until = self._seen.get(name, (None, 0.0))
        if before == rights and now < until:
            return
        await self._engine.start()
        await _end_grants(self._engine.store, who)
        await _end_deputies(self._engine.store, who)
        self._seen.pop(name, None)
        if len(self._seen) >= MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[name] = rights, now + SEEN_SECONDS

    def counts(self, given: Grant | Deputy) -> bool:
        """Returns whether the login still counts with which somebody gave that. What can't be known doesn't."""
        if isinstance(given, Deputy):
            name, jti = given.absent, given.jti
        else:
            name, jti = given.giver, given.login.jti if given.login else ""
        if isinstance(self._auth, Bearer | FileBearer):
            return name in self._auth.principals
        check = getattr(self._auth, "is_current", None)
        try:
            return check is None or check(name, jti) is True
        except Unavailable:
            return False


_GIVERS: WeakKeyDictionary[Any, ref[Givers]] = WeakKeyDictionary()
"""By the store of their server: what a run knows of that."""


def check_logins(engine: "Engine", settings: "Settings") -> None:
    """Has logins checked as the settings say, in a process that serves nobody. Raises `ConfigurationError`."""
    auth: Any = None
    if settings.jwt_revoked and settings.signed_tokens:
        auth = load("people.signed_tokens").auth_of(settings)
    elif settings.tokens and not settings.signed_tokens:
        auth = Bearer(settings.tokens)
    if auth is not None:
        engine.givers = Givers(engine, auth)  # type: ignore[attr-defined]  # it lives as long as that


def is_current(store: Any, given: Grant | Deputy) -> bool:
    """Returns whether the login still counts with which somebody gave that, as far as this server's settings say."""
    found = _GIVERS.get(store)
    givers = None if found is None else found()
    return givers is None or givers.counts(given)


def roles_of(given: Grant | Deputy) -> tuple[str, ...]:
    """Returns the roles by which somebody gave that: without one of these it ends. A deputy has all of theirs."""
    by_roles = None if isinstance(given, Deputy) else given.by_roles
    return given.roles if by_roles is None else by_roles


def lost(given: Grant | Deputy, who: Principal) -> str:
    """Returns what the giver can't do any more, of what it stands by; "" if they can."""
    if not _DECIDES & rights_of(who):
        return "may decide nothing any more"
    needed = roles_of(given)
    gone = [role for role in needed if role not in who.roles]
    if gone:
        return f"has lost the role {gone[0]}"
    if isinstance(given, Grant) and not needed and given.is_owners and who.owner != given.owner:
        return "acts for another owner by now"
    return ""


async def _end_grants(store: Any, who: Principal) -> None:
    """Ends the grants that somebody gave by a right that they have lost."""
    if not hasattr(store, "grants"):
        return
    key = owner_key(who.tenant, who.id)
    found = await store.grants("giver", key)
    while ended := [(grant, why) for grant in found if (why := lost(grant, who))]:
        for grant, why in ended:
            await _end(store, grant, f"the giver {why}")
        if len(found) < MAX_STANDING:
            break
        found = await store.grants("giver", key)


async def _end(store: Any, grant: Grant, why: str) -> None:
    """Ends a grant, unless somebody else has done so. A store of somebody else's may know no reasons."""
    said = {"why": why} if takes(store.revoke_grant, "why") else {}
    if await store.revoke_grant(grant.id, "", **said):
        log.warning("grant_ended", grant=grant.id, tool=grant.tool, why=why)


async def _end_deputies(store: Any, who: Principal) -> None:
    """Ends the deputies that somebody named by a right that they have lost. There are up to `MAX_OF_ONE`."""
    if not hasattr(store, "deputies"):
        return
    deputies = store.deputies()
    for one in await deputies.find("absent", who.tenant, who.id):
        if why := lost(one, who):
            said = {"why": f"{who.id} {why}"} if takes(deputies.remove, "why") else {}
            if await deputies.remove(one.id, "", "", **said):
                log.warning("deputy_ended", deputy=one.id, why=why)
