"""The capabilities of a model, as far as somebody who knows has said so (CAP-2).

Three know something: an adapter, what its API can carry and what it was set to ask for; a profile, what a kind of
server refuses; and whoever chose the model, all the rest. What nobody said is None, and is not claimed.
"""

from typing import Protocol, runtime_checkable

import msgspec


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """True, False, or None where it isn't known. What reads or thinks is the model, with the adapter before it."""

    reasoning: bool | None = None
    """True if it thinks before it answers."""
    reasoning_shown: bool | None = None
    """True if its thoughts are streamed, as text."""
    reasoning_sealed: bool | None = None
    """True if they come sealed too, to be sent back."""
    image: bool | None = None
    audio: bool | None = None
    video: bool | None = None
    pdf: bool | None = None
    file: bool | None = None
    """True if it reads documents of other kinds."""
    runs_code: bool | None = None
    """True if code is run, by the provider or by the model's tools."""
    sandboxed: bool | None = None
    asks: bool | None = None
    """True if the provider asks people before it runs some of its own tools."""

    def updated(self, newer: "Abilities | None") -> "Abilities":
        """Returns these, with what ``newer`` knows in their place."""
        names = () if newer is None else newer.__struct_fields__
        known = {name: value for name in names if (value := getattr(newer, name)) is not None}
        return msgspec.structs.replace(self, **known)


@runtime_checkable
class Declares(Protocol):
    """An adapter may have this too: what is known of its model."""

    @property
    def abilities(self) -> Abilities:
        """The abilities that can be claimed."""
        ...


def abilities_of(adapter: object) -> Abilities:
    """Returns what an adapter declares; nothing, if it declares nothing."""
    return adapter.abilities if isinstance(adapter, Declares) else Abilities()


@runtime_checkable
class NamesVendor(Protocol):
    """An adapter may have this too: whose handles of files it can use, in lower case, as in `Usage.provider`.

    Another provider's handle is never sent then, and the model is told of it in text. Without a name all are sent.
    """

    @property
    def vendor(self) -> str:
        """The name; "" if it isn't known."""
        ...


def vendor_of(adapter: object) -> str:
    """Returns the vendor whose handles of files this adapter can use; "" if it doesn't say."""
    vendor = getattr(adapter, "vendor", "")  # asked once a run: `isinstance` of a Protocol takes ten times as long
    return vendor if isinstance(vendor, str) else ""
