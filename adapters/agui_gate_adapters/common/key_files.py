"""Keys of providers in files: ``NAME_FILE`` names one with the value of ``NAME``, as for the server's own secrets."""

import os
from pathlib import Path

import anyio.to_thread

from agui_gate.errors import ConfigurationError

from .failures import log


class KeyFile:
    """A key in a file. It is read again for each request, so a new key counts without a restart.

    While the file can't be read, the key that was read last counts. Raises `ConfigurationError`, without path and
    content, where it can't be read at first.
    """

    def __init__(self, variable: str, path: str) -> None:
        self._variable, self._path = variable, path
        self.last = self._read()
        self._problem = ""

    async def __call__(self) -> str:
        """Returns the key that counts now. Reads in a thread, and never raises; logs a problem once."""
        try:
            self.last = await anyio.to_thread.run_sync(self._read)
            self._problem = ""
        except ConfigurationError as error:
            if error.message != self._problem:
                log.warning("%s The key before counts.", error.message)
            self._problem = error.message
        return self.last

    def _read(self) -> str:
        from agui_gate.config.sources import read_secret  # only where a variable names a file

        return read_secret("key", self._variable, Path(self._path))


def find_key_file(name: str) -> KeyFile | None:
    """Returns the file of the key that is called ``name``, if the environment names one. Raises `ConfigurationError`
    if it can't be read, or if the key itself is set, too.
    """
    variable = f"{name}_FILE"
    path = os.environ.get(variable)
    if not path:
        return None
    if os.environ.get(name):
        raise ConfigurationError(f"Set {name} or {variable}, not both.")
    return KeyFile(variable, path)
