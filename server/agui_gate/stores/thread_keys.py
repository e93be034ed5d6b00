"""The keys of threads in a store."""

import secrets


def new_key() -> int:
    """A fresh key for a thread, in 62 bits.

    Random rather than counted, because a key must not come twice even where threads were deleted or the whole store
    was. Idempotency keys are made of it, and other systems remember them.
    """
    return secrets.randbits(62)
