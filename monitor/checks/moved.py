"""Which cells moved most between two samples: the part of a finding that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOP = 3


def moved_cells(
    labels: Sequence[str],
    then: NDArray[np.float64],
    now: NDArray[np.float64],
    top: int = TOP,
) -> list[dict[str, Any]]:
    """The `top` cells by |share now - share then| as label, share_then, share_now.

    `then`, `now` float64[k] are counts; both samples hold rows. Unmoved cells are left out.
    """
    share_then, share_now = then / then.sum(), now / now.sum()
    order = np.argsort(-np.abs(share_now - share_then), kind="stable")[:top]
    return [
        {
            "label": labels[cell],
            "share_then": float(share_then[cell]),
            "share_now": float(share_now[cell]),
        }
        for cell in order.tolist()
        if share_then[cell] != share_now[cell]
    ]
