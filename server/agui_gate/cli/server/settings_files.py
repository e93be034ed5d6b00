"""The files that settings came from, read again while the server runs: for SIGHUP.

What counts at once are the tokens and the level of the log. Anything else that has changed counts at the next start,
which the log says. A file that can't be read, or says what can't be, changes nothing.
"""

import logging

import structlog

from agui_gate.cli.server.plan import Plan, Ready
from agui_gate.cli.target import states_of
from agui_gate.config.settings import load_settings, names
from agui_gate.config.sources import is_of_file
from agui_gate.errors import ConfigurationError

AT_ONCE = frozenset({"tokens", "log_level"})

log = structlog.get_logger("agui_gate.settings")


class SettingsFiles:
    """The files behind the settings with which a server was started."""

    def __init__(self, plan: Plan, ready: Ready) -> None:
        self._plan, self._app, self._settings = plan, ready.app, ready.settings

    @property
    def are_some(self) -> bool:
        """True if settings came from files."""
        return self._plan.config is not None or any(map(is_of_file, self._settings.sources.values()))

    def read_again(self) -> None:
        """Reads them again, and logs one line about it. Raises nothing."""
        try:
            new, old = load_settings(self._plan.config, options=self._plan.options), self._settings
            if old.tokens and not new.tokens:
                raise ConfigurationError("There are no tokens any more, so nobody would be let in.")
        except ConfigurationError as error:
            log.error("settings_not_read", why=error.message, means="All settings stay as they were.")
            return
        changed = [name for name in names() if getattr(new, name) != getattr(old, name)]
        at_once = AT_ONCE
        if "tokens" in changed:
            checks = [state.guard.auth for state in states_of(self._app) if hasattr(state.guard.auth, "replace")]
            for check in checks:
                check.replace(new.tokens)
            at_once = AT_ONCE if checks else AT_ONCE - {"tokens"}  # it began without any, or asks the application
        if "log_level" in changed:
            logging.getLogger().setLevel(logging.getLevelNamesMapping()[new.log_level.upper()])
        self._settings = new
        later = [name for name in changed if name not in at_once]
        means = f"These count at the next start: {', '.join(later)}." if later else None
        log.warning("settings_read", changed=",".join(changed) or "nothing", means=means)
