"""The files that settings came from, read again while the server runs: for SIGHUP.

What counts at once are the tokens, the level of the log, the keys of the audit trail, the secrets of webhooks, and the
keys by which an issuer signs tokens: they are fetched again. A key that isn't named any more counts no more.
Anything else that has changed counts at the next start, which the log says. A file that can't be read, or says what
can't be, changes nothing.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import structlog

from agui_gate.cli.server.plan import Plan, Ready
from agui_gate.cli.target import states_of
from agui_gate.config.settings import load_settings, names
from agui_gate.config.sources import is_of_file
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
        try:
            new, old = load_settings(self._plan.config, options=self._plan.options), self._settings
            if old.tokens and not new.tokens:
                raise ConfigurationError("There are no tokens any more, so nobody would be let in.")
            keys = load("audit.keys").read_keys(new) if new.audit_key or new.audit_key_file else None
            endpoints = load("notices.endpoints").read_endpoints(new.webhooks) if new.webhooks else ()
            auths: list[Any] = [state.guard.auth for state in states_of(self._app)]
            checks = [one for one in auths if isinstance(one, OfSettings)]
            for check in checks:
                if hasattr(check, "renew_keys"):
                    check.renew_keys(new.jwt_jwks)
        except ConfigurationError as error:
            log.error("settings_not_read", why=error.message, means="All settings stay as they were.")
            return
        changed = [name for name in names() if getattr(new, name) != getattr(old, name)]
        at_once = AT_ONCE
        if "tokens" in changed:
            for check in checks:
                check.replace(new.tokens)
            at_once = AT_ONCE if checks else AT_ONCE - {"tokens"}  # it began without any, or asks the application
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


async def _replace_keys(stores: list[Any], keys: Any, before: "asyncio.Task[None] | None") -> None:
    """Replaces them, if they are others, behind those that are being replaced; and logs one line about it."""
    if before is not None:
        await asyncio.wait([before])
    others = [store for store in stores if store.trail.keys.ids != keys.ids]
    if not others:
        return
    try:
        for store in others:
            await load("audit.keys").replace_keys(store, keys)
    except AguiGateError as error:
        log.error("settings_not_read", why=error.message, means="The audit trail is signed by the keys of before.")
        return
    log.warning("settings_read", changed="audit_key", means=f"The audit trail is signed by the key {keys.current}.")
