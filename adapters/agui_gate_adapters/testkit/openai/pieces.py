"""The pieces in which text and arguments are streamed."""

from __future__ import annotations

__all__ = ["argument_pieces", "pieces_of"]


def pieces_of(text: str) -> list[str]:
    """Cut text into words with their trailing blanks, as a model's tokens would arrive."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []


def argument_pieces(text: str) -> list[str]:
    """Cut arguments into pieces of eight characters."""
    return [text[start : start + 8] for start in range(0, len(text), 8)]
