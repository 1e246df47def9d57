"""Descriptors of images and sound: known pictures and tones give known numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inferwatch_client.audio import audio_vector, describe_audio
from inferwatch_client.images import describe_image, image_vector
from PIL import Image, ImageFilter

from tests.client.conftest import Place


def test_a_grey_image_has_no_contrast_no_colour_and_no_edges() -> None:
    grey = np.full((20, 40, 3), 51, np.uint8)
    found = describe_image(grey)
    assert (found["image_width"], found["image_height"], found["image_aspect"]) == (40, 20, 2)
    assert found["image_brightness"] == pytest.approx(0.2)
    for name in ("contrast", "saturation", "colourfulness", "sharpness", "dark_share"):
        assert found[f"image_{name}"] == pytest.approx(0, abs=1e-9)


def test_a_chessboard_has_the_contrast_of_a_coin_and_the_sharpest_edges() -> None:
    board = (np.indices((16, 16)).sum(axis=0) % 2).astype(float)
    found = describe_image(board, prefix="")
    assert found["brightness"] == pytest.approx(0.5)
    assert found["contrast"] == pytest.approx(0.5)
    assert found["dark_share"] == found["bright_share"] == pytest.approx(0.5)
    assert found["sharpness"] == pytest.approx(4.0)


def test_pure_colours_are_saturated_and_colourful() -> None:
    red = np.zeros((4, 4, 3))
    red[:, :, 0] = 1.0
    found = describe_image(red, prefix="")
    assert found["saturation"] == 1.0
    assert found["brightness"] == pytest.approx(0.299)
    assert found["colourfulness"] == pytest.approx(0.3 * np.hypot(1.0, 0.5))


def photo() -> Image.Image:
    rng = np.random.default_rng(5)
    return Image.fromarray(rng.integers(0, 256, (60, 80, 3), np.uint8))


def test_a_file_its_bytes_its_path_and_its_array_are_the_same_image(tmp_path: Path) -> None:
    image = photo()
    path = tmp_path / "photo.png"
    image.save(path)
    found = describe_image(image)
    assert found == describe_image(path) == describe_image(path.read_bytes())
    assert found == describe_image(np.asarray(image))
    assert image_vector(path) == image_vector(image)


def test_blur_lowers_the_sharpness_and_light_raises_the_brightness() -> None:
    image = photo()
    sharp = describe_image(image)
    assert (
        describe_image(image.filter(ImageFilter.BLUR))["image_sharpness"]
        < sharp["image_sharpness"] / 2
    )
    brighter = np.asarray(image) // 2 + 120
    assert describe_image(brighter)["image_brightness"] > sharp["image_brightness"] + 0.2


def test_a_large_image_is_thinned_out_and_keeps_its_size() -> None:
    found = describe_image(np.full((3_000, 2_000), 0.25))
    assert (found["image_width"], found["image_height"]) == (2_000, 3_000)
    assert found["image_brightness"] == pytest.approx(0.25)


def test_a_vector_is_the_light_of_its_fields_or_what_a_model_says() -> None:
    left_dark = np.zeros((8, 8))
    left_dark[:, 4:] = 1.0
    assert image_vector(left_dark, size=2) == pytest.approx([0, 1, 0, 1])
    assert len(image_vector(np.zeros((3, 5)), size=8)) == 64
    shapes = []

    def model(pixels: Any) -> Any:
        shapes.append(pixels.shape)
        return np.array([[1.0, 2.0]])

    assert image_vector(np.zeros((3, 5)), model=model) == [1.0, 2.0]
    assert shapes == [(3, 5, 3)]


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((2, 2, 7)), np.zeros(4), np.full((2, 2), 300.0), np.full((2, 2), np.nan),
     np.zeros((0, 4))],
)  # fmt: skip
def test_what_is_no_image_says_so(wrong: Any) -> None:
    with pytest.raises(ValueError, match="image"):
        describe_image(wrong)


RATE = 16_000


def tone(hertz: float, seconds: float = 1.0, level: float = 0.5) -> Any:
    return level * np.sin(2 * np.pi * hertz * np.arange(int(RATE * seconds)) / RATE)


def test_a_tone_has_its_loudness_its_crossings_and_its_place_in_the_spectrum() -> None:
    found = describe_audio(tone(1_000), RATE, prefix="")
    assert (found["seconds"], found["rate"]) == (1.0, RATE)
    assert found["peak"] == pytest.approx(20 * np.log10(0.5), abs=0.01)
    assert found["loudness"] == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.01)
    assert found["zero_crossings"] == pytest.approx(2_000, abs=2)
    assert found["centroid"] == pytest.approx(1_000, abs=5)
    assert found["bandwidth"] < 60
    assert found["silent_share"] == found["clipped_share"] == 0.0


def test_silence_and_clipping_are_shares() -> None:
    half = np.concatenate([np.zeros(RATE), np.ones(RATE)])
    found = describe_audio(half, RATE, prefix="")
    assert found["silent_share"] == pytest.approx(0.5)
    assert found["clipped_share"] == pytest.approx(0.5)
    assert found["noise_floor"] == -120.0
    assert describe_audio(np.zeros(100), RATE)["audio_centroid"] == 0.0


def test_integers_and_channels_are_brought_to_one_scale() -> None:
    sound = tone(500)
    integers = (np.stack([sound, sound], axis=1) * 32_767).astype(np.int16)
    one, other = describe_audio(sound, RATE), describe_audio(integers, RATE)
    assert other == pytest.approx(one, abs=0.05)


def test_the_vector_of_a_tone_is_loudest_where_the_tone_is() -> None:
    low, high = audio_vector(tone(200), RATE), audio_vector(tone(6_000), RATE)
    assert len(low) == len(high) == 20
    assert int(np.argmax(low)) < 4
    assert int(np.argmax(high)) > 15
    assert audio_vector(tone(200), RATE, model=lambda sound, rate: [len(sound) / rate]) == [1.0]


@pytest.mark.parametrize("wrong", [np.zeros(0), np.full(4, 2.0), np.zeros((2, 2, 2))])
def test_what_is_no_sound_says_so(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"sound|samples"):
        describe_audio(wrong, RATE)


def test_descriptors_and_vectors_are_columns_like_others(place: Place, collector: str) -> None:
    client = place.client(collector)
    buffer = io.BytesIO()
    photo().save(buffer, "PNG")
    described = describe_image(buffer.getvalue(), prefix="")
    vector = image_vector(buffer.getvalue(), size=1) * 2
    client.log_request({"age": described["brightness"] * 100, "place": vector})
    assert client.flush()
    client.close()
    [row] = place.logged("age, place")
    assert row.age == pytest.approx(described["brightness"] * 100)
    assert list(row.place) == pytest.approx(vector, rel=1e-6)
