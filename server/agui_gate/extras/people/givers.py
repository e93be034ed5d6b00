"""Givers: the standing grants of somebody end with the right by which they gave them.

The server sees in tokens alone what somebody may do. So when somebody makes a request, the grants that they gave are
looked at before it is answered (`Givers.see`). Those end for which their token has no right any more. That is a
revocation (`core/grants.py`): no claim on any replica is made by them from then on. Of two that see the same, or of one
and a claim, the store lets one be first.

What nobody sees in a request is asked at the claim (`is_current`): whether the giver's token was revoked, and whether
they still have one where all are in the settings.
"""

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import structlog

from agui_gate.core.grants import MAX_STANDING, Grant
from agui_gate.core.principals import Principal, owner_key
from agui_gate.errors import Unavailable
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.bearer import Bearer, FileBearer
from agui_gate.stores.lookup import takes

if TYPE_CHECKING:
    from agui_gate.http.auth import Auth
    from agui_gate.runs.engine import Engine

SEEN_SECONDS = 5.0
"""Seconds in which somebody with the same rights as before isn't looked up again: they may have given a grant on
another replica meanwhile, with another token."""
MOST_SEEN = 1_000
"""Principals of whom a process remembers that they were looked up."""

_DECIDES = frozenset({"user", "approver"})

log = structlog.get_logger("agui_gate.gates")


class Givers:
    """Those who make requests of one server, as far as they have given grants."""

    def __init__(self, engine: "Engine", auth: "Auth | None") -> None:
        self._engine, self._auth = engine, auth
        self._seen: dict[tuple[str, str], tuple[Any, float]] = {}
        _GIVERS[engine.store] = ref(self)

    async def see(self, who: Principal) -> None:
        """Ends the grants that somebody gave by a right that they don't have any more. Raises `Unavailable`: then that
        is not known, and the next request asks again.
        """
        name, rights, now = (who.tenant, who.id), who.rights, time.monotonic()
        before, until = self._seen.get(name, (None, 0.0))
        store: Any = self._engine.store
        if (before == rights and now < until) or not hasattr(store, "grants"):
            return
        await self._engine.start()
        found = await store.grants("giver", owner_key(*name))
        while ended := [(grant, why) for grant in found if (why := lost(grant, who))]:
            for grant, why in ended:
                await _end(store, grant, f"the giver {why}")
            if len(found) < MAX_STANDING:
                break
            found = await store.grants("giver", owner_key(*name))
        self._seen.pop(name, None)
        if len(self._seen) >= MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[name] = rights, now + SEEN_SECONDS

    def counts(self, grant: Grant) -> bool:
        """Returns whether the login still counts with which a grant was given. What can't be known doesn't."""
        if isinstance(self._auth, Bearer | FileBearer):
            return grant.giver in self._auth.principals
        check = getattr(self._auth, "is_current", None)
        try:
            return check is None or check(grant.giver, grant.login.jti if grant.login else "") is True
        except Unavailable:
            return False


_GIVERS: WeakKeyDictionary[Any, ref[Givers]] = WeakKeyDictionary()
"""By the store of their server: what a run knows of that."""


def is_current(store: Any, grant: Grant) -> bool:
    """Returns whether the login still counts with which a grant was given, as far as this server's settings say."""
    found = _GIVERS.get(store)
    givers = None if found is None else found()
    return givers is None or givers.counts(grant)


def lost(grant: Grant, who: Principal) -> str:
    """Returns what the giver of a grant can't do any more, of what it stands by; "" if they can."""
    if not _DECIDES & rights_of(who):
        return "may decide nothing any more"
    needed = grant.roles if grant.by_roles is None else grant.by_roles
    gone = [role for role in needed if role not in who.roles]
    if gone:
        return f"has lost the role {gone[0]}"
    if not needed and grant.is_owners and who.owner != grant.owner:
        return "acts for another owner by now"
    return ""


async def _end(store: Any, grant: Grant, why: str) -> None:
    """Ends a grant, unless somebody else has done so. A store of somebody else's may know no reasons."""
    said = {"why": why} if takes(store.revoke_grant, "why") else {}
    if await store.revoke_grant(grant.id, "", **said):
        log.warning("grant_ended", grant=grant.id, tool=grant.tool, why=why)
