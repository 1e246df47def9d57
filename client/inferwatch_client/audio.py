"""Descriptors and vectors of sound, computed where the sound is: the sound itself is not sent.

Needs numpy. At most `MOST_SECONDS` from the beginning are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_SECONDS = 30.0
FRAME_SECONDS = 0.025
SILENCE_DECIBELS = -50.0
LOWEST_DECIBELS = -120.0
CLIPPED = 0.999


def describe_audio(samples: Any, rate: int, *, prefix: str = "audio_") -> dict[str, float]:
    """Descriptors of sound as columns.

    `seconds` and `rate` (Hz); `loudness` and `peak` (dB of full scale); `clipped_share` of samples
    at full scale; `silent_share` of frames of 25 ms below -50 dB; `zero_crossings` a second;
    `centroid` and `bandwidth` of the power spectrum (Hz); `noise_floor`, the level below which a
    tenth of the frames lie (dB). Samples are one channel, or (samples, channels), which are
    averaged: numbers from -1 to 1 or signed integers. Raises ValueError.
    """
    import numpy as np

    sound, seconds = _sound(samples, rate)
    frames = _frames(sound, rate)
    levels = _decibels(np.sqrt((frames**2).mean(axis=1)))
    frequency, power = _spectrum(frames, rate)
    total = power.sum()
    centroid = float((frequency * power).sum() / total) if total > 0 else 0.0
    spread = float(((frequency - centroid) ** 2 * power).sum() / total) if total > 0 else 0.0
    found = {
        "seconds": seconds,
        "rate": float(rate),
        "loudness": float(_decibels(np.sqrt((sound**2).mean()))),
        "peak": float(_decibels(np.abs(sound).max())),
        "clipped_share": float((np.abs(sound) >= CLIPPED).mean()),
        "silent_share": float((levels < SILENCE_DECIBELS).mean()),
        "zero_crossings": float((np.diff(np.signbit(sound)) != 0).sum() / (len(sound) / rate)),
        "centroid": centroid,
        "bandwidth": spread**0.5,
        "noise_floor": float(np.quantile(levels, 0.1)),
    }
    return {f"{prefix}{name}": value for name, value in found.items()}


def audio_vector(
    samples: Any, rate: int, *, size: int = 20, model: Callable[[Any, int], Any] | None = None
) -> list[float]:
    """A vector of sound: what `model(samples, rate)` gives, or without a model the level (dB) in
    `size` bands that are equally wide on the mel scale (O'Shaughnessy, 2595 log10(1 + f/700)).
    Raises ValueError."""
    import numpy as np

    sound, _ = _sound(samples, rate)
    if model is not None:
        return [float(each) for each in np.asarray(model(sound, rate), dtype=float).reshape(-1)]
    frequency, power = _spectrum(_frames(sound, rate), rate)
    mel = 2595 * np.log10(1 + frequency / 700)
    band = np.minimum((mel / (mel[-1] + 1e-9) * size).astype(int), size - 1)
    sums = np.bincount(band, power, minlength=size)
    return [float(each) for each in _decibels(np.sqrt(sums))]


def _sound(samples: Any, rate: int) -> tuple[Any, float]:
    """One channel of numbers from -1 to 1, cut to MOST_SECONDS; its seconds before that."""
    import numpy as np

    array = np.asarray(samples)
    if rate <= 0 or array.ndim not in (1, 2) or array.size == 0:
        raise ValueError("sound is samples, or (samples, channels), with a rate in Hz")
    seconds = len(array) / rate
    array = array[: max(1, int(MOST_SECONDS * rate))]
    scale = float(np.iinfo(array.dtype).max) + 1 if array.dtype.kind == "i" else 1.0
    sound = array.astype(float) / scale
    if not np.isfinite(sound).all() or np.abs(sound).max() > 1:
        raise ValueError("samples lie from -1 to 1, or are signed integers")
    return sound.mean(axis=1) if sound.ndim == 2 else sound, seconds


def _frames(sound: Any, rate: int) -> Any:
    import numpy as np

    length = max(2, int(FRAME_SECONDS * rate))
    count = max(1, -(-len(sound) // length))
    return np.pad(sound, (0, count * length - len(sound))).reshape(count, length)


def _spectrum(frames: Any, rate: int) -> tuple[Any, Any]:
    import numpy as np

    length = frames.shape[1]
    windowed = frames * np.hanning(length)
    power = (np.abs(np.fft.rfft(windowed, axis=1)) ** 2).mean(axis=0) / length
    return np.fft.rfftfreq(length, 1 / rate), power


def _decibels(level: Any) -> Any:
    import numpy as np

    return np.maximum(20 * np.log10(np.maximum(level, 1e-12)), LOWEST_DECIBELS)
