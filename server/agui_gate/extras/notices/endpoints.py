"""The webhooks of a deployment, as the setting ``webhooks`` names them: a file, or a table of the settings' file."""

import base64
import binascii
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from agui_gate.config.sources import read_regular
from agui_gate.errors import ConfigurationError
from agui_gate.extras.notices.notice import KINDS

MAX_ENDPOINTS = 50
SHORTEST_SECRET, LONGEST_SECRET = 24, 64
"""Bytes of a secret (Standard Webhooks)."""
MAX_SECRETS = 2
"""Secrets that are valid at the same time."""
CODE = "on_notice"
"""The endpoint that is the application's own function."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_MEMBERS = {"url", "secrets", "kinds", "with_arguments", "private"}

Network = IPv4Network | IPv6Network


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where notices are sent. ``kinds``: which ones. ``private``: the networks in which it may be, besides public ones.

    Its representation shows neither the secrets nor the URL, whose path may be one.
    """

    name: str
    url: SplitResult
    secrets: tuple[str, ...]
    kinds: frozenset[str]
    with_arguments: bool
    private: tuple[Network, ...]

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r})"

    @property
    def host(self) -> str:
        """The host's name, or its address."""
        return self.url.hostname or ""

    @property
    def port(self) -> int:
        """The port."""
        return self.url.port or (443 if self.url.scheme == "https" else 80)


def read_endpoints(setting: str | Mapping[str, Any]) -> Sequence[Endpoint]:
    """Returns the endpoints of the setting: the table itself, or the path of a TOML or JSON file with it. Raises
    `ConfigurationError`, which names the endpoint and never a secret.
    """
    table = setting if isinstance(setting, Mapping) else _file(Path(setting))
    if len(table) > MAX_ENDPOINTS:
        raise ConfigurationError(f"AGUI_GATE_WEBHOOKS names more than {MAX_ENDPOINTS} endpoints.")
    return [_endpoint(name, given) for name, given in table.items()]


def _file(path: Path) -> Mapping[str, Any]:
    try:
        text = read_regular(path).decode("utf-8-sig")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"The file {path} (AGUI_GATE_WEBHOOKS) can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError):  # what a decoder says of it may repeat a secret
        raise ConfigurationError(f"The file {path} (AGUI_GATE_WEBHOOKS) is not valid TOML or JSON.") from None
    if not isinstance(table, dict):
        raise ConfigurationError(f"The file {path} (AGUI_GATE_WEBHOOKS) is not a table of endpoints.")
    return table


def _endpoint(name: str, given: Any) -> Endpoint:
    def wrong(problem: str) -> ConfigurationError:
        return ConfigurationError(f"The webhook {name!r} (AGUI_GATE_WEBHOOKS) {problem}.")

    if not _NAME.fullmatch(name) or name == CODE:
        raise wrong("needs another name: lower-case letters, digits, - and _, up to 50, and not on_notice")
    if not isinstance(given, Mapping):
        raise wrong("is no table: write [name], and below it url and secrets")
    if unknown := sorted(given.keys() - _MEMBERS):
        raise wrong(f"has {unknown[0]!r}, which is no member; there are {', '.join(sorted(_MEMBERS))}")
    private, kinds = _list(given.get("private", ())), _list(given.get("kinds", KINDS))
    if private is None or (networks := _networks(private)) is None:
        raise wrong('needs private = ["10.0.0.0/8"]: a list of networks')
    if not kinds or not set(kinds) <= set(KINDS):
        raise wrong(f"needs kinds = a list of {', '.join(KINDS)}")
    if not isinstance(with_arguments := given.get("with_arguments", False), bool):
        raise wrong("needs with_arguments = true or false")
    if (url := _url(given.get("url"), bool(networks))) is None:
        raise wrong("needs url = an https:// address without user and password; http:// only with private = […]")
    secrets = _list(given.get("secrets", ()))
    if not secrets or len(secrets) > MAX_SECRETS or not all(map(_is_secret, secrets)):
        raise wrong(
            f'needs secrets = ["whsec_…"]: one or two, each {SHORTEST_SECRET} to {LONGEST_SECRET} bytes in base64'
        )
    return Endpoint(
        name=name,
        url=url,
        secrets=tuple(secrets),
        kinds=frozenset(kinds),
        with_arguments=with_arguments,
        private=networks,
    )


def _list(value: Any) -> list[str] | None:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        return None
    return list(value)


def _networks(names: Sequence[str]) -> tuple[Network, ...] | None:
    try:
        return tuple(ip_network(name) for name in names)
    except ValueError:
        return None


def _url(text: Any, may_be_plain: bool) -> SplitResult | None:
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or " " in text or len(text) > 2_000:
        return None
    try:
        url = urlsplit(text)
        known = url.scheme == "https" or (url.scheme == "http" and may_be_plain)
        return url if known and url.hostname and url.username is None and url.port != 0 else None
    except ValueError:
        return None


def _is_secret(secret: str) -> bool:
    if not secret.startswith("whsec_"):
        return False
    try:
        size = len(base64.b64decode(secret.removeprefix("whsec_"), validate=True))
    except (binascii.Error, ValueError):
        return False
    return SHORTEST_SECRET <= size <= LONGEST_SECRET
