"""An issuer of signed tokens, and a forger."""

import base64
import hashlib
import hmac
import json
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Json = dict[str, Any]
ISSUER, AUDIENCE = "https://id.example", "agui-gate"

_MAKERS: dict[str, Callable[[], Any]] = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "PS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
    "short": lambda: rsa.generate_private_key(65537, 1024),
}


@cache
def private(kind: str, name: str) -> Any:
    """A key, the same for each name."""
    return _MAKERS[kind]()


def public(kind: str, name: str, **more: Any) -> Json:
    """The public part of it, as a member of a JWK set."""
    key = private(kind, name)
    made = jwt.get_algorithm_by_name("RS256" if kind == "short" else kind)
    found: Json = json.loads(made.to_jwk(key.public_key()))
    found.pop("key_ops", None)
    return {**found, "kid": name, "use": "sig", **more}


def claims(**more: Any) -> Json:
    """Claims of a token that is taken; None leaves one out."""
    now = int(time.time())
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300, "org": "acme", **more}
    made.setdefault("realm", {"roles": ["user"]})
    return {name: value for name, value in made.items() if value is not None}


def token(kind: str = "RS256", name: str = "rsa", *, headers: Json | None = None, **more: Any) -> str:
    """A token that the issuer has signed."""
    alg = "RS256" if kind == "short" else kind
    given = {"kid": name, **(headers or {})}
    signed = {name: value for name, value in given.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short keys
        return _sign(claims(**more), private(kind, name), algorithm=alg, headers=signed)


def _sign(body: Json, key: Any, **how: Any) -> str:
    """Signs claims of whatever types: `jwt.encode` refuses some."""
    return jwt.api_jws.encode(json.dumps(body).encode(), key, **how)


def write(path: Path, *keys: Json) -> None:
    """Writes a JWK set."""
    path.write_text(json.dumps({"keys": list(keys)}))


def part(value: Any) -> str:
    """A part of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed_by_hand(header: Json, body: Json, secret: bytes) -> str:
    """A token signed with HMAC, by whatever secret."""
    text = f"{part(header)}.{part(body)}"
    return f"{text}.{part(hmac.digest(secret, text.encode(), hashlib.sha256))}"


def _pem(public_key: Any) -> bytes:
    pem: bytes = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


def _flipped(r: Random) -> str:
    head, body, signature = token().split(".")
    raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
    raw[r.randrange(len(raw))] ^= 1 << r.randrange(8)
    return f"{head}.{body}.{part(bytes(raw))}"


def _changed(r: Random) -> str:
    head, _, signature = token().split(".")
    return f"{head}.{part(claims(sub=r.choice(['root', 'ben', 'ada '])))}.{signature}"


def _garbage(r: Random) -> str:
    good = token()
    head, body, signature = good.split(".")
    return r.choice(
        (
            "",
            ".",
            "..",
            "...",
            good[:-9],
            good + good,
            f"{head}.{body}",
            f"{head}..{signature}",
            f".{body}.{signature}",
            f"{part(b'[]')}.{body}.{signature}",
            f"{part(b'{')}.{body}.{signature}",
            "A" * 15_000,
            "a.b.c",
            good + "\0",
            f"{head}.{body}.{signature}.{part({})}.{part({})}",
            f"{part(b'[' * 5000)}.{body}.{signature}",
            f"{part({'alg': ['RS256'], 'kid': 'rsa'})}.{body}.{signature}",
            f"{part({'alg': 'RS256', 'kid': 7})}.{body}.x",
            f"{part({'alg': 'RS256', 'kid': {}})}.{body}.{signature}",
            "é" * 30,
            "%00" * 5,
            good.swapcase(),
        )
    )


def _later(r: Random, *names: str) -> str:
    when: Json = {r.choice(names): int(time.time()) + r.randrange(120, 100_000)}
    return token(**when)


def _confused(r: Random) -> str:
    secret = r.choice(
        (_pem(private("RS256", "rsa").public_key()), public("RS256", "rsa")["n"].encode(), b"", b"secret")
    )
    return signed_by_hand({"alg": r.choice(("HS256", "hs256")), "typ": "JWT", "kid": "rsa"}, claims(), secret)


def _with_header(r: Random) -> str:
    own = public("RS256", "forger")
    more = r.choice(
        (
            {"jwk": own},
            {"jku": "http://127.0.0.1:9/keys"},
            {"x5u": "http://127.0.0.1:9/cert"},
            {"x5c": ["MIIB"]},
            {"crit": ["exp"], "exp": 1},
        )
    )
    by = ("RS256", "rsa") if "crit" in more else ("RS256", "forger")
    return token(*by, headers={"kid": "rsa", **more})


NONE = ("none", "None", "NONE", "nOnE")
TYPES = ("logout+jwt", "dpop+jwt", "secevent+jwt", "x", 7)
IDS = ("forger", "../../etc", "' OR 1=1", "x" * 400)
ISSUERS: tuple[Any, ...] = (None, "https://id.example/", "https://evil.example", "", ["https://id.example"], 7)
AUDIENCES: tuple[Any, ...] = (None, "other", ["other"], [], "", "agui-gat", 7, {"agui-gate": 1})
ROLES: tuple[Any, ...] = ({}, {"roles": []}, {"roles": [7]}, {"roles": ""}, [], "user", {"roles": {}})

FORGERIES: dict[str, Callable[[Random], str]] = {
    "no algorithm": lambda r: f"{part({'alg': r.choice(NONE), 'kid': 'rsa'})}.{part(claims())}.",
    "the public key as a secret": _confused,
    "a symmetric key of the set": lambda r: signed_by_hand({"alg": "HS256", "kid": "oct"}, claims(), b"k" * 32),
    "another key under a known id": lambda r: token("RS256", "forger", headers={"kid": r.choice(("rsa", "pss"))}),
    "an unknown key": lambda r: token("RS256", "forger", headers={"kid": r.choice(IDS)}),
    "a key without its id": lambda r: token("RS256", r.choice(("rsa", "forger")), headers={"kid": None}),
    "a key in the header, or what must be understood": _with_header,
    "another algorithm than the key's": lambda r: _sign(
        claims(), private("RS256", "rsa"), algorithm=r.choice(("PS256", "RS384", "PS512")), headers={"kid": "rsa"}
    ),
    "a key that doesn't sign": lambda r: token("RS256", "encrypts"),
    "a short key": lambda r: token("short", "short"),
    "a signature of zeros": lambda r: ".".join(
        (part({"alg": "ES256", "kid": "ec"}), part(claims()), part(bytes(r.choice((0, 64, 70)))))
    ),
    "a signature that is not quite": _flipped,
    "claims that are not those signed": _changed,
    "another issuer": lambda r: token(iss=r.choice(ISSUERS)),
    "another audience": lambda r: token(aud=r.choice(AUDIENCES)),
    "over, or never": lambda r: token(
        exp=r.choice((None, 0, -1, int(time.time()) - r.randrange(60, 100_000), "never", [], True, {}))
    ),
    "not yet": lambda r: _later(r, "nbf", "iat"),
    "nobody": lambda r: token(sub=r.choice((None, "", 7, [], "a\x1fb", "a\nb", "x" * 501, {"id": "ada"}))),
    "of no tenant": lambda r: token(org=r.choice((None, "", 7, [], ["acme"], "acme\x1f", "\x1f", "a\0b"))),
    "without roles": lambda r: token(realm=r.choice(ROLES)),
    "another kind of token": lambda r: token(headers={"typ": r.choice(TYPES)}),
    "garbage": _garbage,
}
"""Kinds of tokens of which none is good."""


def every_key() -> list[Json]:
    """The issuer's keys, with some that must not count."""
    octets = {"kty": "oct", "kid": "oct", "k": part(b"k" * 32), "alg": "HS256"}
    return [
        public("RS256", "rsa", alg="RS256"),
        public("PS256", "pss"),
        public("ES256", "ec"),
        public("EdDSA", "ed"),
        public("RS256", "encrypts", use="enc"),
        public("short", "short"),
        octets,
    ]
