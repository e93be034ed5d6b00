"""A client's result as a model is told it: its text with what went wrong beside it, and its media (TOOL-3).

A part that no model could take, or that this one's provider can't have, is left out; the call is answered all the same.
"""

from collections.abc import Container

from agui_gate.core.media import is_foreign, normal
from agui_gate.core.transcript import Content, Media, Output, Text


def told(output: Output, vendor: str, gone: Container[int] = ()) -> Output:
    """Returns ``output`` for a model of this ``vendor``, without the parts at the places ``gone``. Mostly it is as it
    was.

    ``content`` is all of its text; ``parts`` are there where media are among them.
    """
    if output.parts is None and not output.error:
        return output
    text = "\n".join(dict.fromkeys(part for part in (output.content, output.error) if part))
    parts = tuple(
        normal(part) if isinstance(part, Media) else Text(part.text)
        for place, part in enumerate(output.parts or ())
        if place not in gone and _says_something(part, vendor)
    )
    if not any(isinstance(part, Media) for part in parts):
        return Output(text, output.is_error)
    return Output(text, output.is_error, parts=(*parts, Text(output.error)) if output.error else parts)


def after(words: str, output: Output) -> Output:
    """Returns ``output`` with ``words`` before it."""
    parts = None if output.parts is None else (Text(words), *output.parts)
    return Output(f"{words}\n{output.content}", output.is_error, parts=parts)


def _says_something(part: Content, vendor: str) -> bool:
    return not is_foreign(part, vendor) if isinstance(part, Media) else bool(part.text.strip())
