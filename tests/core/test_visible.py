"""Hidden characters are shown as what they are."""

import pytest

from agui_gate.cli.terminal.console import printable, short
from agui_gate.core.visible_text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202egnp.exe", "⟦U+202E⟧gnp.exe"),
        ("a\u200bb\u2066c\ufeff", "a⟦U+200B⟧b⟦U+2066⟧c⟦U+FEFF⟧"),
        ("x\U000e0041\u00ad\x1b[2J\x00", "x⟦U+E0041⟧⟦U+00AD⟧⟦U+001B⟧[2J⟦U+0000⟧"),
        ("\u3164\u2800\u2028\ue000\U000e0100\ufe00", "⟦U+3164⟧⟦U+2800⟧⟦U+2028⟧⟦U+E000⟧⟦U+E0100⟧⟦U+FE00⟧"),
        ("Grüße, 你好 שלום ❤️ é\u0301\n\tok", "Grüße, 你好 שלום ❤️ é\u0301\n\tok"),
        ("1\ufe0f0 ab\ufe0f ❤\ufe0f\ufe0f \ufe0f", "1⟦U+FE0F⟧0 ab⟦U+FE0F⟧ ❤\ufe0f⟦U+FE0F⟧ ⟦U+FE0F⟧"),
        ("1️⃣ #️⃣ \u2139\ufe0f 🏳️ ‼️ ©️ ㊗️", "1️⃣ #️⃣ \u2139\ufe0f 🏳️ ‼️ ©️ ㊗️"),
        ("", ""),
    ],
)
def test_nothing_hides_in_a_text(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


def test_the_shell_shows_it_too() -> None:
    assert short("a\u202eb\nc\td", 40) == "a⟦U+202E⟧b c d"
    assert short("x" * 50, 10) == "xxxxxxxxx…"
    assert len(short("\u202e" * 50, 10)) == 10


def test_the_words_of_an_agent_are_not_changed_but_steer_nothing() -> None:
    words = "20\u00a0€ \u3000你好 \u0645\u06cc\u200c\u062e 👩\u200d👧 ❤️\n\tok"
    assert printable(words) == words
    assert printable("\x1b[2J\u202egnp\u2066\x07\ue000\r") == "[2Jgnp"
