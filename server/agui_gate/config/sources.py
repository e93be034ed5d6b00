"""Reads settings from a file, from variables and from options: what each of them says, and where it stood.

What may stand there is said in `agui_gate.config.settings`.
"""

import difflib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agui_gate.config.setting_values import READERS
from agui_gate.config.settings import DEFAULT, PREFIX
from agui_gate.errors import ConfigurationError

CLIENT_NAMES = frozenset({"url", "token", "token_file"})
"""Variables that `agui-gate approvals` and the page of frontend-demo read as clients of some server; no settings of
this one. With `READERS` and `_SERVICE_LINK` they are all that an ``AGUI_GATE_*`` variable may be.
"""

SECRETS = ("store", "bus", "tokens")
"""Settings that are, or may have in them, a secret: ``NAME_FILE`` names a file with the value."""

MAX_SECRET = 1024 * 1024
"""Bytes of the file of a secret."""

_SERVICE_LINK = re.compile(r"(\w+_)?(service_host|service_port(_\w+)?|port_\d+_(tcp|udp|sctp)(_(proto|port|addr))?)")
_LINKED_PORT = re.compile(r"(tcp|udp|sctp)://")
"""The beginning of values that Kubernetes (and Docker's links) set in each container beside a service of this name:
``AGUI_GATE_SERVICE_HOST``, ``AGUI_GATE_PORT_8000_TCP``, and ``AGUI_GATE_PORT=tcp://10.0.0.1:8000``.
"""


class Unended(str):
    """A text, or the source of one, of a file that doesn't end its last line: it may be half written."""

    __slots__ = ()


def read_sources(
    config: Path | None, environ: Mapping[str, str], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the values that were given, not checked yet, and the source of each. Raises as `load_settings` does."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    found: list[tuple[str, str, Any]] = []
    if config is not None:
        found += [(_plain(key), config.name, value) for key, value in _read_file(config)]
    found += [(_plain(key), key, value) for key, value in _variables(environ)]
    found += [(key, _option(key), value) for key, value in options.items()]
    for name, source, value in found:
        if value is None or value == "":
            continue
        secret = name.removesuffix("_file")
        if name not in READERS and secret in SECRETS:
            _check_alone(secret, source, sources)
            values[secret] = read_secret(secret, source, value)
            named = source if source.startswith(PREFIX) else f"{Path(str(value)).name}, named in {source}"
            sources[secret] = Unended(named) if isinstance(values[secret], Unended) else named
            continue
        if name not in READERS:
            raise ConfigurationError(_unknown(name, source))
        _check_alone(name, source, sources)
        values[name], sources[name] = value, source
    return values, sources


def is_of_file(source: str) -> bool:
    """Returns whether what has this source was read from a file, which may be read again."""
    if source.startswith(PREFIX):
        return source.endswith("_FILE") and _plain(source).removesuffix("_file") in SECRETS
    return source != DEFAULT and not source.startswith("--")


def _check_alone(name: str, source: str, sources: Mapping[str, str]) -> None:
    """Raises `ConfigurationError` if a secret is given twice in one place: by itself, and by a file."""
    before = sources.get(name, "")
    if name in SECRETS and before and (before.endswith(source) or (before + source).count(PREFIX) == 2):
        raise ConfigurationError(f"Set {name} itself or {name}_file, not both.")


def read_secret(name: str, source: str, path: object) -> str:
    """Returns what the file of a secret says: of tokens all of its lines, of others its one line. Raises
    `ConfigurationError`, without the path: somebody may have put the secret itself there.
    """
    called = f"The file that {source} names"
    try:
        text = read_regular(Path(str(path)), MAX_SECRET + 1).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{called} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{called} is not UTF-8 text.") from None
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or len(text) > MAX_SECRET:
        raise ConfigurationError(f"{called} is {'too long' if lines else 'empty'}.")
    if name == "tokens":
        return ",".join(lines) if text.endswith("\n") else Unended(",".join(lines))
    if len(lines) > 1:
        raise ConfigurationError(f"{called} has {len(lines)} lines. It needs one.")
    return lines[0]


def read_regular(path: Path, most: int = -1) -> bytes:
    """Returns what a file says, or its first ``most`` bytes. Raises `OSError`, also for what is no file: a pipe that
    nobody writes to would hold up the start and, at SIGHUP, everything; a device may have no end.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file")
        return file.read(most)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _plain(key: str) -> str:
    return key.removeprefix(PREFIX).lower()


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the ``AGUI_GATE_*`` variables that are meant as settings. Raises `ConfigurationError` for one in lower
    case, and for the tokens of a server under the name of a client's token.
    """
    has_tokens = environ.get(f"{PREFIX}TOKENS") or environ.get(f"{PREFIX}TOKENS_FILE")
    for key, value in environ.items():
        name = _plain(key)
        if not key.upper().startswith(PREFIX) or _is_service_link(name, value):
            continue
        if value and not key.startswith(PREFIX):
            raise ConfigurationError(f"{key} is not a setting; did you mean {key.upper()}?")
        if name not in CLIENT_NAMES:
            yield key, value
        elif name != "url" and value and not has_tokens and ":" in _token(name, key, value):
            raise ConfigurationError(
                f"{key} is the token that a client sends. A server accepts the tokens of AGUI_GATE_TOKENS."
            )


def _token(name: str, key: str, value: str) -> str:
    return value if name == "token" else read_secret("tokens", key, value)


def _is_service_link(name: str, value: str) -> bool:
    if _SERVICE_LINK.fullmatch(name):
        return True
    return (name == "port" or name.endswith("_port")) and _LINKED_PORT.match(value) is not None


def _unknown(name: str, source: str) -> str:
    """Returns the refusal of a name that is no setting. Its value isn't in it: that may be a secret."""
    is_variable = source.startswith(PREFIX)
    close = difflib.get_close_matches(name, [*READERS, *(f"{one}_file" for one in SECRETS if is_variable)], n=1)
    written = source if is_variable else f"{name} in {source}"
    hint = (PREFIX + close[0].upper() if is_variable else close[0]) if close else None
    return f"{written} is not a setting{f'; did you mean {hint}?' if hint else ' (docs/settings.md lists them).'}"


def _read_file(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = read_regular(path).decode("utf-8-sig")  # some editors begin with a byte order mark
        yield from tomllib.loads(text).items() if path.suffix == ".toml" else _lines(text, path.name)
    except OSError as error:
        raise ConfigurationError(f"The file {path} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"The file {path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"The file {path} is not valid TOML: {error}.") from None
    except RecursionError:
        raise ConfigurationError(f"The file {path} is nested too deeply.") from None


def _lines(text: str, name: str) -> Iterator[tuple[str, str]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().removeprefix("export ")
        if not line or line.startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise ConfigurationError(f"Line {number} of {name} is not NAME=value (for TOML, name the file *.toml).")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        yield key.strip(), value
