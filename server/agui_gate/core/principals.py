"""Principals: who acts, in which tenant, with which roles, and whose threads they work on as their own.

Theory of operation
-------------------
Two questions have two answers. *Whose is it?* is an owner: threads and approvals belong to one, and every statement of
a store names it. *Who does it?* is a principal: runs are begun, and calls decided, by one. ``acts_for`` leads from the
second to the first. For most they are the same: a plain string from ``auth`` is both.

An owner is known inside the server, and to its store, by a *key*, `owner_key`: the owner's id, behind the tenant and
`SEPARATOR` where there is a tenant. So nothing can name an owner without the tenant, and no plain string is the owner
of a tenant: ids hold no control characters. See docs/adr/0026-tenant-in-the-owners-key.md.

A *person* is who counts as one where several have to agree. One person may have several principals (two tokens, a
service account).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from agui_gate.core.approvals import SEPARATOR, Asker, Decision, Login

MAX_NAME = 500
"""Characters of an id, a tenant or a role."""

MAX_CLAIM = 200
"""Characters that are kept of what a token says of a login."""

_NOBODY: Mapping[str, Any] = MappingProxyType({})


class Principal(str):
    """Who acts: what ``auth`` may return in place of a string.

    It is its ``id`` as a string, so that code for strings goes on working, and equal to it. Two principals are equal if
    their ids and their tenants are: roles and claims don't matter for that. ``tenant``: whose users never see anything
    of another's. ``roles``: those of the server (`user`, `approver`, `auditor`, `operator`), and groups that gates may
    name. ``acts_for``: whose threads it works on as its own, in its tenant; default itself. ``claims``: what else the
    token says; of these, ``person`` names the human behind it, and ``acr``, ``amr``, ``auth_time`` and ``jti`` how they
    logged in.

    Raises ValueError for an id, a tenant or a role that is empty, too long or has control characters, and TypeError for
    what is none.
    """

    __slots__ = ("acts_for", "claims", "roles", "tenant")

    tenant: str
    roles: tuple[str, ...]
    acts_for: str | None
    claims: Mapping[str, Any]

    def __new__(
        cls,
        id: str,
        tenant: str = "",
        roles: Iterable[str] = (),
        acts_for: str | None = None,
        claims: Mapping[str, Any] = _NOBODY,
    ) -> "Principal":
        """Makes one, which can't be changed."""
        if isinstance(roles, str):
            raise TypeError("Principal(roles=…) takes a list of roles, not one string")
        if not isinstance(claims, Mapping):
            raise TypeError("Principal(claims=…) takes a mapping")
        self = super().__new__(cls, checked_name(id, "id"))
        if claims.get("person") is not None:
            checked_name(claims["person"], "person")
        fields = {
            "tenant": checked_name(tenant, "tenant") if tenant != "" else "",
            "roles": tuple(dict.fromkeys(checked_name(role, "role") for role in roles)),
            "acts_for": None if acts_for is None else checked_name(acts_for, "acts_for"),
            "claims": MappingProxyType(dict(claims)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Principal can't be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Principal can't be changed")

    def __eq__(self, other: object) -> bool:
        same = str.__eq__(self, other) if isinstance(other, str) else False
        return same is True and (not isinstance(other, Principal) or other.tenant == self.tenant)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"Principal({self.id!r}, tenant={self.tenant!r}, roles={self.roles!r}, acts_for={self.acts_for!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Principal, (self.id, self.tenant, self.roles, self.acts_for, dict(self.claims))

    @property
    def id(self) -> str:
        """The id, as a plain string."""
        return str(self)

    @property
    def person(self) -> str:
        """The human behind it: the claim ``person``, or its id."""
        person = self.claims.get("person")
        return person if isinstance(person, str) and person else self.id

    @property
    def owner(self) -> str:
        """The key of the owner whose threads it works on."""
        return owner_key(self.tenant, self.acts_for or self.id)

    @property
    def rights(self) -> tuple[str, str, frozenset[str]]:
        """What its rights follow from, besides its id. While it reads a stream, none of it may change."""
        return self.owner, self.person, frozenset(self.roles)


def checked_name(name: str, what: str) -> str:
    """Returns ``name`` as a plain string. Raises TypeError and ValueError for what can't be one."""
    if not isinstance(name, str):
        raise TypeError(f"a principal's {what} is a string")
    if not 0 < len(name) <= MAX_NAME or any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in name):
        raise ValueError(f"a principal's {what} has 1 to {MAX_NAME} characters, and no control characters")
    return str.__str__(name)  # the value, also of an enum


def as_principal(name: str) -> str:
    """Returns the principal that a plain string names, without roles; the string itself if it can't name one."""
    try:
        return Principal(name)
    except ValueError:
        return name


def owner_key(tenant: str, owner: str) -> str:
    """Returns the key of an owner."""
    return f"{tenant}{SEPARATOR}{owner}" if tenant else owner


def tenant_of(key: str) -> str:
    """Returns the tenant in an owner's key; "" where it has none."""
    return key.rpartition(SEPARATOR)[0]


class Caller(msgspec.Struct, frozen=True):
    """Who makes a request: the principal, and how they logged in and from where. ``stands`` returns whether they are
    that still, with the same rights (`http.auth.Admission.stands_now`); None where nobody can be asked.
    """

    principal: Principal
    login: Login | None = None
    stands: Callable[[], Awaitable[bool]] | None = None

    @property
    def asker(self) -> Asker:
        """Who asks, as records have it."""
        return Asker(self.principal.id, self.principal.person)

    def sign(self, decision: Decision) -> Decision:
        """Returns ``decision`` as one of theirs."""
        by = {"by": self.principal.id, "person": self.principal.person, "login": self.login}
        return msgspec.structs.replace(decision, **by)


By = Caller | None
"""Who acts; None where ``auth`` says no more than whose threads they are."""


def caller(principal: str, address: str = "") -> By:
    """Returns who makes a request. How they logged in is what their claims say of it. Claims of another type are left
    aside.
    """
    if not isinstance(principal, Principal):
        return None
    claims = principal.claims
    amr = claims.get("amr")
    methods = (amr,) if isinstance(amr, str) else amr if isinstance(amr, list | tuple) else ()
    at = claims.get("auth_time")
    login = Login(
        acr=_text(claims.get("acr")),
        amr=tuple(_text(method) for method in methods[:10] if isinstance(method, str)),
        auth_time=int(at) if isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at < 2**40 else None,
        jti=_text(claims.get("jti")),
        address=address[:100],
    )
    return Caller(principal, None if login == Login() else login)


def on_behalf(asker: Asker, owner: str) -> Caller:
    """Returns who asked, as far as a record has them: without roles, and with no claim but the person."""
    tenant, _, name = owner.rpartition(SEPARATOR)
    return Caller(Principal(asker.id, tenant, (), name, {"person": asker.person}))


def _text(value: object) -> str:
    return value[:MAX_CLAIM].encode(errors="replace").decode() if isinstance(value, str) else ""
