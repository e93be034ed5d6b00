"""The files that settings came from, read again while the server runs: for SIGHUP.

What counts at once are the tokens, the level of the log, the keys of the audit trail, the secrets of webhooks, and the
keys by which an issuer signs tokens: they are fetched again. A key that isn't named any more counts no more.
Connections to the store and to the bus that are opened later have the new user and password; those that are open stay.
Anything else that has changed counts at the next start, which the log says. A file that can't be read, or says what
can't be, changes nothing, in no application of the process: all is read and checked before anything is changed.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import structlog

from agui_gate.cli.server.logins import prepare_logins
from agui_gate.cli.server.plan import Plan, Ready
from agui_gate.cli.target import states_of
from agui_gate.config.settings import Settings, load_settings, names
from agui_gate.config.sources import Unended, is_of_file
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.extra_loader import load
from agui_gate.http.bearer import OfSettings

AT_ONCE = frozenset({"tokens", "log_level", "jwt_jwks"})

log = structlog.get_logger("agui_gate.settings")


class SettingsFiles:
    """The files behind the settings with which a server was started."""

    def __init__(self, plan: Plan, ready: Ready) -> None:
        self._plan, self._app, self._settings = plan, ready.app, ready.settings
        self._replacing: asyncio.Task[None] | None = None

    @property
    def are_some(self) -> bool:
        """True if settings came from files."""
        of_files = any(map(is_of_file, self._settings.sources.values()))
        named = self._settings.audit_key_file, self._settings.jwt_jwks, self._settings.webhooks
        return self._plan.config is not None or of_files or any(one and isinstance(one, str) for one in named)

    def read_again(self) -> None:
        """Reads them again, and logs one line about it. Raises nothing."""
        states, old = states_of(self._app), self._settings
        try:
            new = load_settings(self._plan.config, options=self._plan.options)
            _check_tokens(old, new)
            keys = load("audit.keys").read_keys(new) if new.audit_key or new.audit_key_file else None
            endpoints = load("notices.endpoints").read_endpoints(new.webhooks) if new.webhooks else ()
            auths: list[Any] = [state.guard.auth for state in states]
            checks = [one for one in auths if isinstance(one, OfSettings)]
            changes = [one.prepare_keys(new.jwt_jwks) for one in checks if hasattr(one, "prepare_keys")]
            logins, at_once = prepare_logins(states, old, new)
        except ConfigurationError as error:
            log.error("settings_not_read", why=error.message, means="All settings stay as they were.")
            return
        for change in (*changes, *logins):  # nothing is refused from here on
            change()
        at_once |= AT_ONCE
        changed = [name for name in names() if getattr(new, name) != getattr(old, name)]
        if "tokens" in changed:
            for check in checks:
                check.replace(new.tokens)
            at_once -= set() if checks else {"tokens"}  # it began without any, or asks the application
        if "log_level" in changed:
            logging.getLogger().setLevel(logging.getLevelNamesMapping()[new.log_level.upper()])
        if self._replace_keys(keys):
            at_once |= {"audit_key", "audit_key_file"}
        found = self._replace_secrets(endpoints)
        if found and "webhooks" not in changed:  # they are in a file of their own
            changed.append("webhooks")
        at_once |= {"webhooks"} if False not in found else set()
        self._settings = new
        later = [name for name in changed if name not in at_once]
        more = {"means": f"These count at the next start: {', '.join(later)}."} if later else {}
        log.warning("settings_read", changed=",".join(changed) or "nothing", **more)

    def _replace_secrets(self, endpoints: Sequence[Any]) -> set[bool]:
        """Has webhooks signed by the secrets of these ``endpoints``. Returns whether nothing else of them has changed,
        for each application; nothing where they are as they were.
        """
        extensions = [one for state in states_of(self._app) for one in state.engine.extensions.all]
        notices: list[Any] = [one for one in extensions if hasattr(one, "replace_secrets")]
        if not notices:
            return {False} if endpoints else set()
        return {found for one in notices if (found := one.replace_secrets(endpoints)) is not None}

    def _replace_keys(self, keys: Any) -> bool:
        """Has the trails that are signed be signed by ``keys``. Returns whether there is such a trail, and a key for
        it: signing begins and ends with a start.
        """
        stores = [state.engine.store for state in states_of(self._app)]
        signed = [store for store in stores if getattr(getattr(store, "trail", None), "keys", None) is not None]
        if keys is not None and signed:
            before = self._replacing
            self._replacing = asyncio.get_running_loop().create_task(_replace_keys(signed, keys, before))
        return bool(signed) and keys is not None


def _check_tokens(old: Settings, new: Settings) -> None:
    """Raises `ConfigurationError` for tokens that let nobody in, and for new ones of a file that may be half written:
    the beginning of a token would be a token.
    """
    if old.tokens and not new.tokens:
        raise ConfigurationError("There are no tokens any more, so nobody would be let in.")
    if isinstance(new.source("tokens"), Unended) and _pairs(new) - _pairs(old):
        raise ConfigurationError(
            "There are new tokens, and the file may be half written: its last line has no end. Put a line end there."
        )


def _pairs(settings: Settings) -> set[tuple[str, str]]:
    every = ((name, (one,) if isinstance(one, str) else one) for name, one in settings.tokens.items())
    return {(name, token) for name, some in every for token in some}


async def _replace_keys(stores: list[Any], keys: Any, before: "asyncio.Task[None] | None") -> None:
    """Replaces them, if they are others, behind those that are being replaced; and logs one line about it."""
    if before is not None:
        await asyncio.wait([before])
    others = [store for store in stores if store.trail.keys.ids != keys.ids]
    if not others:
        return
    kept = [store.trail.keys for store in others]
    try:
        for store in others:
            await load("audit.keys").replace_keys(store, keys)
    except AguiGateError as error:
        for store, of_before in zip(others, kept, strict=True):  # all of them, or none
            store.trail.keys = of_before
        log.error("settings_not_read", why=error.message, means="The audit trail is signed by the keys of before.")
        return
    log.warning("settings_read", changed="audit_key", means=f"The audit trail is signed by the key {keys.current}.")
