"""Which characters the fonts that Typst brings can draw, so that a PDF is the same everywhere.

Others are written by their number: fonts of the machine would make its bytes the machine's, and
PDF/A allows no box in place of a character.
"""

from __future__ import annotations

import re

RANGES = (
    (0x20, 0x7E), (0xA0, 0xAC), (0xAE, 0x377), (0x38E, 0x3A1), (0x3A3, 0x4FF),  # Latin to Cyrillic
    (0x531, 0x556), (0x559, 0x58A), (0x10D0, 0x10FF),  # Armenian, Georgian
    (0x1D00, 0x1F15), (0x1F20, 0x1F45), (0x1F5F, 0x1F7D), (0x1F80, 0x1FB4),  # more Latin and Greek
    (0x2010, 0x2027), (0x2030, 0x2040), (0x2044, 0x205E),  # punctuation
    (0x2074, 0x208E), (0x2090, 0x209C), (0x20A0, 0x20C0), (0x2100, 0x211E), (0x2126, 0x2151),
    (0x2153, 0x2184), (0x2190, 0x23FF), (0x2460, 0x2606), (0x2609, 0x262F),  # numbers, arrows
    (0x2717, 0x2726), (0x2798, 0x27AF), (0x27B1, 0x2B73),
)  # fmt: skip
_OTHERS = re.compile(
    f"[^\n{''.join(f'{chr(a)}-{chr(b)}' for a, b in RANGES)}]".replace("\\", r"\\")
)


def drawable(text: str) -> str:
    """The text with characters that the fonts lack written as `U+6E29`."""
    return _OTHERS.sub(lambda found: f"U+{ord(found[0]):04X} ", text)
