"""Call ids for a provider that would not accept the ones a transcript has."""

import hashlib


def stable_id(prefix: str, *names: str, digits: int = 32) -> str:
    """An id made from what it names, not at random: the same transcript gives the same request (prompt caches)."""
    text = "\0".join(names).encode(errors="replace")
    return prefix + hashlib.blake2b(text, digest_size=32).hexdigest()[:digits]
