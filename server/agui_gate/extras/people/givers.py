"""Givers: what somebody gave to others, a standing grant or a deputy's right, ends with the right by which they did.

The server sees in tokens alone what somebody may do. So when somebody makes a request, the grants that they gave and
the deputies that they named are looked at before it is answered (`Givers.see`). Those end for which their token has no
right any more. That is a revocation (`core/grants.py`, `core/deputies.py`): no claim on any replica is made by them
from then on. Of two that see the same, or of one and a claim, the store lets one be first. Nothing of it is remembered
between two requests: meanwhile they may have given something on another replica, with another token.

What nobody sees in a request is asked in the claim's transaction (`Counts`): whether the giver's token was revoked, and
whether they still have one where all are in the settings.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import structlog

from agui_gate.core.deputies import Deputy
from agui_gate.core.grants import MAX_STANDING, Grant
from agui_gate.core.principals import By, Principal, owner_key
from agui_gate.core.terms import Counts, every_login_counts
from agui_gate.errors import Unauthorized, Unavailable
from agui_gate.extra_loader import load
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.bearer import Bearer, FileBearer
from agui_gate.stores.lookup import takes

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings
    from agui_gate.http.auth import Auth
    from agui_gate.runs.engine import Engine

_DECIDES = frozenset({"user", "approver"})

log = structlog.get_logger("agui_gate.gates")


class Givers:
    """Those who make requests of one server, as far as they have given grants or named deputies."""

    def __init__(self, engine: "Engine", auth: "Auth | None") -> None:
        self._engine, self._auth = engine, auth
        _GIVERS[engine.store] = ref(self)

    async def see(self, who: Principal) -> None:
        """Ends what somebody gave by a right that they don't have any more. Raises `Unavailable`: then that is not
        known, and the next request asks again.
        """
        await self._engine.start()
        store: Any = self._engine.store
        named: Any = store.deputies() if hasattr(store, "deputies") else None
        if hasattr(named, "given_by"):
            grants, deputies = await named.given_by(who.tenant, who.id)
        else:
            grants = await store.grants("giver", owner_key(who.tenant, who.id)) if hasattr(store, "grants") else ()
            deputies = () if named is None else await named.find("absent", who.tenant, who.id)
        await _end_grants(store, who, grants)
        await _end_deputies(named, who, deputies)

    def counts(self, name: str, jti: str) -> bool:
        """Returns whether a login still counts: of the principal of that id, by the token of that id. What can't be
        known doesn't.
        """
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


def counts_of(store: Any) -> Counts:
    """Returns what says whether logins still count, as far as the settings of this store's server say."""
    found = _GIVERS.get(store)
    givers = None if found is None else found()
    return every_login_counts if givers is None else givers.counts


def is_current(store: Any, given: Grant | Deputy) -> bool:
    """Returns whether the login still counts with which somebody gave that."""
    return counts_of(store)(*given.given_with)


async def check_caller(by: By) -> None:
    """Raises `Unauthorized` if who makes a request is nobody any more by its token, or has other rights than when it
    came. What was asked for may have waited meanwhile, for its thread or for a function of the gate.
    """
    if by is not None and by.stands is not None and not await by.stands():
        raise Unauthorized("Your token is no longer valid, or it has other rights by now.")


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


async def _end_grants(store: Any, who: Principal, found: Sequence[Grant]) -> None:
    """Ends those grants that somebody gave by a right that they have lost. ``found``: the first of theirs."""
    while ended := [(grant, why) for grant in found if (why := lost(grant, who))]:
        for grant, why in ended:
            await _end(store, grant, f"the giver {why}")
        if len(found) < MAX_STANDING:
            break
        found = await store.grants("giver", owner_key(who.tenant, who.id))


async def _end(store: Any, grant: Grant, why: str) -> None:
    """Ends a grant, unless somebody else has done so. A store of somebody else's may know no reasons."""
    said = {"why": why} if takes(store.revoke_grant, "why") else {}
    if await store.revoke_grant(grant.id, "", **said):
        log.warning("grant_ended", grant=grant.id, tool=grant.tool, why=why)


async def _end_deputies(deputies: Any, who: Principal, found: Sequence[Deputy]) -> None:
    """Ends those deputies that somebody named by a right that they have lost. There are up to `MAX_OF_ONE`."""
    for one in found:
        if why := lost(one, who):
            said = {"why": f"{who.id} {why}"} if takes(deputies.remove, "why") else {}
            if await deputies.remove(one.id, "", "", **said):
                log.warning("deputy_ended", deputy=one.id, why=why)
