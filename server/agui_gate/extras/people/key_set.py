"""The keys of an issuer (a JWK set, RFC 7517), from a file or a URL: kept, renewed, and gone when they can't be.

* From a URL they are fetched in a thread when they are first needed, again after `RENEW_SECONDS`, and at once for a key
  id that is not among them, as after a rotation. Ids that nobody has can't make it fetch more often than every
  `PAUSE_SECONDS`.
* If fetching fails, the keys that there are stand for `TRUST_SECONDS` since they were fetched. After that nobody is let
  in (503), until they can be fetched.
* A file is read again when it has changed.

Only public keys that sign count, as long as they have a usable length. Symmetric ones are left aside: who can read such
a set could sign by them.
"""

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

import jwt
import msgspec
import structlog

from agui_gate.config.sources import read_regular
from agui_gate.errors import ConfigurationError, Unavailable

RENEW_SECONDS = 120.0
"""Seconds after which the keys are fetched again, with the next request."""
TRUST_SECONDS = 900.0
"""Seconds for which keys stand that can't be fetched again."""
PAUSE_SECONDS = 10.0
"""Seconds between two attempts to fetch them."""
FETCH_SECONDS = 5.0
"""Seconds that an attempt may take."""
MAX_SET = 1024 * 1024
"""Bytes of a set, and of any file that is read again."""
MAX_KEYS = 200
"""Keys of a set that are read."""
SHORTEST_RSA = 2048
"""Bits."""

log = structlog.get_logger("agui_gate.auth")

Json = dict[str, Any]
Value = TypeVar("Value")


class Keys(msgspec.Struct, frozen=True):
    """The keys of a set, as JSON, by their ids. ``nameless``: those without one."""

    named: dict[str, Json]
    nameless: list[Json]

    def find(self, key_id: str | None) -> Json | None:
        """Returns the key of that id. For a token that names none it is the only one that there is."""
        if key_id is not None:
            return self.named.get(key_id)
        every = [*self.named.values(), *self.nameless]
        return every[0] if len(every) == 1 else None

    def __len__(self) -> int:
        return len(self.named) + len(self.nameless)


class KeySet(Protocol):
    """Finds the key by which a token says that it is signed."""

    async def count(self) -> int:
        """Returns how many keys there are now. Raises `Unavailable` if they can't be had."""
        ...

    async def find(self, key_id: str | None) -> Json | None:
        """Returns the key, as JSON; None if the issuer has none of that id. Raises `Unavailable`."""
        ...

    def renew(self) -> None:
        """Has them read again with the next token, however short ago they were."""
        ...


def key_set(place: str) -> KeySet:
    """Returns the keys at a URL or a path. Raises `ConfigurationError` for one that is not safe, or can't be read."""
    if "://" not in place:
        return FileKeys(Path(place))
    if not is_safe_url(place):
        raise ConfigurationError("AGUI_GATE_JWT_JWKS must be a file or an https:// URL.")
    return FetchedKeys(place)


def read_keys(body: bytes) -> Keys:
    """Returns the usable keys of a JWK set. Raises `ValueError` if it is none, or has no such key."""
    try:
        found = json.loads(body)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise ValueError("not a JWK set")
    usable = [key for key in keys[:MAX_KEYS] if isinstance(key, dict) and _signs(key)]
    ids = [key["kid"] for key in usable if isinstance(key.get("kid"), str)]
    twice = {one for one in ids if ids.count(one) > 1}  # which of them was meant, nobody knows
    named = {key["kid"]: key for key in usable if isinstance(key.get("kid"), str) and key["kid"] not in twice}
    nameless = [key for key in usable if "kid" not in key]
    if not named and not nameless:
        raise ValueError("no usable key")
    return Keys(named, nameless)


def _signs(key: Json) -> bool:
    """Returns whether it is a public key that signs, and one that can be read."""
    if key.get("kty") not in ("RSA", "EC", "OKP") or key.get("use", "sig") != "sig":
        return False
    operations = key.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations or "d" in key:
        return False
    try:
        size = getattr(jwt.PyJWK(key).key, "key_size", SHORTEST_RSA)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return False
    return key["kty"] != "RSA" or size >= SHORTEST_RSA


class File(Generic[Value]):
    """What a file of the settings says, read again when it has changed. ``what`` and ``setting`` name it in errors."""

    def __init__(self, path: Path, read: Callable[[bytes], Value], what: str, setting: str) -> None:
        self._path, self._parse = path, read
        try:
            self._written, self._value = self._read()
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The {what} in {path.name} ({setting}) can't be read: {_why(error)}.") from None

    def value(self) -> Value:
        """Returns what it says now. Raises `Unavailable` if it can't be read any more: that lets nobody in."""
        try:
            if _written(self._path) != self._written:
                self._written, self._value = self._read()
        except (OSError, ValueError) as error:
            log.error("file_unreadable", file=self._path.name, why=_why(error))
            raise Unavailable("Authentication is not available right now.") from None
        return self._value

    def _read(self) -> tuple[tuple[int, int], Value]:
        written = _written(self._path)
        body = read_regular(self._path, MAX_SET + 1)
        if len(body) > MAX_SET:
            raise ValueError("it is too large")
        return written, self._parse(body)


def read_ids(body: bytes) -> frozenset[str]:
    """Returns the ids of tokens that a file lists, one a line. Raises `ValueError` if it is no text."""
    lines = (line.partition("#")[0].strip() for line in body.decode().splitlines())
    return frozenset(filter(None, lines))


class FileKeys:
    """Keys from a file."""

    def __init__(self, path: Path) -> None:
        self._file = File(path, read_keys, "keys", "jwt_jwks")

    async def count(self) -> int:
        """See `KeySet`."""
        return len(self._file.value())

    async def find(self, key_id: str | None) -> Json | None:
        """See `KeySet`."""
        return self._file.value().find(key_id)

    def renew(self) -> None:
        """See `KeySet`. It is read whenever it has changed."""


def _written(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_mtime_ns, about.st_size


class FetchedKeys:
    """Keys from a URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: Keys | None = None
        self._fetched_at = self._tried_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._is_stale = False

    def renew(self) -> None:
        """See `KeySet`. If they can't be fetched, those that are known stand as long as ever."""
        self._is_stale, self._tried_at = True, float("-inf")

    async def count(self) -> int:
        """See `KeySet`."""
        await self._renew()
        return len(self._trusted())

    async def find(self, key_id: str | None) -> Json | None:
        """See `KeySet`."""
        if time.monotonic() - self._fetched_at > RENEW_SECONDS or self._keys is None or self._is_stale:
            await self._renew()
        if self._keys is not None and self._keys.find(key_id) is None:
            await self._renew()
        return self._trusted().find(key_id)

    def _trusted(self) -> Keys:
        if self._keys is None or time.monotonic() - self._fetched_at > TRUST_SECONDS:
            raise Unavailable("Authentication is not available right now.")
        return self._keys

    async def _renew(self) -> None:
        """Fetches them, unless somebody has just tried to."""
        async with self._fetching:
            if time.monotonic() - self._tried_at < PAUSE_SECONDS:
                return
            try:
                async with asyncio.timeout(2 * FETCH_SECONDS):
                    self._keys = read_keys(await asyncio.to_thread(fetch, self._url))
                self._fetched_at, self._is_stale = time.monotonic(), False
            except Exception as error:  # whatever it is, the keys of before are trusted for their time
                log.error("keys_not_fetched", why=_why(error))
            finally:  # those who waited meanwhile don't try one after the other
                self._tried_at = time.monotonic()


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the keys are where the settings say."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        """Returns none."""


def fetch(url: str) -> bytes:
    """Returns the body at ``url``. Raises `OSError`, and `ValueError` for one that is too large."""
    opener = urllib.request.build_opener(_Stay())
    with opener.open(urllib.request.Request(url), timeout=FETCH_SECONDS) as answer:  # noqa: S310 see `is_safe_url`
        body: bytes = answer.read(MAX_SET + 1)
    if len(body) > MAX_SET:
        raise ValueError("the set is too large")
    return body


def is_safe_url(url: str) -> bool:
    """Returns whether keys may be fetched there: by HTTPS, or from this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # such as brackets that don't close, or a port that is no number
        return False
    local = parts.scheme == "http" and host in ("localhost", "127.0.0.1", "::1")
    return bool(host) and (parts.scheme == "https" or local)


def _why(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return said or f"{type(error).__name__}: {error}"[:200]
