"""Descriptors and vectors of images, computed where the image is: the image itself is not sent.

Needs numpy; reading files and bytes needs Pillow. Costs some milliseconds an image of a megapixel,
in the caller's thread: larger ones are first thinned out to `MOST_PIXELS`.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_PIXELS = 1 << 18
DARK, BRIGHT = 5 / 255, 250 / 255
_LUMA = (0.299, 0.587, 0.114)


def describe_image(image: Any, *, prefix: str = "image_") -> dict[str, float]:
    """Descriptors of an image as columns, each from 0 to 1 but for sizes and sharpness.

    `width`, `height` (pixels), `aspect` (width / height); `brightness` and `contrast`, mean and
    standard deviation of luma; `dark_share` and `bright_share` of pixels near black and white;
    `saturation`, mean of (max - min) / max of the colours; `colourfulness` after Hasler and
    Süsstrunk (2003), for colours from 0 to 1; `sharpness`, standard deviation of the Laplacian of
    luma, which blur lowers. An image is a Pillow image, an array (height, width[, 1, 3 or 4]) of
    bytes or of numbers from 0 to 1, bytes of a file, or its path. Raises ValueError.
    """
    import numpy as np

    pixels, width, height = _pixels(image)
    luma = pixels @ np.array(_LUMA)
    largest, smallest = pixels.max(axis=2), pixels.min(axis=2)
    found = {
        "width": float(width),
        "height": float(height),
        "aspect": width / height,
        "brightness": float(luma.mean()),
        "contrast": float(luma.std()),
        "dark_share": float((luma <= DARK).mean()),
        "bright_share": float((luma >= BRIGHT).mean()),
        "saturation": float(((largest - smallest) / np.maximum(largest, 1e-9)).mean()),
        "colourfulness": _colourfulness(pixels),
        "sharpness": _sharpness(luma),
    }
    return {f"{prefix}{name}": value for name, value in found.items()}


def image_vector(
    image: Any, *, size: int = 8, model: Callable[[Any], Any] | None = None
) -> list[float]:
    """A vector of an image: what `model(pixels)` gives for numbers from 0 to 1 of shape (height,
    width, 3), or without a model the mean luma of size × size fields, row by row. Raises
    ValueError."""
    import numpy as np

    pixels, _, _ = _pixels(image, thin=model is None)
    if model is not None:
        return [float(each) for each in np.asarray(model(pixels), dtype=float).reshape(-1)]
    luma = pixels @ np.array(_LUMA)
    rows = np.array_split(np.arange(max(luma.shape[0], size)) % luma.shape[0], size)
    columns = np.array_split(np.arange(max(luma.shape[1], size)) % luma.shape[1], size)
    return [float(luma[np.ix_(row, column)].mean()) for row in rows for column in columns]


def _pixels(image: Any, *, thin: bool = True) -> tuple[Any, int, int]:
    """Colours from 0 to 1 of shape (h, w, 3), thinned out if wanted; width and height before."""
    import numpy as np

    array = np.asarray(_opened(image))
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or 0 in array.shape:
        raise ValueError(f"an image has shape (height, width[, 1, 3 or 4]), not {array.shape}")
    height, width = array.shape[:2]
    step = max(1, int(np.ceil(np.sqrt(height * width / MOST_PIXELS)))) if thin else 1
    array = array[::step, ::step]
    scale = {"u": float(np.iinfo(array.dtype).max)} if array.dtype.kind == "u" else {}
    pixels = array[:, :, :3].astype(float) / scale.get(array.dtype.kind, 1.0)
    if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 1:
        raise ValueError("numbers of an image lie from 0 to 1; bytes are of type uint8")
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels, width, height


def _opened(image: Any) -> Any:
    if isinstance(image, (str, Path, bytes, bytearray)):
        from PIL import Image

        source = io.BytesIO(image) if isinstance(image, (bytes, bytearray)) else image
        with Image.open(source) as opened:
            return opened.convert("RGB")
    if hasattr(image, "getbands"):
        return image.convert("RGB")
    return image


def _colourfulness(pixels: Any) -> float:
    import numpy as np

    red, green, blue = pixels[:, :, 0], pixels[:, :, 1], pixels[:, :, 2]
    one, two = red - green, (red + green) / 2 - blue
    spread, middle = np.hypot(one.std(), two.std()), np.hypot(one.mean(), two.mean())
    return float(spread + 0.3 * middle)


def _sharpness(luma: Any) -> float:
    if min(luma.shape) < 3:
        return 0.0
    around = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:]
    return float((around - 4 * luma[1:-1, 1:-1]).std())
